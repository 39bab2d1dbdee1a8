/* fuzz_hosts.c - a host file that is read can be written, and names the same hosts.
 *
 * Input: a host file, up to a zero byte.  It is also read as a list, as -host. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/hosts.h"
#include "wire/buf.h"

#include <string.h>
#include <strings.h>

#define NAMES 2000           /* most names of an input: more of them only take time */

static void start(struct hosts *h, struct plan *p)
{
    plan_init(p);
    hosts_init(h, p);
    h->named = PLAN_HOSTS_MAX - NAMES;
}

static size_t first_of(const struct plan *p, const char *name)
{
    size_t i = 0;

    while (strcasecmp(p->hosts[i].name, name))
        i++;
    return i;
}

static void check(const struct plan *p)
{
    size_t local = 0;

    for (size_t i = 0; i < p->nhosts; i++) {
        const struct host *h = &p->hosts[i];

        MUST(host_name_ok(h->name));
        MUST(!h->user || host_user_ok(h->user));
        MUST(h->slots >= 1 && h->slots <= PLAN_SLOTS_MAX);
        MUST(first_of(p, h->name) == i);
        local += h->local;
    }
    MUST(local <= 1);
    MUST(p->nhosts >= 1 && p->nhosts <= NAMES);
}

static void write_host(struct buf *out, const struct host *h)
{
    bool brackets = strchr(h->name, ':') != NULL;

    buf_printf(out, "%s%s%s:%d", brackets ? "[" : "", h->name, brackets ? "]" : "",
               h->slots);
    if (h->user)
        buf_printf(out, " user=%s", h->user);
    if (h->binding)
        buf_printf(out, " binding=%s", h->binding);
    buf_char(out, '\n');
}

static int same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void there_and_back(const struct plan *p)
{
    struct buf text = BUF_INIT;
    struct hosts h;
    struct plan back;
    struct err e;

    for (size_t i = 0; i < p->nhosts; i++)
        write_host(&text, &p->hosts[i]);
    start(&h, &back);
    MUST(hosts_add_text(&h, buf_bytes(&text), "again", &e) == 0);
    MUST(back.nhosts == p->nhosts);
    for (size_t i = 0; i < p->nhosts; i++) {
        MUST(same_text(back.hosts[i].name, p->hosts[i].name));
        MUST(same_text(back.hosts[i].user, p->hosts[i].user));
        MUST(same_text(back.hosts[i].binding, p->hosts[i].binding));
        MUST(back.hosts[i].slots == p->hosts[i].slots);
        MUST(back.hosts[i].local == p->hosts[i].local);
    }
    hosts_clear(&h);
    plan_clear(&back);
    buf_clear(&text);
}

static void as_file(const char *text)
{
    struct err e = { 0 };
    struct hosts h;
    struct plan p;

    start(&h, &p);
    if (hosts_add_text(&h, text, "file", &e) == 0) {
        check(&p);
        there_and_back(&p);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    hosts_clear(&h);
    plan_clear(&p);
}

/* Between two nodes of the job's list, one of which is ours. */
static void as_block(const char *text)
{
    struct app a = { 0 };
    struct err e = { 0 };
    struct hosts h;
    struct plan p;
    long slots;

    start(&h, &p);
    MUST(hosts_add_list(&h, "localhost,n1:2", &e) == 0);
    h.fixed = p.nhosts;
    if (hosts_pick(&h, text, NULL, &a, &slots, &e) == 0) {
        check(&p);
        MUST(p.hosts[1].slots == 2);
        MUST(a.nnodes >= 1 && slots >= (long)a.nnodes);
        for (size_t i = 0; i < a.nnodes; i++)
            MUST(a.nodes[i] < p.nhosts);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    free(a.nodes);
    hosts_clear(&h);
    plan_clear(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    as_file(text);
    as_block(text);
    free(text);
    return 0;
}
