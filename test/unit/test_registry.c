/* test_registry.c - mpiexec_lite/registry and resident_store: whose names and jobs are whose,
 * who sees them, when they end, and what of them is on the disk.
 *
 * A story is rows of words.  Users are letters: r is root, a and b are two others; a job is
 * user and digit (a1), "in person" the letter alone.
 *
 *     a1 job              its launcher tells of it (client of that name)
 *     a1 end              its launcher says that it has ended
 *     a1 gone             its launcher's connection has ended
 *     a1 publish NAME [RANGE [PERSISTENCE]]    the port is who published it
 *     a1 unpublish NAME [OWNER]
 *     a1 lookup NAME
 *     a1 wait NAME SECONDS
 *     a names             what is listed; a jobs
 *     at 12               the time is now 12
 *     restart             the names are read from the store again
 *
 * and after "=" what comes of it: "ok", the error's text, the port, "-" for none.  A wait's
 * answer is "found" in the next row: WHO PORT. */
#include "mpiexec_lite/resident_store.h"
#include "wire/limits.h"

#include <ftw.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

enum { STEPS = 40 };

static const struct { const char *name, *steps[STEPS]; } stories[] = {
    { "publish, lookup, take back", {
        "a1 job = ok", "a1 publish s = ok", "a1 lookup s = a1", "a1 lookup t = -",
        "a1 unpublish s = ok", "a1 lookup s = -", "a1 unpublish s = service_not_found",
        "a1 publish s = ok" } },
    { "range user: all jobs of a user, and nobody else, not even root's", {
        "a1 job = ok", "a2 job = ok", "b1 job = ok", "r1 job = ok", "a1 publish s = ok",
        "a2 lookup s = a1", "a lookup s = a1", "b1 lookup s = -", "r1 lookup s = -" } },
    { "range job: that job only", {
        "a1 job = ok", "a2 job = ok", "b1 job = ok", "a1 publish s job = ok",
        "a1 lookup s = a1", "a2 lookup s = -", "b1 lookup s = -" } },
    { "range job: jobs of the same id and different users", {
        "a1 job = ok", "b1 job = ok", "a1 publish s job = ok", "b1 lookup s = -",
        "b1 publish s job = ok", "b1 lookup s = b1", "a1 lookup s = a1" } },
    { "range node: everybody", {
        "a1 job = ok", "b1 job = ok", "a1 publish s node = ok", "b1 lookup s = a1",
        "b lookup s = a1", "r lookup s = a1" } },
    { "the nearest is found: job, user, node", {
        "a1 job = ok", "a2 job = ok", "b1 job = ok", "b1 publish s node = ok",
        "a1 lookup s = b1", "a2 publish s user = ok", "a1 lookup s = a2",
        "a1 publish s job = ok", "a1 lookup s = a1", "a2 lookup s = a2", "b1 lookup s = b1" } },
    { "duplicates: of the same range, for the same people", {
        "a1 job = ok", "a2 job = ok", "b1 job = ok", "a1 publish s = ok",
        "a1 publish s = service s is published already",
        "a2 publish s = service s is published already", "b1 publish s = ok",
        "a1 publish s node = ok", "b1 publish s node = service s is published already",
        "a1 publish s job = ok", "a2 publish s job = ok",
        "a1 publish s job = service s is published already" } },
    { "taken back by the owner only", {
        "a1 job = ok", "b1 job = ok", "a1 publish s node = ok", "a1 publish u = ok",
        "b1 unpublish s = service s belongs to another user",
        "b unpublish s = service s belongs to another user",
        "b unpublish s a = service_not_found", "b unpublish u = service_not_found",
        "b unpublish u a = service_not_found", "b1 unpublish u = service_not_found",
        "a lookup u = a1", "b lookup s = a1" } },
    { "taken back by another job of the owner when the first has ended", {
        "a1 job = ok", "a2 job = ok", "a1 publish s user indefinite = ok",
        "a2 unpublish s = service s belongs to another job", "a1 end = ok",
        "a2 unpublish s = ok", "a lookup s = -" } },
    { "taken back in person", {
        "a1 job = ok", "a1 publish s = ok", "a1 publish j job = ok", "a unpublish s = ok",
        "a unpublish j = ok", "a1 lookup j = -" } },
    { "taken back by root, in person and by name of the owner", {
        "a1 job = ok", "r1 job = ok", "a1 publish s = ok", "a1 publish n node = ok",
        "r unpublish s = service_not_found", "r1 unpublish n = service n belongs to another user",
        "r unpublish s a = ok", "r unpublish n = ok", "r unpublish n b = service_not_found" } },
    { "names end with their job", {
        "a1 job = ok", "a1 publish s = ok", "a1 publish k user indefinite = ok",
        "a1 publish f user first-read = ok", "a1 publish j job indefinite = ok", "b1 job = ok",
        "b1 publish s = ok", "a names = s,k,f,j", "a1 end = ok", "a names = k",
        "b names = s", "a lookup k = a1" } },
    { "names end with the connection of their launcher", {
        "a1 job = ok", "a1 publish s = ok", "a1 gone = ok", "a names = -", "a jobs = -" } },
    { "a job that comes again has its names; the end of the old connection is not its own", {
        "a1 job = ok", "a1 publish s = ok", "a1 again = ok", "a1 gone = ok", "a names = s",
        "a jobs = 1" } },
    { "another's job is not ended", {
        "a1 job = ok", "b1 job = ok", "b1 end = ok", "a jobs = 1", "b jobs = -" } },
    { "read once", {
        "a1 job = ok", "a1 publish s user first-read = ok", "a lookup s = a1", "a lookup s = -",
        "a1 publish s user first-read = ok" } },
    { "in person: nothing that ends with a job", {
        "a publish s = who is no job can publish with persistence indefinite and range user or "
        "node only", "a publish s user indefinite = ok", "a publish j job indefinite = who is no "
        "job can publish with persistence indefinite and range user or node only",
        "a lookup s = a" } },
    { "lists: one's own, and names of range node; root sees all", {
        "a1 job = ok", "b1 job = ok", "a1 publish s = ok", "b1 publish t = ok",
        "b1 publish n node = ok", "a names = s,n", "b names = t,n", "r names = s,t,n",
        "a jobs = 1", "r jobs = 1,1" } },
    { "a lookup waits for what it may see", {
        "a1 job = ok", "b1 job = ok", "a wait s 0 = ok", "b1 publish s = ok", "found = -",
        "a1 publish s job = ok", "found = -", "a1 publish s = ok", "found = a a1" } },
    { "all who wait find it; what is read once, the first", {
        "a1 job = ok", "a wait s 0 = ok", "b wait s 0 = ok", "a1 publish s node = ok",
        "found = a a1 b a1", "a wait t 0 = ok", "a1 wait t 0 = ok",
        "a1 publish t user first-read = ok", "found = a a1", "a lookup t = -",
        "a1 publish t = ok", "found = a1 a1" } },
    { "waiting ends in time", {
        "at 100", "a wait s 5 = ok", "a wait t 0 = ok", "due = 105", "at 104", "found = -",
        "at 105", "found = a -", "due = -" } },
    { "from the store: names, and the jobs they belong to have time to come back", {
        "a1 job = ok", "a2 job = ok", "a1 publish s = ok", "a2 publish t = ok",
        "a1 publish k node indefinite = ok", "a1 publish j job = ok", "a1 unpublish j = ok",
        "at 1000", "restart", "r names = s,t,k", "a lookup s = a1", "due = 1030",
        "a1 again = ok", "at 1029", "r names = s,t,k", "at 1030", "r names = s,k",
        "restart", "r names = s,k", "b lookup k = a1" } },
    { "what was read once, or ended with its job, is not in the store", {
        "a1 job = ok", "a1 publish s = ok", "a1 publish f user first-read = ok",
        "a lookup f = a1", "restart", "r names = s", "a1 job = ok", "a1 gone = ok", "restart",
        "r names = -" } },
    { "serials go on after a restart", {
        "a publish s user indefinite = ok", "restart", "a publish t user indefinite = ok",
        "restart", "a names = s,t" } },
};

/* --- a registry with its store ------------------------------------------ */

struct world {
    char             folder[40];
    struct store    *store;
    struct registry *registry;
    double           now;
    struct buf       found;
    char             client[8][8];   /* one word each: the address is the client */
    char             tickets[16][8];
    int              ntickets;
};

static void op_store(void *host, const struct reg_name *n)
{
    store_add(((struct world *)host)->store, n);
}

static void op_drop(void *host, long long serial)
{
    store_remove(((struct world *)host)->store, serial);
}

static void op_found(void *host, void *ticket, const struct reg_name *n)
{
    struct world *w = host;

    buf_printf(&w->found, "%s%s %s", w->found.len ? " " : "", (char *)ticket, n ? n->port : "-");
}

static const struct registry_ops ops = { op_store, op_drop, op_found };

static int load_one(void *user, const struct reg_name *n)
{
    return registry_load(user, n);
}

static void world_load(struct world *w)
{
    struct err e = { 0 };

    assert_int_equal(store_load(w->store, load_one, w->registry, &e), 0);
    registry_loaded(w->registry, w->now);
}

static void world_open(struct world *w)
{
    struct err e = { 0 };

    memset(w, 0, sizeof *w);
    snprintf(w->folder, sizeof w->folder, "/tmp/test_registry.XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    w->store = store_open(w->folder, &e);
    assert_string_equal(e.text, "");
    w->registry = registry_new(&ops, w, 42);
    assert_non_null(w->registry);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void world_close(struct world *w)
{
    registry_free(w->registry);
    store_close(w->store);
    buf_clear(&w->found);
    nftw(w->folder, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

/* Another process on the same files. */
static void world_restart(struct world *w)
{
    struct err e = { 0 };

    registry_free(w->registry);
    store_close(w->store);
    w->store = store_open(w->folder, &e);
    assert_string_equal(e.text, "");
    w->registry = registry_new(&ops, w, 43);
    assert_non_null(w->registry);
    world_load(w);
}

/* --- steps --------------------------------------------------------------- */

static uid_t uid_of(char user)
{
    return user == 'r' ? 0 : user == 'a' ? 1001 : 1002;
}

static char *client_of(struct world *w, const char *name)
{
    int i = 0;

    while (w->client[i][0] && strcmp(w->client[i], name))
        i++;
    assert_true(i < 8);
    snprintf(w->client[i], sizeof w->client[i], "%s", name);
    return w->client[i];
}

/* r1 and a1 both have id "1". */
static int add_job(struct world *w, const char *who, const char *client, struct err *e)
{
    struct reg_job j = { .owner = uid_of(*who), .id = who + 1, .host = "h", .command = "c", .tools = "",
                         .pid = 1, .size = 2, .client = client_of(w, client) };

    return registry_job(w->registry, &j, e);
}

/* One row a page, as if there were no room for two. */
struct page { char *out; size_t size, at; long long last; bool more; };

static bool take(struct page *p, const char *text, long long serial)
{
    p->more = p->last > 0;
    if (p->more)
        return false;
    p->at += (size_t)snprintf(p->out + p->at, p->size - p->at, "%s%s", p->at ? "," : "", text);
    p->last = serial;
    return true;
}

static bool take_name(void *user, const struct reg_name *n)
{
    return take(user, n->name, n->serial);
}

static bool take_job(void *user, const struct reg_job *j)
{
    return take(user, j->id, j->serial);
}

static void list(struct world *w, uid_t uid, bool names, char *out, size_t size)
{
    struct page p = { .out = out, .size = size, .more = true };

    *out = '\0';
    while (p.more) {
        long long after = p.last;

        p.last = 0;
        p.more = false;
        if (names)
            registry_each_name(w->registry, uid, after, take_name, &p);
        else
            registry_each_job(w->registry, uid, after, take_job, &p);
    }
    if (!*out)
        snprintf(out, size, "-");
}

static int publish(struct world *w, const struct reg_who *who, const char *port,
                   char *const *word, struct err *e)
{
    struct name_want want = { .op = NAME_PUBLISH, .name = word[2], .port = port };
    struct msg m;
    int rc;

    msg_init(&m);
    msg_start(&m, "name-publish");
    if (word[3])
        msg_str(&m, "range", word[3]);
    if (word[3] && word[4])
        msg_str(&m, "persistence", word[4]);
    rc = name_read_options(&want, &m, e);
    msg_clear(&m);
    assert_int_equal(rc, 0);
    return registry_publish(w->registry, who, &want, 7, e);
}

static void lookup(struct world *w, const struct reg_who *who, const char *name, char *out,
                   size_t size)
{
    const struct reg_name *n = registry_lookup(w->registry, who, name);

    snprintf(out, size, "%s", n ? n->port : "-");
}

static int wait_for(struct world *w, const struct reg_who *who, char *const *word, struct err *e)
{
    char *ticket = w->tickets[w->ntickets++];

    snprintf(ticket, sizeof w->tickets[0], "%.7s", word[0]);
    return registry_wait(w->registry, who, word[2], w->now, strtod(word[3], NULL), ticket, e);
}

/* What comes of one step.  False: there is nothing to compare. */
static bool act(struct world *w, char *const *word, char *out, size_t size)
{
    struct reg_who who = { .uid = uid_of(word[0][0]), .job = word[0] + 1 };
    const char *what = word[1];
    struct err e = { 0 };
    int rc = 0;

    if (!strcmp(word[0], "at")) {
        w->now = strtod(word[1], NULL);
        registry_tick(w->registry, w->now);
        return false;
    }
    if (!strcmp(word[0], "restart")) {
        world_restart(w);
        return false;
    }
    if (!strcmp(word[0], "due")) {
        double due = registry_due(w->registry);

        snprintf(out, size, due > 0 ? "%.0f" : "-", due);
        return true;
    }
    if (!strcmp(word[0], "found")) {
        snprintf(out, size, "%s", w->found.len ? buf_bytes(&w->found) : "-");
        buf_clear(&w->found);
        return true;
    }
    if (!strcmp(what, "names") || !strcmp(what, "jobs")) {
        list(w, who.uid, *what == 'n', out, size);
        return true;
    }
    if (!strcmp(what, "lookup")) {
        lookup(w, &who, word[2], out, size);
        return true;
    }
    if (!strcmp(what, "job"))
        rc = add_job(w, word[0], word[0], &e);
    else if (!strcmp(what, "again"))
        rc = add_job(w, word[0], "again", &e);
    else if (!strcmp(what, "end"))
        registry_job_end(w->registry, client_of(w, word[0]), who.job);
    else if (!strcmp(what, "gone"))
        registry_job_end(w->registry, client_of(w, word[0]), NULL);
    else if (!strcmp(what, "publish"))
        rc = publish(w, &who, word[0], word, &e);
    else if (!strcmp(what, "unpublish"))
        rc = registry_unpublish(w->registry, &who, word[2],
                                word[3] ? uid_of(word[3][0]) : (uid_t)-1, &e);
    else if (!strcmp(what, "wait"))
        rc = wait_for(w, &who, word, &e);
    else
        fail_msg("no step %s", what);
    snprintf(out, size, "%s", rc < 0 ? e.text : "ok");
    return true;
}

static void step(struct world *w, const char *text)
{
    char copy[200], got[300], *word[8] = { NULL }, *want, *save, *at;
    struct err e = { 0 };
    int n = 0;

    snprintf(copy, sizeof copy, "%s", text);
    want = strstr(copy, " = ");
    if (want) {
        *want = '\0';
        want += 3;
    }
    for (at = strtok_r(copy, " ", &save); at && n < 7; at = strtok_r(NULL, " ", &save))
        word[n++] = at;
    if (act(w, word, got, sizeof got)) {
        if (strcmp(got, want))
            print_error("    %s\n", text);
        assert_string_equal(got, want);
    }
    assert_int_equal(store_commit(w->store, &e), 0);
}

static void test_stories(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(stories); i++) {
        struct world w;

        print_message("  %s\n", stories[i].name);
        world_open(&w);
        for (size_t k = 0; k < STEPS && stories[i].steps[k]; k++)
            step(&w, stories[i].steps[k]);
        world_close(&w);
    }
}

/* --- limits -------------------------------------------------------------- */

static void test_limits(void **state)
{
    static const struct reg_who a = { 1001, "" }, b = { 1002, "" };
    struct name_want want = { .op = NAME_PUBLISH, .port = "p",
                              .persistence = PERSIST_INDEFINITE };
    char name[20], ticket;
    struct err e = { 0 };
    struct world w;

    (void)state;
    world_open(&w);
    want.name = name;
    for (int i = 0; i < LIMIT_NAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(registry_publish(w.registry, &a, &want, 0, &e), 0);
    }
    want.name = "more";
    assert_int_equal(registry_publish(w.registry, &a, &want, 0, &e), -1);
    assert_string_equal(e.text, "more than 10000 names are published");
    assert_int_equal(registry_publish(w.registry, &b, &want, 0, &e), 0);
    assert_non_null(registry_lookup(w.registry, &a, "n9999"));
    assert_int_equal(registry_names(w.registry), LIMIT_NAMES + 1);
    for (int i = 0; i < REGISTRY_WAITS; i++)
        assert_int_equal(registry_wait(w.registry, &a, "x", 0, 0, &ticket, &e), 0);
    assert_int_equal(registry_wait(w.registry, &a, "x", 0, 0, &ticket, &e), -1);
    assert_int_equal(registry_wait(w.registry, &b, "x", 0, 0, &ticket, &e), 0);
    registry_cancel(w.registry, &ticket);
    assert_int_equal(registry_wait(w.registry, &a, "x", 0, 0, &ticket, &e), 0);
    for (int i = 0; i < REGISTRY_JOBS + 1; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(registry_job(w.registry, &(struct reg_job){ .owner = 1001, .id = name,
                         .host = "", .command = "", .tools = "" }, &e), i < REGISTRY_JOBS ? 0 : -1);
    }
    assert_int_equal(store_commit(w.store, &e), 0);
    world_restart(&w);
    assert_int_equal(registry_names(w.registry), LIMIT_NAMES + 1);
    world_close(&w);
}

/* --- the store ----------------------------------------------------------- */

static int take_text(void *user, const struct reg_name *n)
{
    buf_printf(user, "%lld %u %s %s %s %s %s %lld;", n->serial, (unsigned)n->owner, n->job, n->name,
               n->port, name_range_text(n->range), name_persistence_text(n->persistence),
               (long long)n->since);
    return 0;
}

static void test_store(void **state)
{
    struct reg_name n = { .serial = 7, .owner = 4294967294u, .job = "j", .name = "\xc3\xa9;'\"",
                          .port = "p", .range = RANGE_NODE, .persistence = PERSIST_FIRST_READ,
                          .since = 1LL << 40 };
    struct buf text = BUF_INIT;
    struct err e = { 0 };
    struct store *second;
    struct world w;

    (void)state;
    world_open(&w);
    assert_true(store_is_clean(w.store));
    store_add(w.store, &n);
    assert_false(store_is_clean(w.store));
    assert_int_equal(store_commit(w.store, &e), 0);
    assert_true(store_is_clean(w.store));
    second = store_open(w.folder, &e);           /* it is the first one's */
    assert_null(second);
    assert_non_null(strstr(e.text, "locked"));
    store_add(w.store, &n);                      /* the same serial: that cannot be */
    n.serial = 8;
    store_add(w.store, &n);
    assert_int_equal(store_commit(w.store, &e), -1);
    assert_non_null(strstr(e.text, "cannot be stored"));
    n.serial = 9;                                /* it goes on */
    store_add(w.store, &n);
    assert_int_equal(store_commit(w.store, &e), 0);
    assert_int_equal(store_load(w.store, take_text, &text, &e), 0);
    assert_string_equal(buf_bytes(&text),
                        "7 4294967294 j \xc3\xa9;'\" p node first-read 1099511627776;"
                        "9 4294967294 j \xc3\xa9;'\" p node first-read 1099511627776;");
    buf_clear(&text);
    store_add(w.store, &n);                      /* not committed: not there afterwards */
    world_close(&w);
}

static void test_no_store(void **state)
{
    struct err e = { 0 };

    (void)state;
    assert_null(store_open("/proc/self/fd", &e));
    assert_true(*e.text);
    assert_null(store_open("/nowhere/at/all", &e));
    assert_string_equal(e.text, "/nowhere/at/all/names.db: /nowhere/at/all: No such file or "
                        "directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_store), cmocka_unit_test(test_no_store),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
