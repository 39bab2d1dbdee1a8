/* fuzz_bundle.c - a job that is read makes sense, and written says the same again. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/bundle.h"
#include "mpiexec_lite/hosts.h"

#include <string.h>

static void check(const struct bundle *b)
{
    MUST(*b->jobid && *b->cwd && b->umask <= 0777);
    MUST(b->plan.nhosts && b->plan.napps && b->place.nruns);
    for (size_t i = 0; i < b->plan.nhosts; i++)
        MUST(host_name_ok(b->plan.hosts[i].name));
    for (size_t i = 0; i < b->plan.napps; i++)
        MUST(b->plan.apps[i].argv.n && !b->plan.apps[i].argv.v[b->plan.apps[i].argv.n]);
    MUST(b->place.size == plan_size(&b->plan));
    for (size_t i = 0; i < b->place.nruns; i++) {
        MUST((size_t)b->place.runs[i].node < b->plan.nhosts);
        MUST(placement_node(&b->place, b->place.runs[i].first) == b->place.runs[i].node);
    }
}

/* What is written is what was read, but for runs that belonged together. */
static void there_and_back(const struct bundle *b, size_t size)
{
    struct buf once = BUF_INIT, twice = BUF_INIT;
    struct bundle back;
    struct err e;

    bundle_write(b, &once);
    MUST(!once.failed && once.len <= size);
    MUST(bundle_read(&back, buf_bytes(&once), once.len, &e) == 0);
    bundle_write(&back, &twice);
    MUST(twice.len == once.len);
    MUST(!memcmp(buf_bytes(&twice), buf_bytes(&once), once.len));
    bundle_clear(&back);
    buf_clear(&once);
    buf_clear(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bundle b;
    struct err e = { 0 };

    if (bundle_read(&b, (const char *)data, size, &e) == 0) {
        check(&b);
        there_and_back(&b, size);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    bundle_clear(&b);
    return 0;
}
