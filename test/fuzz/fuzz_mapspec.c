/* fuzz_mapspec.c - whatever is asked for, nobody gets a processor that may not be used.
 *
 * Input: lines: a binding, a mapping, the processors that may be used, those that others
 * have, a number of processes (its length).  The machine has two sockets of two NUMA nodes
 * of two cores of two threads, and a device at each socket. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/mapper.h"

#include <stdlib.h>
#include <string.h>

enum { CPUS = 16 };

static void add_objects(struct topo *t, enum level level, int size)
{
    for (int at = 0; at < CPUS; at += size) {
        struct topo_object o = { .level = level, .os = at / size, .at = { at, size } };

        MUST(topo_add_object(t, &o) == 0);
    }
}

static void make_machine(struct topo *t)
{
    *t = (struct topo){ 0 };
    for (int i = 0; i < CPUS; i++)
        MUST(topo_add_cpu(t, &(struct topo_cpu){ .os = i, .kind = i < 4, .allowed = true }) == 0);
    add_objects(t, LEVEL_MACHINE, CPUS);
    add_objects(t, LEVEL_SOCKET, CPUS / 2);
    add_objects(t, LEVEL_NUMA, CPUS / 4);
    add_objects(t, LEVEL_CORE, 2);
    add_objects(t, LEVEL_HWTHREAD, 1);
    for (int i = 0; i < 2; i++) {
        struct topo_device d = { .kind = DEVICE_GPU, .name = "gpu1", .bus = "0000:01:00.0",
                                 .at = { i * 8, 8 } };

        MUST(topo_add_device(t, &d) == 0);
    }
}

static void check(const struct topo *t, const struct map_request *q)
{
    struct cpus allowed;
    struct err e = { 0 };
    struct seats s;

    topo_allowed(t, &allowed);
    if (mapper_seats(t, q, &s, &e) == 0) {
        MUST(s.n >= 1 && s.n <= (size_t)q->n);
        for (size_t i = 0; i < s.n; i++) {
            struct cpus in = s.sets[i];

            cpus_keep(&in, &allowed);
            MUST(cpus_count(&in) > 0 && !memcmp(&in, &s.sets[i], sizeof in));
        }
    } else {
        MUST(*e.text);
    }
    seats_clear(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *rest = text;
    const char *line[5];
    struct mapspec bind, map;
    struct memspec memory;
    struct cpus allowed, busy;
    struct topo t;

    MUST(text);
    for (int i = 0; i < 5; i++)
        line[i] = rest ? strsep(&rest, "\n") : "";
    memspec_read(&memory, line[0], NULL);
    if (mapspec_read(&bind, line[0], NULL) == 0 && bind.kind != SPEC_NONE &&
        mapspec_read(&map, *line[1] ? line[1] : "none", NULL) == 0) {
        struct map_request q = { .bind = &bind, .map = &map, .n = 1 + (int)strlen(line[4]),
                                 .each = line[4][0] == '2' ? 2 : 0,
                                 .in_order = line[4][0] == 'o' };

        make_machine(&t);
        if (cpus_read(line[2], &allowed))
            topo_restrict(&t, &allowed);
        if (cpus_read(line[3], &busy))
            q.busy = &busy;
        check(&t, &q);
        topo_clear(&t);
    }
    free(text);
    return 0;
}
