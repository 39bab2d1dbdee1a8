/* test_mapper.c - mpiexec_lite/mapper, mapspec and topo_hwloc: who gets which processors, on
 * machines that hwloc reads from a line of text or from test/topologies.
 *
 * Some answers are written down; for all others what must hold of every one of them is
 * checked, for every binding with every mapping on every machine. */
#include "mpiexec_lite/mapper.h"
#include "mpiexec_lite/topo_hwloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpiexec_lite/opts_table.h"
#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* --- machines ---------------------------------------------------------- */

static const struct machine { const char *name, *text, *only; } machines[] = {
    { "one",       "pu:1", NULL },
    { "plain",     "core:4 pu:1", NULL },
    { "threads",   "socket:1 core:4 pu:2", NULL },
    { "sockets",   "socket:2 numa:1 l3:1 l2:8 core:1 l1d:1 l1i:1 pu:2", NULL },
    { "numas",     "socket:2 numa:4 l3:2 core:4 l2:1 pu:2", NULL },
    { "caches",    "socket:2 l3:2 l2:2 core:2 l1d:1 pu:1", NULL },
    { "no socket", "numa:4 core:2 pu:1", NULL },
    { "memories",  "socket:2 [numa] [numa] core:4 pu:2", NULL },
    { "far memory", "[numa] socket:2 [numa] core:4 pu:1", NULL },
    { "odd",       "socket:3 core:5 pu:3", NULL },
    { "huge",      "socket:8 numa:2 core:64 pu:4", NULL },
    { "taskset",   "socket:2 core:4 pu:2", "1,4-6,13" },
    { "one left",  "socket:2 core:4 pu:2", "9" },
    /* Files: two fast cores with two threads, and two clusters of four slow ones with one */
    { "hybrid",       NULL, NULL },
    /* four slow cores, behind them four fast ones, and a fastest */
    { "little-first", NULL, NULL },
    /* sockets of three cores, one of them with two threads, and of one core */
    { "uneven",       NULL, NULL },
    /* two sockets of four cores with two threads: a cgroup leaves parts of three cores */
    { "cut",          NULL, NULL },
    /* two sockets of four cores, each with two GPUs and networks; one draws the console */
    { "gpus",         NULL, NULL },
};

static const struct machine *machine_of(const char *name)
{
    size_t i = 0;

    while (strcmp(machines[i].name, name))
        i++;
    return &machines[i];
}

static void read_machine(const struct machine *m, struct topo *t)
{
    struct topo_source from = { .synthetic = m->text, .devices = true };
    struct buf xml = BUF_INIT;
    char path[80];

    if (!m->text) {
        snprintf(path, sizeof path, "test/topologies/%s.xml", m->name);
        assert_int_equal(opts_file_read(path, &xml, NULL), 0);
        from.xml = buf_bytes(&xml);
    }
    assert_null(topo_from_hwloc(t, &from));
    buf_clear(&xml);
    if (m->only) {
        struct cpus only;

        assert_true(cpus_read(m->only, &only));
        topo_restrict(t, &only);
    }
}

/* --- answers that are written down ------------------------------------- */

/* "0,1 2,3": the sets in their order. */
static void show(const struct seats *s, struct buf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        buf_str(out, i ? " " : "");
        cpus_print(&s->sets[i], out);
    }
    buf_str(out, s->crowded ? " crowded" : "");
    if (s->fewer)
        buf_printf(out, " of %zu", s->fewer);
}

static const struct answer {
    const char *machine, *bind, *map;
    int n;
    const char *want, *busy;
    int each;
    bool in_order;
} answers[] = {
    { "one", "core", NULL, 1, "0", NULL, 0, false },
    { "one", "machine", NULL, 3, "0 crowded", NULL, 0, false },
    { "one", "core", "socket", 1, "0", NULL, 0, false },
    { "plain", "core", NULL, 9, "0 1 2 3 crowded", NULL, 0, false },
    { "plain", "core:2", NULL, 2, "0-1 2-3", NULL, 0, false },
    { "plain", "core:3", NULL, 2, "0-2", NULL, 0, false },
    { "plain", "core:4", NULL, 1, "0-3", NULL, 0, false },
    { "plain", "core:9", NULL, 2, "0-3 of 4", NULL, 0, false },
    { "plain", "core:9", "core", 2, "0-3 of 4", NULL, 0, false },
    { "threads", "core", NULL, 2, "0-1 2-3", NULL, 0, false },
    { "threads", "hwthread", NULL, 3, "0 1 2", NULL, 0, false },
    { "threads", "hwthread", "core", 6, "0 2 4 6 1 3", NULL, 0, false },
    { "threads", "hwthread:2", NULL, 2, "0-1 2-3", NULL, 0, false },
    { "threads", "socket", "core", 3, "0-7 0-7 0-7", NULL, 0, false },
    { "sockets", "core", "socket", 5, "0-1 16-17 2-3 18-19 4-5", NULL, 0, false },
    { "sockets", "core", "socket", 4, "0-1 2-3 16-17 18-19", NULL, 0, true },
    { "sockets", "core", "socket", 5, "0-1 2-3 16-17 18-19 4-5", NULL, 2, false },
    { "sockets", "socket", "socket", 5, "0-15 0-15 16-31 16-31", NULL, 2, false },
    { "sockets", "core:3", "socket", 4, "0-5 16-21 6-11 22-27", NULL, 0, false },
    { "sockets", "core:4", "core:2", 3, "0-7 8-15 16-23", NULL, 0, false },
    { "sockets", "core", "core:4", 5, "0-1 8-9 16-17 24-25 2-3", NULL, 0, false },
    { "sockets", "l2cache:2", "numa", 2, "0-3 16-19", NULL, 0, false },
    { "sockets", "core", NULL, 3, "4-5 6-7 8-9", "0-3", 0, false },
    { "sockets", "core", "socket", 3, "4-5 16-17 6-7", "0-3", 0, false },
    { "sockets", "rr", NULL, 3, "2 3 4", "0-1", 0, false },
    { "numas", "l3cache", "numa", 3, "0-7 16-23 32-39", NULL, 0, false },
    { "numas", "numa:2", NULL, 2, "0-31 32-63", NULL, 0, false },
    { "numas", "core", "l3cache", 2, "0-1 8-9", NULL, 0, false },
    { "no socket", "core", "numa", 5, "0 2 4 6 1", NULL, 0, false },
    { "memories", "numa", NULL, 3, "0-7 8-15", NULL, 0, false },
    { "far memory", "numa", NULL, 3, "0-3 4-7", NULL, 0, false },
    { "taskset", "core", NULL, 9, "1 4-5 6 13 crowded", NULL, 0, false },
    { "taskset", "core", "socket", 2, "1 13", NULL, 0, false },
    { "taskset", "socket", NULL, 2, "1,4-6 13", NULL, 0, false },
    { "taskset", "core:2", NULL, 2, "1,4-5 6,13", NULL, 0, false },
    { "taskset", "user:0,4+13,6", NULL, 3, "4,13 6", NULL, 0, false },
    { "taskset", "user:3-5,2", NULL, 1, "4-5", NULL, 0, false },
    { "one left", "numa", "core", 2, "9 crowded", NULL, 0, false },
    { "hybrid", "core", NULL, 4, "0-1 2-3 4 5", NULL, 0, false },
    { "hybrid", "l2cache", NULL, 4, "0-1 2-3 4-7 8-11", NULL, 0, false },
    { "hybrid", "core", "l2cache", 5, "0-1 2-3 4 8 5", NULL, 0, false },
    { "little-first", "core", NULL, 6, "8 4 5 6 7 0", NULL, 0, false },
    { "little-first", "core", NULL, 3, "4 5 8", NULL, 0, true },
    { "little-first", "core", NULL, 3, "4 5 6", "8", 0, false },
    { "uneven", "core", NULL, 4, "0 2,5 3 1", NULL, 0, false },
    { "uneven", "core", "socket", 4, "0 1 2,5 3", NULL, 0, false },
    { "uneven", "core:2", "socket", 2, "0,2,5", NULL, 0, false },
    { "uneven", "rr", NULL, 4, "0 1 2 3", NULL, 0, false },
    { "uneven", "hwthread", NULL, 4, "0 2 5 3", NULL, 0, false },
    { "cut", "core", NULL, 4, "1,9 2 15", NULL, 0, false },
    { "cut", "socket", NULL, 2, "1-2,9 15", NULL, 0, false },
    { "gpus", "gpu", NULL, 5, "0-3 0-3 4-7 4-7", NULL, 0, false },
    { "gpus", "gpu:2", NULL, 2, "0-3 4-7", NULL, 0, false },
    { "gpus", "gpu2", NULL, 2, "4-7", NULL, 0, false },
    { "gpus", "ib0", NULL, 1, "4-7", NULL, 0, false },
    { "gpus", "ib", NULL, 2, "4-7 4-7", NULL, 0, false },
    { "gpus", "eth0", NULL, 1, "0-3", NULL, 0, false },
    { "gpus", "hsn", NULL, 1, "4-7", NULL, 0, false },
    { "gpus", "pci:0000:81:00.0", NULL, 1, "4-7", NULL, 0, false },
    { "gpus", "pci:02:00.0", NULL, 1, "0-3", NULL, 0, false },
    /* what is not there */
    { "plain", "l3cache", NULL, 1, "this host has none", NULL, 0, false },
    { "plain", "core", "l1dcache", 1, "-map-by: this host has none", NULL, 0, false },
    { "caches", "l1icache", NULL, 1, "this host has none", NULL, 0, false },
    { "caches", "l2dcache", NULL, 1, "0-1", NULL, 0, false },
    { "sockets", "l1icache", NULL, 1, "0-1", NULL, 0, false },
    { "sockets", "l1ucache", NULL, 1, "this host has none", NULL, 0, false },
    { "plain", "gpu", NULL, 1, "this host has none", NULL, 0, false },
    { "gpus", "gpu4", NULL, 1, "this host has none", NULL, 0, false },
    { "gpus", "eth7", NULL, 1, "this host has none", NULL, 0, false },
    { "gpus", "pci:05:00.0", NULL, 1, "this host has none", NULL, 0, false },
    { "one left", "user:0,1+2", NULL, 1, "none of them may be used", NULL, 0, false },
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(answers); i++) {
        const struct answer *a = &answers[i];
        struct mapspec bind, map;
        struct map_request q = { .bind = &bind, .map = &map, .n = a->n, .each = a->each,
                                 .in_order = a->in_order };
        struct buf text = BUF_INIT;
        struct err e = { 0 };
        struct cpus busy;
        struct topo t;
        struct seats s;

        print_message("  %s: %s by %s, %d\n", a->machine, a->bind, a->map ? a->map : "-", a->n);
        read_machine(machine_of(a->machine), &t);
        assert_int_equal(mapspec_read(&bind, a->bind, &e), 0);
        assert_int_equal(mapspec_read(&map, a->map ? a->map : "none", &e), 0);
        if (a->busy) {
            assert_true(cpus_read(a->busy, &busy));
            q.busy = &busy;
        }
        if (mapper_seats(&t, &q, &s, &e) < 0)
            buf_str(&text, e.text);
        else
            show(&s, &text);
        assert_string_equal(buf_bytes(&text), a->want);
        seats_clear(&s);
        topo_clear(&t);
        buf_clear(&text);
    }
}

/* --- what holds of all ------------------------------------------------- */

static const char *const objects[] = {
    "machine", "numa", "numa:2", "socket", "socket:2", "l3cache", "l2cache", "l2cache:3",
    "l1dcache", "l1icache", "core", "core:2", "core:3", "core:7", "hwthread", "hwthread:2",
    "hwthread:5",
};

/* Objects of a kind, told in another way than the mapper does it: the processors of each
 * that has some, without those that hold others of the kind or equal an earlier one. */
static size_t list_objects(const struct topo *t, const struct mapspec *s, struct cpus *out);

static size_t list_others(const struct topo *t, struct mapspec s, struct cpus *out)
{
    if (s.level != LEVEL_CORE && s.level != LEVEL_SOCKET)
        return 0;                        /* hwloc has always memory */
    s.level = s.level == LEVEL_CORE ? LEVEL_HWTHREAD : LEVEL_MACHINE;
    return list_objects(t, &s, out);
}

static size_t list_objects(const struct topo *t, const struct mapspec *s, struct cpus *out)
{
    size_t n = 0;

    for (size_t i = 0; i < t->nobjects; i++) {
        const struct topo_object *x = &t->objects[i];
        bool smallest = mapspec_is_object(s, x) && x->at.n;

        for (size_t k = 0; k < t->nobjects && smallest; k++) {
            const struct topo_object *y = &t->objects[k];
            bool inside = y->at.first >= x->at.first &&
                          y->at.first + y->at.n <= x->at.first + x->at.n;

            if (k != i && mapspec_is_object(s, y) && y->at.n && inside)
                smallest = y->at.n == x->at.n && k > i;
        }
        if (smallest)
            topo_cpus_of(t, x->at, &out[n]);
        n += smallest && cpus_count(&out[n]);
    }
    return n ? n : list_others(t, *s, out);
}

struct look {                            /* one combination */
    const struct topo *t;
    const struct mapspec *bind, *map;
    const struct cpus *busy;
    struct cpus *of_bind, *of_map;       /* their objects */
    size_t nbind, nmap;
};

/* Each is as many whole objects as are wanted, or all there are. */
static void check_whole(const struct look *l, const struct cpus *set)
{
    size_t whole = 0, want = (size_t)l->bind->count;
    struct cpus all = { 0 };

    for (size_t i = 0; i < l->nbind; i++) {
        struct cpus both = l->of_bind[i];

        cpus_keep(&both, set);
        if (!cpus_count(&both))
            continue;
        assert_memory_equal(&both, &l->of_bind[i], sizeof both);
        cpus_join(&all, &both);
        whole++;
    }
    assert_memory_equal(&all, set, sizeof all);
    assert_int_equal(whole, want < l->nbind ? want : l->nbind);
}

/* How many places do not share processors with an earlier one. */
static size_t count_disjoint(const struct seats *s)
{
    struct cpus seen = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        n += !cpus_meet(&seen, &s->sets[i]);
        cpus_join(&seen, &s->sets[i]);
    }
    return n;
}

/* Free places come before others. */
static void check_free_first(const struct look *l, const struct seats *s)
{
    bool met = false;

    for (size_t i = 0; l->busy && i < s->n; i++) {
        assert_true(!met || cpus_meet(&s->sets[i], l->busy));
        met = cpus_meet(&s->sets[i], l->busy);
    }
}

/* Without anything that changes it, the order is the hardware's. */
static void check_order(const struct look *l, const struct seats *s)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n; i++) {
        while (at < l->nbind && !cpus_meet(&l->of_bind[at], &s->sets[i]))
            at++;
        assert_true(at < l->nbind);
    }
}

/* Successive ones go to successive objects of map, in order, and then begin again: the
 * first round leaves none out in which there is a place. */
static void check_distance(const struct look *l, const struct seats *s)
{
    for (size_t i = 0; i < s->n && i < l->nmap; i++)
        assert_true(cpus_meet(&l->of_map[i], &s->sets[i]));
}

static bool kinds_differ(const struct topo *t)
{
    for (size_t i = 1; i < t->ncpus; i++)
        if (t->cpus[i].kind != t->cpus[0].kind)
            return true;
    return false;
}

static void check_seats(const struct look *l, const struct seats *s, int n)
{
    size_t k = (size_t)l->bind->count, enough = l->nbind / k ? l->nbind / k : 1;
    bool mapped = l->map->kind != SPEC_NONE;
    struct cpus allowed;

    topo_allowed(l->t, &allowed);
    assert_true(s->n >= 1 && s->n <= (size_t)n);
    for (size_t i = 0; i < s->n; i++) {
        struct cpus in = s->sets[i];

        cpus_keep(&in, &allowed);
        assert_true(cpus_count(&in) > 0);
        assert_memory_equal(&in, &s->sets[i], sizeof in);
        check_whole(l, &s->sets[i]);
        assert_ptr_equal(seat_of(s, (int)(i + s->n)), &s->sets[i]);
    }
    if (!mapped)                         /* distinct while there are objects */
        assert_int_equal(count_disjoint(s), enough < (size_t)n ? enough : (size_t)n);
    check_free_first(l, s);
    if (!mapped && !l->busy && !kinds_differ(l->t))
        check_order(l, s);
    if (mapped && !l->busy && !kinds_differ(l->t) && l->map->count == 1 && k == 1 &&
        l->nbind >= l->nmap)
        check_distance(l, s);
}

static size_t combinations;

static void check_one(struct look *l, int n, bool in_order)
{
    struct map_request q = { .bind = l->bind, .map = l->map, .busy = l->busy, .n = n,
                             .in_order = in_order };
    struct err e = { 0 };
    struct seats s;
    int rc = mapper_seats(l->t, &q, &s, &e);

    combinations++;
    if (l->nbind && (l->nmap || l->map->kind == SPEC_NONE)) {
        assert_int_equal(rc, 0);
        if (!in_order)
            check_seats(l, &s, n);
        for (size_t i = 0; i < s.n; i++)
            check_whole(l, &s.sets[i]);
    } else {
        assert_int_equal(rc, -1);
        assert_non_null(strstr(e.text, "this host has none"));
    }
    seats_clear(&s);
}

/* The first half of what is allowed. */
static void occupy(const struct topo *t, struct cpus *busy)
{
    *busy = (struct cpus){ 0 };
    for (size_t i = 0; i < t->ncpus / 2; i++)
        cpus_add(busy, t->cpus[i].os);
}

static void check_combination(const struct topo *t, const char *bind, const char *map,
                              struct cpus *of_bind, struct cpus *of_map)
{
    struct mapspec b, m;
    struct look l = { .t = t, .bind = &b, .map = &m, .of_bind = of_bind, .of_map = of_map };
    const int counts[] = { 1, 3, (int)t->ncpus, 2 * (int)t->ncpus + 1 };
    struct cpus busy;

    assert_int_equal(mapspec_read(&b, bind, NULL), 0);
    assert_int_equal(mapspec_read(&m, map, NULL), 0);
    l.nbind = list_objects(t, &b, of_bind);
    l.nmap = m.kind == SPEC_NONE ? 0 : list_objects(t, &m, of_map);
    occupy(t, &busy);
    for (size_t i = 0; i < (t->ncpus > 64 ? 2 : N_OF(counts)); i++) {
        l.busy = NULL;
        check_one(&l, counts[i], false);
        check_one(&l, counts[i], true);
        l.busy = &busy;
        check_one(&l, counts[i], false);
    }
}

static void test_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(machines); i++) {
        bool huge = !strcmp(machines[i].name, "huge");
        struct cpus *of_bind, *of_map;
        struct topo t;

        read_machine(&machines[i], &t);
        of_bind = calloc(t.ncpus + 1, sizeof *of_bind);
        of_map = calloc(t.ncpus + 1, sizeof *of_map);
        assert_true(of_bind && of_map);
        for (size_t b = 0; b < N_OF(objects); b++)
            for (size_t m = 0; m <= N_OF(objects); m++)
                if (!huge || (b < 5 && (m < 5 || m == N_OF(objects))))
                    check_combination(&t, objects[b], m < N_OF(objects) ? objects[m] : "none",
                                      of_bind, of_map);
        free(of_bind);
        free(of_map);
        topo_clear(&t);
    }
    print_message("  %zu combinations\n", combinations);
}

/* All 4096 of them, and none twice. */
static void test_huge(void **state)
{
    struct mapspec bind, map;
    struct map_request q = { .bind = &bind, .map = &map, .n = 4096 };
    struct topo t;
    struct seats s;

    (void)state;
    read_machine(machine_of("huge"), &t);
    assert_int_equal(mapspec_read(&bind, "hwthread", NULL), 0);
    assert_int_equal(mapspec_read(&map, "numa", NULL), 0);
    assert_int_equal(mapper_seats(&t, &q, &s, NULL), 0);
    assert_int_equal(s.n, 4096);
    assert_int_equal(count_disjoint(&s), 4096);
    assert_false(s.crowded);
    assert_true(cpus_has(&s.sets[1], 256) && cpus_has(&s.sets[16], 1));
    seats_clear(&s);
    topo_clear(&t);
}

/* --- texts ------------------------------------------------------------- */

static const char *const senseless[] = {
    "", "coress", "core:", "core:0", "core:x", "core:2x", "core:99999", "core:-1", "user", "user:",
    "user:,", "user:1,", "user:,1", "user:x", "user:1x", "user:-1", "user:2-1", "user:1+", "user:1-",
    "user:8192", "user: 1", "user:99999999999999999999", "l0cache", "l6cache", "l3", "l2xcache",
    "cache", "none:1", "rr:2", "pci", "pci:", "pci:x", "gpu0:2", "gpu:0", "numa:2:3", "socket ",
};

static void test_senseless(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(senseless); i++) {
        struct mapspec s;
        struct err e = { 0 };

        print_message("  '%s'\n", senseless[i]);
        assert_false(mapspec_is_known(senseless[i]));
        assert_int_equal(mapspec_read(&s, senseless[i], &e), -1);
        assert_non_null(strstr(e.text, "is not none, rr, user:LIST"));
    }
}

static void test_names(void **state)
{
    static const char *const known[] = {
        "none", "RR", "Core", "cores", "Sockets:2", "BOARD", "package:2", "pu", "L3Cache", "l1ICACHE:4", "l2ucache",
        "gpu", "GPU:3", "enp3s0", "mlx", "hfi1_0", "hsn1", "eth", "pci:0000:02:00.0",
    };

    (void)state;
    for (size_t i = 0; i < N_OF(known); i++) {
        print_message("  %s\n", known[i]);
        assert_int_equal(mapspec_is_known(known[i]), strcmp(known[i], "mlx") != 0);
    }
}

static void test_memory_texts(void **state)
{
    struct memspec m;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(memspec_read(&m, "bind:0,2-3", &e), 0);
    assert_true(m.how == MEMORY_BIND && !m.near && cpus_count(&m.nodes) == 3);
    assert_int_equal(memspec_read(&m, "Interleave", &e), 0);
    assert_true(m.how == MEMORY_INTERLEAVE && m.near);
    assert_int_equal(memspec_read(&m, "firsttouch", &e), 0);
    assert_int_equal(memspec_read(&m, "nexttouch", &e), -1);
    assert_non_null(strstr(e.text, "Linux has no nexttouch"));
    for (const char *const *t = (const char *const[]){ "", "bind:", "bind:x", "firsttouch:1",
                                                       "near", NULL }; *t; t++) {
        assert_int_equal(memspec_read(&m, *t, &e), -1);
        assert_non_null(strstr(e.text, "is not none, firsttouch"));
    }
}

/* --- the topology as bytes --------------------------------------------- */

static void test_bytes(void **state)
{
    struct buf bytes = BUF_INIT;
    struct topo t, back;

    (void)state;
    read_machine(machine_of("gpus"), &t);
    topo_write(&t, &bytes);
    assert_int_equal(topo_read_bytes(&back, buf_bytes(&bytes), bytes.len), 0);
    assert_int_equal(back.ncpus, 8);
    assert_int_equal(back.nobjects, t.nobjects);
    assert_int_equal(back.ndevices, t.ndevices);
    assert_string_equal(back.devices[0].bus, t.devices[0].bus);
    topo_clear(&back);
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_equal(topo_read_bytes(&back, buf_bytes(&bytes), len), -1);
    memset(buf_bytes(&bytes) + 12, 0xff, 4);     /* a processor with an impossible number */
    assert_int_equal(topo_read_bytes(&back, buf_bytes(&bytes), bytes.len), -1);
    topo_clear(&t);
    buf_clear(&bytes);
}

static void test_no_memory(void **state)
{
    struct mapspec bind, map;
    struct map_request q = { .bind = &bind, .map = &map, .n = 20 };
    struct topo t;
    long n = 0, failed = 0;

    (void)state;
    memory_begin();
    read_machine(machine_of("numas"), &t);
    assert_int_equal(mapspec_read(&bind, "core", NULL), 0);
    assert_int_equal(mapspec_read(&map, "socket", NULL), 0);
    do {
        long live = memory_live;
        struct err e = { 0 };
        struct seats s;
        int rc;

        memory_after(n++);
        rc = mapper_seats(&t, &q, &s, &e);
        memory_end();
        assert_true(rc == 0 ? s.n == 20 : e.code == ERR_NOMEM);
        assert_true(rc == 0 || memory_hit);      /* qsort can do without memory */
        failed += rc < 0;
        seats_clear(&s);
        assert_int_equal(memory_live, live);
    } while (memory_hit);
    assert_true(failed > 5);
    topo_clear(&t);
}

/* --- this machine ------------------------------------------------------ */

static void test_here(void **state)
{
    struct topo_source here = { .devices = false };
    struct cpus allowed, seen;
    struct topo t;

    (void)state;
    assert_null(topo_from_hwloc(&t, &here));
    assert_int_equal(cpus_allowed(&allowed, NULL), 0);
    topo_allowed(&t, &seen);
    assert_memory_equal(&allowed, &seen, sizeof seen);
    topo_clear(&t);
    here.library = "libnothing.so";
    assert_non_null(strstr(topo_from_hwloc(&t, &here), "libnothing.so"));
    here = (struct topo_source){ .synthetic = "rubbish" };
    assert_non_null(strstr(topo_from_hwloc(&t, &here), "does not understand"));
    here = (struct topo_source){ .xml = "<rubbish/>" };
    assert_non_null(strstr(topo_from_hwloc(&t, &here), "does not understand"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_all), cmocka_unit_test(test_huge),
        cmocka_unit_test(test_senseless), cmocka_unit_test(test_names),
        cmocka_unit_test(test_memory_texts), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_here),
    };

    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
