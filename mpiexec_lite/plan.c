/* plan.c - see plan.h */
#include "mpiexec_lite/plan.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more string and the NULL after it. */
static int strlist_grow(struct strlist *l)
{
    size_t cap = l->cap ? l->cap * 2 : 8;
    char **v;

    if (l->n + 1 < l->cap)
        return 0;
    v = reallocarray(l->v, cap, sizeof *v);
    if (!v)
        return -1;
    l->v = v;
    l->cap = cap;
    return 0;
}

int strlist_add_bytes(struct strlist *l, const char *s, size_t n)
{
    char *copy;

    if (strlist_grow(l) < 0 || !(copy = strndup(s, n)))
        return -1;
    l->v[l->n++] = copy;
    l->v[l->n] = NULL;
    return 0;
}

int strlist_add(struct strlist *l, const char *s)
{
    return strlist_add_bytes(l, s, strlen(s));
}

int strlist_add_words(struct strlist *l, const char *s)
{
    static const char blank[] = " \t\n";

    for (size_t n; *(s += strspn(s, blank)); s += n) {
        n = strcspn(s, blank);
        if (strlist_add_bytes(l, s, n) < 0)
            return -1;
    }
    return 0;
}

int strlist_copy(struct strlist *to, const struct strlist *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (strlist_add(to, from->v[i]) < 0)
            return -1;
    return 0;
}

void strlist_clear(struct strlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct strlist){ 0 };
}

static void env_rules_clear(struct env_rules *r)
{
    strlist_clear(&r->names);
    strlist_clear(&r->set);
}

static void app_clear(struct app *a)
{
    strlist_clear(&a->argv);
    env_rules_clear(&a->env);
    free(a->wdir);
    free(a->path);
    free(a->soft);
    free(a->arch);
    free(a->file);
    free(a->bind);
    free(a->pset);
    free(a->host_list);
    free(a->nodes);
}

void plan_init(struct plan *p)
{
    *p = (struct plan){
        .output_from = -1, .usize = -1, .start_window = 64, .pmi1_subversion = 1,
        .tool_timeout = 300,
        .remote = {
            .launcher = LAUNCHER_SSH, .tree_width = 32, .flat_hosts = 64, .window = 10,
            .patience = 15, .heartbeat = 5, .lease = 15, .release_bytes = 256 << 10,
            .tries = 6, .ssh_limit = 8, .ssh_limit_time = 15,
        },
    };
}

struct app *plan_add_app(struct plan *p)
{
    struct app *apps = reallocarray(p->apps, p->napps + 1, sizeof *apps);

    if (!apps)
        return NULL;
    p->apps = apps;
    apps[p->napps] = (struct app){ 0 };
    return &apps[p->napps++];
}

void plan_drop_app(struct plan *p)
{
    app_clear(&p->apps[--p->napps]);
}

/* Room for one more host: the array grows whenever its length is a power of two. */
static int hosts_grow(struct plan *p)
{
    size_t cap = p->nhosts ? p->nhosts * 2 : 1;
    struct host *hosts;

    if (p->nhosts & (p->nhosts - 1))
        return 0;
    hosts = reallocarray(p->hosts, cap, sizeof *hosts);
    if (!hosts)
        return -1;
    p->hosts = hosts;
    return 0;
}

struct host *plan_add_host(struct plan *p, const char *name)
{
    char *copy = name ? strdup(name) : NULL;

    if ((name && !copy) || hosts_grow(p) < 0) {
        free(copy);
        return NULL;
    }
    p->hosts[p->nhosts] = (struct host){ .name = copy, .slots = 1 };
    return &p->hosts[p->nhosts++];
}

static int copy_text(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return text && !*to ? -1 : 0;
}

int plan_copy_hosts(struct plan *p, const struct plan *other, size_t from)
{
    for (size_t i = from; i < other->nhosts; i++) {
        const struct host *x = &other->hosts[i];
        struct host *h = plan_add_host(p, x->name);

        if (!h || copy_text(&h->user, x->user) < 0 || copy_text(&h->binding, x->binding) < 0)
            return -1;
        h->slots = x->slots;
        h->local = x->local;
    }
    return 0;
}

void host_clear(struct host *h)
{
    free(h->name);
    free(h->user);
    free(h->binding);
    free(h->coords);
    *h = (struct host){ 0 };
}

static void launch_options_clear(struct launch_options *o)
{
    free(o->exec);
    strlist_clear(&o->extra);
    free(o->proxy);
    free(o->munge_socket);
    strlist_clear(&o->wrapper);
    free(o->iface);
    free(o->localhost);
}

static void map_options_clear(struct map_options *m)
{
    free(m->bind);
    free(m->by);
    free(m->memory);
    free(m->cpus);
}

void plan_clear(struct plan *p)
{
    while (p->napps)
        plan_drop_app(p);
    free(p->apps);
    while (p->nhosts)
        host_clear(&p->hosts[--p->nhosts]);
    free(p->hosts);
    launch_options_clear(&p->remote);
    map_options_clear(&p->map);
    env_rules_clear(&p->env);
    free(p->alloc);
    free(p->topology_file);
    free(p->dims);
    free(p->rankmap);
    free(p->alloc_kinds);
    free(p->label);
    free(p->outfile);
    free(p->errfile);
    free(p->stdin_file);
    free(p->trace);
    free(p->timeline);
    free(p->nameserver);
    free(p->log_dir);
    free(p->hold_ranks);
    free(p->gdb);
    strlist_clear(&p->agent);
    free(p->target);
    free(p->single_id);
    strlist_clear(&p->provider_dirs);
    strlist_clear(&p->provider_files);
    strlist_clear(&p->providers);
    strlist_clear(&p->warnings);
    plan_init(p);
}

bool plan_is_single(const struct plan *p)
{
    return p->single || p->single_fd;
}

int plan_size(const struct plan *p)
{
    int size = 0;

    for (size_t i = 0; i < p->napps; i++)
        size += p->apps[i].n;
    return size;
}

size_t plan_app_of(const struct plan *p, int rank)
{
    size_t i = 0;

    while (i + 1 < p->napps && rank >= p->apps[i].n)
        rank -= p->apps[i++].n;
    return i;
}

long plan_slots(const struct plan *p)
{
    long slots = 0;

    for (size_t i = 0; i < p->nhosts; i++)
        slots += p->hosts[i].slots;
    return slots;
}
