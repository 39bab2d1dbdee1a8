/* serve_resident.c - the extended commands of a resident server, which runs no job: the same
 * rows as a launcher's, of which it serves a few. */
#include "pmix_ext/commands.h"
#include "pmix_ext/pmix_ext_common.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

enum { QUERIES };
enum { RESULTS_OUT = 1 };

static enum outcome not_here(struct request *rq, struct err *e)
{
    return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED,
                    "this is a resident server, which runs no job: ask the launcher of one "
                    "(pmix-servers)");
}

/* --- queries ----------------------------------------------------------- */

struct tally { int found, missed; };

static json_t *answer(struct ext *x, uid_t uid, size_t query, const char *key, struct tally *t)
{
    struct buf list = BUF_INIT;
    json_t *a;

    if (strcmp(key, PMIX_QUERY_NAMESPACES)) {
        t->missed++;
        return json_pack("{s:I, s:s, s:i}", "query", (json_int_t)query, "key", key, "status",
                         PMIX_ERR_NOT_FOUND);
    }
    t->found++;
    x->ops.known_jobs(x->host, uid, &list);
    a = json_pack("{s:I, s:s, s:s, s:s}", "query", (json_int_t)query, "key", key, "type",
                  "PMIX_STRING", "value", list.len && !list.failed ? buf_bytes(&list) : "");
    buf_clear(&list);
    return a;
}

static enum outcome query(struct request *rq, struct err *e)
{
    const struct value *arg = &rq->arg[QUERIES];
    json_t *results = json_array();
    struct tally t = { 0 };
    const struct session *s = rq->conn->layer;   /* it has said hello */
    pmix_query_t *all;
    void *array;
    size_t n;

    session_audit(s, "sends pmix-query");
    if (value_decode_array(PMIX_QUERY, arg->s, arg->len, "queries", &array, &n, e) < 0) {
        json_decref(results);
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    }
    all = array;
    for (size_t i = 0; i < n; i++)
        for (char **key = all[i].keys; key && *key; key++)
            json_array_append_new(results, answer(ext_of(rq), s->who.uid, i, *key, &t));
    value_free_array(PMIX_QUERY, array, n);
    reply_status(rq, !t.missed ? PMIX_SUCCESS : t.found ? PMIX_QUERY_PARTIAL_SUCCESS
                                                         : PMIX_ERR_NOT_FOUND);
    return reply_json(rq, RESULTS_OUT, results, e);
}

bool ext_serves(const struct ext *x, const struct command *row)
{
    return !x->rows || row->run != not_here;
}

/* --- the rows ---------------------------------------------------------- */

static const struct { const char *name; command_fn *run; } served[] = {
    { "pmix-tool-connect", ext_tool_connect }, { "pmix-capabilities", ext_capabilities },
    { "pmix-servers", ext_servers }, { "pmix-query", query },
};

struct command *ext_resident_rows(void)
{
    struct command *rows = reallocarray(NULL, ext_command_count, sizeof *rows);

    for (size_t i = 0; rows && i < ext_command_count; i++) {
        size_t k = 0;

        rows[i] = ext_commands[i];
        while (k < sizeof served / sizeof *served &&
               strcmp(served[k].name, rows[i].name[WIRE_2]))
            k++;
        if (k < sizeof served / sizeof *served) {
            rows[i].run = served[k].run;
        } else {
            rows[i].args = NO_ARGS;      /* whatever it says */
            rows[i].run = not_here;
        }
    }
    return rows;
}
