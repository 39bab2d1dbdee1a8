/* names.c - see names.h, and "names of numbers" in pmix_ext.h.
 *
 * A number's string is the name of its constant, so that what a program prints can be
 * looked up, and compared. */
#include "pmix_ext/names.h"

#include "pmix_ext/pmix_ext.h"
#include "pmix_ext/types.h"

#include <assert.h>
#include <string.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const char unknown[] = "unknown";

/* No pointers in it, as in struct attribute. */
static const struct { pmix_status_t number; char meaning[60]; } statuses[] = {
#define STATUS(name, meaning) { name, meaning },
#include "pmix_ext/statuses.def"
#undef STATUS
};
#define STATUS(name, words) \
    static_assert(sizeof words <= sizeof statuses->meaning, "no room for that of " #name);
#include "pmix_ext/statuses.def"
#undef STATUS

static const struct attribute attributes[] = {
#define ATTRIBUTE(name, type) { #name, name, type },
#include "pmix_ext/attributes.def"
#undef ATTRIBUTE
};
#define ATTRIBUTE(constant, type) \
    static_assert(sizeof #constant <= sizeof attributes->name && \
                  sizeof constant <= sizeof attributes->key, "no room for " #constant);
#include "pmix_ext/attributes.def"
#undef ATTRIBUTE

static const struct word words_device[] = {
    { PMIX_DEVTYPE_UNKNOWN, "PMIX_DEVTYPE_UNKNOWN" },
    { PMIX_DEVTYPE_BLOCK, "PMIX_DEVTYPE_BLOCK" },
    { PMIX_DEVTYPE_GPU, "PMIX_DEVTYPE_GPU" },
    { PMIX_DEVTYPE_NETWORK, "PMIX_DEVTYPE_NETWORK" },
    { PMIX_DEVTYPE_OPENFABRICS, "PMIX_DEVTYPE_OPENFABRICS" },
    { PMIX_DEVTYPE_DMA, "PMIX_DEVTYPE_DMA" },
    { PMIX_DEVTYPE_COPROC, "PMIX_DEVTYPE_COPROC" },
    { 0, "" }
};

static const struct word words_comparison[] = {
    { PMIX_EQUAL, "PMIX_EQUAL" },
    { PMIX_VALUE1_GREATER, "PMIX_VALUE1_GREATER" },
    { PMIX_VALUE2_GREATER, "PMIX_VALUE2_GREATER" },
    { PMIX_VALUE_TYPE_DIFFERENT, "PMIX_VALUE_TYPE_DIFFERENT" },
    { PMIX_VALUE_INCOMPATIBLE_OBJECTS, "PMIX_VALUE_INCOMPATIBLE_OBJECTS" },
    { PMIX_VALUE_COMPARISON_NOT_AVAIL, "PMIX_VALUE_COMPARISON_NOT_AVAIL" },
    { 0, "" }
};

/* --- statuses and attributes ---------------------------------------------------- */

const char *status_meaning(pmix_status_t status)
{
    for (size_t i = 0; i < LENGTH(statuses); i++)
        if (statuses[i].number == status)
            return statuses[i].meaning;
    return NULL;
}

const struct attribute *attribute_named(const char *name)
{
    for (size_t i = 0; i < LENGTH(attributes); i++)
        if (!strcmp(attributes[i].name, name))
            return &attributes[i];
    return NULL;
}

const struct attribute *attribute_of_key(const char *key)
{
    for (size_t i = 0; i < LENGTH(attributes); i++)
        if (!strcmp(attributes[i].key, key))
            return &attributes[i];
    return NULL;
}

const char *PMIx_Get_attribute_string(const char *attribute)
{
    const struct attribute *a = attribute ? attribute_named(attribute) : NULL;

    return a ? a->key : attribute;
}

const char *PMIx_Get_attribute_name(const char *attrstring)
{
    const struct attribute *a = attrstring ? attribute_of_key(attrstring) : NULL;

    return a ? a->name : attrstring;
}

/* --- numbers ---------------------------------------------------------------------- */

static const char *word_of(const struct word *words, int64_t number)
{
    for (; *words->text; words++)
        if (words->number == number)
            return words->text;
    return unknown;
}

static const char *number_name(pmix_data_type_t type, int64_t number)
{
    const char *word = type_word(type_of(type), number);

    return word ? word : unknown;
}

const char *PMIx_Error_string(pmix_status_t status)
{
    return number_name(PMIX_STATUS, status);
}

const char *PMIx_Proc_state_string(pmix_proc_state_t state)
{
    return number_name(PMIX_PROC_STATE, state);
}

const char *PMIx_Job_state_string(pmix_job_state_t state)
{
    return number_name(PMIX_JOB_STATE, state);
}

const char *PMIx_Scope_string(pmix_scope_t scope)
{
    return number_name(PMIX_SCOPE, scope);
}

const char *PMIx_Persistence_string(pmix_persistence_t persist)
{
    return number_name(PMIX_PERSIST, persist);
}

const char *PMIx_Data_range_string(pmix_data_range_t range)
{
    return number_name(PMIX_DATA_RANGE, range);
}

const char *PMIx_Data_type_string(pmix_data_type_t type)
{
    const struct type *t = type_of(type);

    return t ? t->name : unknown;
}

const char *PMIx_Alloc_directive_string(pmix_alloc_directive_t directive)
{
    return number_name(PMIX_ALLOC_DIRECTIVE, directive);
}

const char *PMIx_Link_state_string(pmix_link_state_t state)
{
    return number_name(PMIX_LINK_STATE, state);
}

const char *PMIx_Device_type_string(pmix_device_type_t type)
{
    return word_of(words_device, (int64_t)type);
}

const char *PMIx_Value_comparison_string(pmix_value_cmp_t cmp)
{
    return word_of(words_comparison, (int64_t)cmp);
}

/* Several streams have no constant of their own. */
const char *PMIx_IOF_channel_string(pmix_iof_channel_t channel)
{
    static const char *const names[] = {
        "none", "stdin", "stdout", "stdin stdout", "stderr", "stdin stderr", "stdout stderr",
        "stdin stdout stderr", "stddiag", "stdin stddiag", "stdout stddiag",
        "stdin stdout stddiag", "stderr stddiag", "stdin stderr stddiag",
        "stdout stderr stddiag", "stdin stdout stderr stddiag"
    };

    if (channel == PMIX_FWD_ALL_CHANNELS)
        return names[LENGTH(names) - 1];
    return channel < LENGTH(names) ? names[channel] : unknown;
}

const char *PMIx_Get_version(void)
{
    return "mpiexec_lite " VERSION " (PMIx Standard 4.2)";
}
