/* tool_value.c - typed values from words, as text and as JSON. */
#include "pmix_ext/tool.h"

#include "pmix_ext/names.h"
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"
#include "wire/nearest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- out --------------------------------------------------------------- */

json_t *tool_json(pmix_data_type_t type, const void *value)
{
    struct buf text = BUF_INIT;
    json_t *json = NULL;

    if (value_encode(type, value, "value", &text, NULL) == 0)
        json = json_loadb(buf_bytes(&text), text.len, JSON_DECODE_ANY, NULL);
    buf_clear(&text);
    return json;
}

json_t *tool_json_text(const char *text)
{
    return tool_json(PMIX_STRING, &text);
}

void tool_show(const pmix_value_t *v, struct buf *out)
{
    const void *content = value_content(v);
    size_t start = out->len;

    if (v->type == PMIX_STRING && v->data.string)
        buf_escaped(out, v->data.string, strlen(v->data.string));
    else if (v->type == PMIX_PROC && v->data.proc) {
        buf_printf(out, "%s:", v->data.proc->nspace);
        value_print(PMIX_PROC_RANK, &v->data.proc->rank, out);
    } else if (content)
        value_print(v->type, content, out);
    for (size_t i = start; i < out->len; i++)    /* of an array: its lines */
        if (buf_bytes(out)[i] == '\n')
            buf_bytes(out)[i] = ' ';
}

void tool_state(pmix_proc_state_t state, char *text, size_t size)
{
    static const char prefix[] = "PROC_STATE_";
    const char *word = type_word(type_of(PMIX_PROC_STATE), state), *at;

    if (!word) {
        snprintf(text, size, "%u", state);
        return;
    }
    at = strstr(word, prefix);
    snprintf(text, size, "%s", at ? at + sizeof prefix - 1 : word);
    for (; *text; text++)
        *text = *text == '_' ? '-' : (char)tolower((unsigned char)*text);
}

const pmix_value_t *tool_find(const pmix_data_array_t *infos, const char *key)
{
    const pmix_info_t *info = infos && infos->type == PMIX_INFO ? infos->array : NULL;

    for (size_t i = 0; info && i < infos->size; i++)
        if (!strcmp(info[i].key, key))
            return &info[i].value;
    return NULL;
}

/* --- in ---------------------------------------------------------------- */

static const struct attribute *attribute_meant(const char *word)
{
    static const char *const prefixes[] = { "", "PMIX_", "PMIX_QUERY_" };
    const struct attribute *a = attribute_of_key(word);

    for (size_t i = 0; !a && i < sizeof prefixes / sizeof *prefixes; i++) {
        char name[128];

        snprintf(name, sizeof name, "%s%s", prefixes[i], word);
        for (char *c = name; *c; c++)
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        a = attribute_named(name);
    }
    return a;
}

/* The attribute whose name is most like it, or NULL. */
static const char *nearest_attribute(const char *word)
{
    struct nearest near;
    char name[128];

    snprintf(name, sizeof name, "%s%s", strncasecmp(word, "PMIX_", 5) ? "PMIX_" : "", word);
    nearest_start(&near, name);
#define ATTRIBUTE(name, type) nearest_try(&near, #name);
#include "pmix_ext/attributes.def"
#undef ATTRIBUTE
    return near.best;
}

/* Keys with a dot may be known to the server only. */
const char *tool_key(const char *word)
{
    const struct attribute *a = attribute_meant(word);
    const char *like;

    if (a)
        return a->key;
    if (strchr(word, '.') && strlen(word) <= PMIX_MAX_KEYLEN)
        return word;
    like = nearest_attribute(word);
    tool_fail(STATUS_USAGE, "unknown key '%s'%s%s%s", word, like ? "; did you mean " : "",
              like ? like : "", like ? "?" : "; pmix_tool keys lists them");
    return NULL;
}

static json_t *json_of_proc(const char *text)
{
    const char *colon = strrchr(text, ':');
    json_t *rank = colon ? json_loads(colon + 1, JSON_DECODE_ANY, NULL) : NULL;

    if (!colon)
        return json_pack("{s:s, s:s}", "nspace", text, "rank", "wildcard");
    return json_pack("{s:s#, s:o}", "nspace", text, (int)(colon - text), "rank",
                     rank ? rank : json_string(colon + 1));
}

/* What a person writes for a value, as PROTOCOL.md has it. */
static json_t *json_of_word(const struct type *t, const char *text)
{
    json_t *json;

    if (t->form == FORM_STRING)
        return tool_json_text(text);
    if (type_number(t) == PMIX_PROC)
        return json_of_proc(text);
    if (t->form == FORM_BOOL && !*text)
        return json_true();
    for (const struct word *w = t->words; t->form != FORM_RANK && w && *w->text; w++)
        if (!strcasecmp(w->text, text))
            return json_integer(w->number);
    json = json_loads(text, JSON_DECODE_ANY, NULL);
    return json ? json : json_string(text);
}

int tool_info(const char *word, pmix_info_t *info)
{
    size_t n = strcspn(word, "=");
    const char *text = word[n] ? word + n + 1 : "";
    const struct attribute *a;
    const struct type *t;
    struct err e = { 0 };
    char name[128];
    const char *key;
    json_t *json;
    char *said;
    int bad;

    snprintf(name, sizeof name, "%.*s", (int)n, word);
    key = tool_key(name);
    if (!key)
        return STATUS_USAGE;
    a = attribute_of_key(key);
    t = type_of(a && a->type != PMIX_UNDEF ? a->type : PMIX_STRING);
    json = json_pack("{s:s, s:s, s:o}", "key", key, "type", t->name, "value",
                     json_of_word(t, text));
    said = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    bad = said ? value_decode(PMIX_INFO, said, strlen(said), name, info, &e) : -1;
    free(said);
    return bad ? tool_fail(STATUS_USAGE, "%s", *e.text ? e.text : "out of memory") : 0;
}

int tool_status(const char *word, pmix_status_t *status)
{
    struct nearest near;
    char name[128], *end;
    long number = strtol(word, &end, 0);

    if (end != word && !*end && number >= INT32_MIN && number <= INT32_MAX) {
        *status = (pmix_status_t)number;
        return 0;
    }
    snprintf(name, sizeof name, "%s%s", strncasecmp(word, "PMIX_", 5) ? "PMIX_" : "", word);
    nearest_start(&near, name);
    for (const struct word *w = type_of(PMIX_STATUS)->words; *w->text; w++) {
        if (!strcasecmp(w->text, name)) {
            *status = (pmix_status_t)w->number;
            return 0;
        }
        nearest_try(&near, w->text);
    }
    return tool_fail(STATUS_USAGE, "unknown event '%s'%s%s%s", word,
                     near.best ? "; did you mean " : "", near.best ? near.best : "",
                     near.best ? "?" : "");
}
