/* hosts.c - nodes, by name.  See hosts.h; hosts_text.c reads lists and files. */
#include "mpiexec_lite/hosts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define SCOPE_MAX 64         /* of an address; names of interfaces are shorter */

/* --- names ---------------------------------------------------------------------- */

/* "%eth0", or nothing. */
static bool is_scope(const char *text)
{
    size_t len = strlen(text);

    return !len || (len > 1 && len < SCOPE_MAX && strspn(text + 1, WORD) == len - 1);
}

bool host_is_ipv6(const char *name, char text[HOST_NAME_MAX_LEN + 1])
{
    char bare[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t len = strcspn(name, "%");
    const char *scope = name + len;

    if (len >= sizeof bare || !is_scope(scope))
        return false;
    memcpy(bare, name, len);
    bare[len] = '\0';
    if (inet_pton(AF_INET6, bare, &address) != 1)
        return false;
    inet_ntop(AF_INET6, &address, bare, sizeof bare);
    snprintf(text, HOST_NAME_MAX_LEN + 1, "%s%s", bare, scope);
    return true;
}

bool host_name_ok(const char *name)
{
    char text[HOST_NAME_MAX_LEN + 1];
    size_t len = strlen(name);

    if (len == 0 || len > HOST_NAME_MAX_LEN || *name == '-')
        return false;
    return strspn(name, WORD) == len || host_is_ipv6(name, text);
}

bool host_user_ok(const char *user)
{
    size_t len = strlen(user);

    return len && *user != '-' && strspn(user, WORD "+$@\\") == len;
}

/* --- which host is this? -------------------------------------------------------- */

static bool is_address(const struct sockaddr *a, int family, const void *bytes)
{
    if (!a || a->sa_family != family)
        return false;
    if (family == AF_INET)
        return !memcmp(&((const struct sockaddr_in *)a)->sin_addr, bytes, 4);
    return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, bytes, 16);
}

static bool is_on_interface(struct hosts *h, int family, const void *bytes)
{
    if (!h->addresses && getifaddrs(&h->addresses) < 0)
        h->addresses = NULL;             /* nothing to be known, then */
    for (const struct ifaddrs *i = h->addresses; i; i = i->ifa_next)
        if (is_address(i->ifa_addr, family, bytes))
            return true;
    return false;
}

/* A literal address of ours: of an interface, or a loopback one. */
static bool is_own_address(struct hosts *h, const char *name)
{
    char bare[HOST_NAME_MAX_LEN + 1];
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, name, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127 || is_on_interface(h, AF_INET, &v4);
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(name, "%"), name);
    if (inet_pton(AF_INET6, bare, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6) || is_on_interface(h, AF_INET6, &v6);
    return false;
}

/* "localhost", our name, the first part of that, or an address of ours. */
static bool is_local(struct hosts *h, const char *name)
{
    size_t len = strlen(name);

    if (strcmp(name, h->own) == 0 || strcasecmp(name, "localhost") == 0)
        return true;
    if (strncasecmp(h->own, name, len) == 0 && (!h->own[len] || h->own[len] == '.'))
        return true;
    return is_own_address(h, name);
}

/* --- nodes ---------------------------------------------------------------------- */

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for the list of hosts");
}

void hosts_init(struct hosts *h, struct plan *plan)
{
    *h = (struct hosts){ .plan = plan, .fixed = plan->nhosts };
    if (gethostname(h->own, sizeof h->own - 1) < 0 || !host_name_ok(h->own))
        snprintf(h->own, sizeof h->own, "localhost");
}

void hosts_clear(struct hosts *h)
{
    if (h->addresses)
        freeifaddrs(h->addresses);
    free(h->index);
    free(h->picks);
    *h = (struct hosts){ 0 };
}

/* FNV-1a of a name in any case. */
static size_t hash(const char *name)
{
    uint64_t v = 0xcbf29ce484222325;

    for (; *name; name++)
        v = (v ^ (unsigned char)tolower((unsigned char)*name)) * 0x100000001b3;
    return (size_t)(v ^ v >> 32);
}

/* Where a name stands in the index, or would. */
static uint32_t *find(const struct hosts *h, const char *name)
{
    size_t at = hash(name) & (h->size - 1);

    while (h->index[at] && strcasecmp(h->plan->hosts[h->index[at] - 1].name, name) != 0)
        at = (at + 1) & (h->size - 1);
    return &h->index[at];
}

/* Make the index anew, of this size, and find our own host. */
static int make_index(struct hosts *h, size_t size, struct err *e)
{
    uint32_t *index = calloc(size, sizeof *index);

    if (!index)
        return no_memory(e);
    free(h->index);
    h->index = index;
    h->size = size;
    h->local = 0;
    for (size_t i = 0; i < h->plan->nhosts; i++) {
        *find(h, h->plan->hosts[i].name) = (uint32_t)i + 1;
        if (h->plan->hosts[i].local)
            h->local = i + 1;
    }
    return 0;
}

/* Remember text in *to; what was said before must be the same. */
static int agree(char **to, const char *text, const char *what, struct err *e)
{
    if (!text || (*to && strcmp(*to, text) == 0))
        return 0;
    if (*to)
        return err_set(e, ERR_INVALID_VAL, "%s '%.60s', but it was '%.60s' before", what,
                       text, *to);
    *to = strdup(text);
    return *to ? 0 : no_memory(e);
}

/* One more mention of node i. */
static int add_mention(struct hosts *h, size_t i, const struct mention *x, int slots,
                   struct err *e)
{
    struct host *n = &h->plan->hosts[i];

    if (i >= h->fixed && slots > PLAN_SLOTS_MAX - n->slots)
        return err_set(e, ERR_INVALID_VAL, "'%.60s' has more than %d slots", n->name,
                       PLAN_SLOTS_MAX);
    if (i >= h->fixed)
        n->slots += slots;
    if (agree(&n->user, x->user, "user", e) < 0 ||
        agree(&n->binding, x->binding, "binding", e) < 0)
        return err_context(e, "'%.60s'", n->name);
    return 0;
}

/* A new node without slots; *place is where the index will have it. */
static int add_node(struct hosts *h, const char *name, bool local, uint32_t *place,
                    struct err *e)
{
    struct host *n = plan_add_host(h->plan, name);

    if (!n)
        return no_memory(e);
    n->slots = 0;
    n->local = local;
    n->said = h->said;
    n->line = h->line;
    *place = (uint32_t)h->plan->nhosts;
    if (local)
        h->local = h->plan->nhosts;
    return 0;
}

static int add_pick(struct hosts *h, size_t node, int slots, struct err *e)
{
    if (!h->picking)
        return 0;
    if (h->npicks == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 16;
        struct pick *picks = reallocarray(h->picks, cap, sizeof *picks);

        if (!picks)
            return no_memory(e);
        h->picks = picks;
        h->cap = cap;
    }
    h->picks[h->npicks++] = (struct pick){ node, slots };
    return 0;
}

/* The node of this name, which may be new: *node. */
static int find_or_add(struct hosts *h, const char *name, bool local, size_t *node,
                       struct err *e)
{
    size_t size = h->size ? h->size : 64;
    uint32_t *place;

    while (size <= h->plan->nhosts * 2)
        size *= 2;
    if (size > h->size && make_index(h, size, e) < 0)
        return -1;
    place = find(h, name);
    if (!*place && !(local && h->local) && add_node(h, name, local, place, e) < 0)
        return -1;
    *node = (local ? h->local : *place) - 1;
    return 0;
}

int hosts_add(struct hosts *h, const char *name, const struct mention *x, struct err *e)
{
    int slots = x->slots ? x->slots : 1;
    size_t node;
    bool local;

    if (!*name)
        return err_set(e, ERR_INVALID_VAL, "a host has no name (a comma too many, or a blank "
                       "behind one?)");
    if (!host_name_ok(name))
        return err_set(e, ERR_INVALID_VAL, "'%.80s' is not a host name", name);
    if (++h->named > PLAN_HOSTS_MAX)
        return err_set(e, ERR_INVALID_VAL, "more than %d hosts", PLAN_HOSTS_MAX);
    local = is_local(h, name);
    if (local && h->skip_local)
        return 0;
    if (find_or_add(h, name, local, &node, e) < 0 || add_mention(h, node, x, slots, e) < 0)
        return -1;
    return add_pick(h, node, node < h->fixed ? x->slots : slots, e);
}

int hosts_add_own(struct hosts *h, struct err *e)
{
    return hosts_add(h, h->own, &(struct mention){ 0 }, e);
}

int hosts_find(struct hosts *h, const char *name)
{
    if (is_local(h, name))
        return (int)h->local - 1;
    return h->size ? (int)*find(h, name) - 1 : -1;
}

/* --- all nodes, and those of one block ------------------------------------------ */

/* The picked nodes, each once, become a's; what they hold is added to *slots. */
static int keep_picks(struct hosts *h, struct app *a, bool *seen, long *slots,
                      struct err *e)
{
    a->nodes = calloc(h->npicks, sizeof *a->nodes);
    if (!a->nodes)
        return no_memory(e);
    for (size_t i = 0; i < h->npicks; i++) {
        const struct pick *p = &h->picks[i];

        if (p->slots || !seen[p->node])
            *slots += p->slots ? p->slots : h->plan->hosts[p->node].slots;
        if (!seen[p->node])
            a->nodes[a->nnodes++] = p->node;
        seen[p->node] = true;
    }
    return 0;
}

int hosts_pick(struct hosts *h, const char *list, const char *file, struct app *a, long *slots,
               struct err *e)
{
    bool *seen;
    int rc;

    h->npicks = 0;
    h->picking = true;
    *slots = 0;
    rc = file ? hosts_add_text(h, list, file, e) : hosts_add_list(h, list, e);
    h->picking = false;
    if (rc < 0)
        return -1;
    if (!h->npicks)
        return err_set(e, ERR_INVALID_VAL, "only this host, which is to be skipped");
    seen = calloc(h->plan->nhosts, sizeof *seen);
    rc = seen ? keep_picks(h, a, seen, slots, e) : no_memory(e);
    free(seen);
    return rc;
}

struct place { int slots; size_t was; };

static int by_slots(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->slots != y->slots)
        return x->slots < y->slots ? -1 : 1;
    return x->was < y->was ? -1 : 1;
}

/* Where each of the hosts goes, or rather where it comes from; NULL: no memory. */
static struct place *sorted(const struct plan *p, bool descending)
{
    struct place *places = calloc(p->nhosts, sizeof *places);

    for (size_t i = 0; places && i < p->nhosts; i++)
        places[i] = (struct place){ p->hosts[i].slots * (descending ? -1 : 1), i };
    if (places)
        qsort(places, p->nhosts, sizeof *places, by_slots);
    return places;
}

int hosts_order(struct hosts *h, bool descending, struct err *e)
{
    struct plan *p = h->plan;
    struct place *places;
    struct host *copy;
    bool ok;

    if (!p->nhosts)
        return 0;
    places = sorted(p, descending);
    copy = calloc(p->nhosts, sizeof *copy);
    if (places && copy) {
        memcpy(copy, p->hosts, p->nhosts * sizeof *copy);
        for (size_t i = 0; i < p->nhosts; i++)
            p->hosts[i] = copy[places[i].was];
    }
    ok = places && copy;
    free(copy);
    free(places);
    return ok ? make_index(h, h->size, e) : no_memory(e);
}

int hosts_skip_local(struct hosts *h, struct err *e)
{
    struct plan *p = h->plan;
    size_t at = h->local;

    h->skip_local = true;
    if (!at)
        return 0;
    host_clear(&p->hosts[at - 1]);
    memmove(&p->hosts[at - 1], &p->hosts[at], (p->nhosts - at) * sizeof *p->hosts);
    p->nhosts--;
    return make_index(h, h->size, e);
}
