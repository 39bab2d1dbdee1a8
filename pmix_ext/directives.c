/* directives.c - see directives.h */
#include "pmix_ext/directives.h"

#include "pmix_ext/types.h"

#include <string.h>

pmix_status_t directives_read(struct infos *in, const char *text, size_t len, const char *what,
                              struct err *e)
{
    if (infos_take(in, len ? text : NULL, len, what, e) == 0)
        return PMIX_SUCCESS;
    return e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
}

static const struct directive_rule *rule_of(const struct directive_rule *rules, const char *key)
{
    for (; rules->key; rules++)
        if (!strcmp(rules->key, key))
            return rules;
    return NULL;
}

static const char *type_name(pmix_data_type_t number)
{
    const struct type *t = type_of(number);

    return t ? t->name : "of an unknown type";
}

pmix_status_t directive_check(const pmix_info_t *info, const struct directive_rule *rules,
                              const struct directive_rule **rule, struct err *e)
{
    const pmix_value_t *v = &info->value;

    *rule = rule_of(rules, info->key);
    if (!*rule && (info->flags & PMIX_INFO_REQD)) {
        err_set(e, ERR_INVALID_KEY, "%.100s is required and not supported here", info->key);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    if (!*rule || v->type == (*rule)->type) {
        if (*rule && v->type == PMIX_STRING && !v->data.string) {
            err_set(e, ERR_INVALID_VAL, "%.100s has no text", info->key);
            return PMIX_ERR_BAD_PARAM;
        }
        return PMIX_SUCCESS;
    }
    if ((*rule)->type == PMIX_BOOL && v->type == PMIX_UNDEF)
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_VAL, "%.100s is %s, want %s", info->key, type_name(v->type),
            type_name((*rule)->type));
    return PMIX_ERR_TYPE_MISMATCH;
}

static void store(const pmix_info_t *info, const struct directive_rule *rule, void *record)
{
    bool yes = true;
    const void *from = info->value.type == PMIX_UNDEF ? &yes : (const void *)&info->value.data;

    memcpy((char *)record + rule->at, from, type_of(rule->type)->size);
}

pmix_status_t directives_take(const struct infos *in, const char *what,
                              const struct directive_rule *rules, void *record, struct err *e)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct directive_rule *rule;
        pmix_status_t status = directive_check(&in->v[i], rules, &rule, e);

        if (status != PMIX_SUCCESS) {
            err_context(e, "%s[%zu]", what, i);
            return status;
        }
        if (rule && rule->at != DIRECTIVE_NOWHERE)
            store(&in->v[i], rule, record);
    }
    return PMIX_SUCCESS;
}

bool directive_at(const struct directive_rule *rules, size_t i, const char **key,
                  pmix_data_type_t *type)
{
    *key = rules[i].key;
    *type = rules[i].type;
    return *key != NULL;
}
