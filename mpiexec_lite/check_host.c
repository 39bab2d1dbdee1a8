/* check_host.c - --check: what an answer of a host means for the job. */
#include "mpiexec_lite/check_impl.h"

#include <stdarg.h>

enum {
    FILES_OF_RANK = 4,           /* that the launcher needs: PMI, stdin, stdout, stderr */
    FILES_BESIDE = 64,           /* and for itself */
    PROCESSES_BESIDE = 4
};

void check_problem(json_t *list, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    char line[700];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    buf_shown(&text, line);
    if (!text.failed)
        json_array_append_new(list, json_shown(buf_bytes(&text)));
    buf_clear(&text);
}

/* A limit, where there is one, is at least what is needed. */
static void check_limit(const json_t *facts, const char *key, long needed, const char *what,
                        json_t *list)
{
    const json_t *limit = json_object_get(facts, key);

    if (json_is_integer(limit) && json_integer_value(limit) < needed)
        check_problem(list, "%lld %s, and its ranks need some %ld", (long long)json_integer_value(limit),
                what, needed);
}

static void check_limits(const struct probe *p, json_t *list)
{
    long processes = p->ranks + PROCESSES_BESIDE;
    const json_t *shm = json_object_get(p->facts, "shm");

    check_limit(p->facts, "open_files", p->ranks * FILES_OF_RANK + FILES_BESIDE,
                "open files are allowed (ulimit -n)", list);
    if (json_integer_value(json_object_get(p->facts, "uid")) != 0)   /* root has no such limit */
        check_limit(p->facts, "processes", processes, "processes are allowed (ulimit -u)", list);
    check_limit(p->facts, "cgroup_pids", processes, "more processes are allowed by its cgroup",
                list);
    if (p->ranks > 1 && json_integer_value(shm) == 0)
        check_problem(list, "/dev/shm has no room: its ranks cannot share memory");
}

static void check_folders(const struct probe *p, json_t *list)
{
    const json_t *full = json_object_get(p->facts, "full");

    for (size_t i = 0; i < json_array_size(full); i++) {
        const json_t *one = json_array_get(full, i);

        check_problem(list, "nothing can be stored in %.300s: %.100s", json_word(one, "folder"),
                json_word(one, "why"));
    }
}

static void check_program(const json_t *asked, const json_t *found, json_t *list)
{
    const json_t *missing = json_object_get(found, "missing");

    if (json_object_get(found, "problem"))
        check_problem(list, "%.600s", json_word(found, "problem"));
    for (size_t i = 0; i < json_array_size(missing); i++) {
        const char *text = json_string_value(json_array_get(missing, i));

        check_problem(list, "%.300s: %.300s", json_word(asked, "argv0"), text ? text : "");
    }
}

static void check_programs(const struct probe *p, json_t *list)
{
    const json_t *asked = json_object_get(p->request, "programs");
    const json_t *found = json_object_get(p->facts, "programs");

    if (json_array_size(found) != json_array_size(asked))
        check_problem(list, "its answer is not about the programs that were asked for");
    for (size_t i = 0; i < json_array_size(asked); i++)
        check_program(json_array_get(asked, i), json_array_get(found, i), list);
}

json_t *check_host(const struct probe *p)
{
    json_t *list = json_array();
    json_t *to = json_pack("{s:o, s:I, s:b, s:o}", "name", json_shown(p->host->name), "ranks",
                           (json_int_t)p->ranks, "reached", p->facts != NULL, "problems", list);

    if (p->version[0]) {
        json_object_set_new(to, "version", json_shown(p->version));
        json_object_set_new(to, "start", json_real(p->spoke - p->began));
    }
    if (p->why[0])
        check_problem(list, "%s", p->why);
    else if (!p->fits)
        check_problem(list, "the pmi2_proxy there (protocol, version, host: %s) does not fit this "
                "launcher (protocol %d, version %s)", p->version, PROXY_PROTOCOL, VERSION);
    if (!p->facts)
        return to;
    json_object_set_new(to, "round_trip", json_real(p->trip));
    json_object_set_new(to, "clock", json_real(p->clock));
    json_object_set(to, "facts", p->facts);
    check_limits(p, list);
    check_folders(p, list);
    if (*json_word(p->facts, "binding"))
        check_problem(list, "processes cannot be bound: %.300s", json_word(p->facts, "binding"));
    check_programs(p, list);
    return to;
}
