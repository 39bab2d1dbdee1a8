/* model.c - what is right in one job.
 *
 * Every rank's puts and attributes are operations in the order of their making.
 * A rank must see at least those operations of another that its fences have brought
 * (its *floor*), and never one that was not made.  Floors go the way of data: what the
 * members of a fence knew when they entered, all of them know when they leave.  A
 * rank's own operations it sees at once; other nodes see no put that its server has not
 * sent with a fence. */
#include "test/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_init(struct world *w)
{
    size_t n = (size_t)w->nranks;
    bool scale = w->sim->scale;

    w->nops = calloc(n, sizeof *w->nops);
    w->ops = scale ? NULL : calloc(n, sizeof *w->ops);
    w->floors = scale ? NULL : calloc(n * n, sizeof *w->floors);
    w->shown = calloc(n, sizeof *w->shown);
    w->rooted = calloc(n, sizeof *w->rooted);
}

void model_clear(struct world *w)
{
    for (int i = 0; i < w->ncolls * w->sim->nnodes; i++) {
        free(w->instances[i].in);
        free(w->instances[i].floor);
    }
    free(w->instances);
    free(w->nops);
    free(w->ops);
    free(w->floors);
    free(w->shown);
    free(w->rooted);
}

/* --- values ------------------------------------------------------------ */

static const char *filler(void)
{
    static const char from[] = "abcdefghijklmnopqrstuvwxyz;=0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ;;-_=";
    static char text[VALUE_ROOM + 1024];

    if (!*text)
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = from[i * 7 % (sizeof from - 1)];
    return text;
}

static size_t fill(char *out, size_t n, int len, int seed)
{
    if (len > (int)n + 1) {
        memcpy(out + n, filler() + seed % 997, (size_t)len - n - 1);
        n = (size_t)len;
        out[n - 1] = '.';
    }
    out[n] = '\0';
    return n;
}

static size_t number(char *out, int n, char behind)
{
    char digits[12];
    size_t k = 0, len = 0;

    do
        digits[k++] = (char)('0' + n % 10);
    while (n /= 10);
    while (k)
        out[len++] = digits[--k];
    out[len++] = behind;
    return len;
}

size_t model_value(int owner, int op, int len, char *out)
{
    size_t n = number(out, owner, '.');

    n += number(out + n, op, '.');
    return fill(out, n, len, owner * 31 + op * 7);
}

size_t model_shared_value(int owner, int epoch, char *out)
{
    return model_value(owner, 1000 + epoch, 20 + owner * 7 % 30, out);
}

void model_ring_value(const struct world *w, int rank, char side, int c, char out[40])
{
    snprintf(out, 40, "%c%d;%d", side, model_owner(w, rank), c);
}

/* --- operations -------------------------------------------------------- */

int model_op(struct sim *s, struct rank *r, struct op op)
{
    struct world *w = r->world;

    if (!w->ops)
        return w->nops[r->rank]++;
    if (w->nops[r->rank] == OPS) {
        violation(s, "rank %d does more than the model can hold", r->rank);
        return 0;
    }
    w->ops[r->rank][w->nops[r->rank]] = op;
    return w->nops[r->rank]++;
}

static int *floors_of(const struct rank *r)
{
    return &r->world->floors[(size_t)r->rank * (size_t)r->world->nranks];
}

int model_floor(const struct rank *r, int owner)
{
    if (!r->world->floors)
        return 0;
    return owner == r->rank ? r->world->nops[owner] : floors_of(r)[owner];
}

void model_shown(struct world *w, const struct node *n)
{
    const struct part *p = &w->at[n->at];

    for (int i = 0; i < p->nlocal; i++)
        w->shown[p->local[i]] = w->nops[p->local[i]];
}

/* The newest operation below `end` on what want asks for; -1: none. */
static int newest(const struct world *w, const struct want *want, enum op_kind kind, int end)
{
    for (int i = end - 1; i >= 0; i--)
        if (w->ops[want->act.a][i].kind == kind && w->ops[want->act.a][i].key == want->act.b)
            return i;
    return -1;
}

/* Of another node than node, and its server has sent it with no fence.  The root decides
 * what exists: what its own ranks put does so at once. */
static bool is_hidden(const struct world *w, int node, int rank, int op)
{
    int there = w->ranks[rank].node;

    return there != 0 && there != node && op >= w->shown[rank];
}

static void wrong(struct sim *s, struct rank *r, const struct want *w, const char *how,
                  const char *text)
{
    violation(s, "job %d rank %d: %s %d-%d (job %d) is %s: %.60s", r->world->number, r->rank,
              w->act.kind == A_GET || w->act.kind == A_GET_OF ? "key" : "attribute",
              w->act.a, w->act.b, w->act.job, how, text);
}

static void check_scale(struct sim *s, struct rank *r, const struct want *w, const char *text,
                        size_t len)
{
    char want[VALUE_ROOM];

    if (model_value(w->act.a, 0, 64, want) != len || memcmp(want, text, len) != 0)
        wrong(s, r, w, "not what was put", text);
}

/* Text is what a rank of this job has put under the key.  Its operation; -1: it is wrong. */
static int check_value(struct sim *s, struct rank *r, const struct world *of,
                       const struct want *w, enum op_kind kind, const char *text, size_t len)
{
    const char *dot = strchr(text, '.');
    int rank = w->act.a, op = dot ? atoi(dot + 1) : -1;
    char want[VALUE_ROOM];

    if (atoi(text) != model_owner(of, rank) || op < 0 || op >= of->nops[rank] ||
        of->ops[rank][op].kind != kind || of->ops[rank][op].key != w->act.b)
        wrong(s, r, w, "wrong", text);
    else if (model_value(model_owner(of, rank), op, of->ops[rank][op].len, want) != len ||
             memcmp(want, text, len) != 0)
        wrong(s, r, w, "mangled", text);
    else if (newest(of, w, kind, w->floor) > op)
        wrong(s, r, w, "stale", text);
    else
        return op;
    return -1;
}

void model_found(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind,
                 const char *text, size_t len)
{
    int op;

    if (!r->world->ops) {
        check_scale(s, r, w, text, len);
        return;
    }
    if (kind == OP_ATTR && r->world->ranks[w->act.a].node != r->node)
        wrong(s, r, w, "of another node", text);
    op = check_value(s, r, r->world, w, kind, text, len);
    if (op >= 0 && kind == OP_PUT && is_hidden(r->world, r->node, w->act.a, op))
        wrong(s, r, w, "seen before any fence", text);
}

void model_missed(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind)
{
    const struct world *of = r->world;

    if (of->ops && kind == OP_ATTR && of->ranks[w->act.a].node != r->node)
        return;
    if (!of->ops || newest(of, w, kind, w->floor) >= 0)
        wrong(s, r, w, "lost", "not found");
}

/* The root answers what it has. */
void model_found_of(struct sim *s, struct rank *r, const struct want *w, const char *text,
                    size_t len)
{
    const struct world *of = s->worlds[w->act.job];
    int op = check_value(s, r, of, w, OP_PUT, text, len);

    if (op >= 0 && is_hidden(of, 0, w->act.a, op))
        wrong(s, r, w, "seen before any fence", text);
}

void model_missed_of(struct sim *s, struct rank *r, const struct want *w)
{
    if (newest(s->worlds[w->act.job], w, OP_PUT, w->floor) >= 0)
        wrong(s, r, w, "lost", "not found");
}

/* --- keys that many put ------------------------------------------------ */

void model_shared_put(struct world *w, int which, int epoch)
{
    w->shared_put[which][epoch / 3] = true;
}

static void check_shared(struct sim *s, struct rank *r, const struct want *w, int writer,
                         int epoch)
{
    struct world *of = r->world;
    int third = w->act.b / 3, *won = &of->shared[w->act.a][third];

    while (third > 0 && !of->shared_put[w->act.a][third])
        third--;
    if (epoch > third * 3 && of->shared_put[w->act.a][epoch / 3])
        return;                          /* put while this get was under way (threads) */
    if (epoch != third * 3)
        violation(s, "rank %d: shared-%d of epoch %d, want %d", r->rank, w->act.a, epoch,
                  third * 3);
    else if (*won && *won != writer + 1)
        violation(s, "rank %d: shared-%d is rank %d's, others have rank %d's", r->rank,
                  w->act.a, writer, *won - 1);
    *won = writer + 1;
}

void model_shared_found(struct sim *s, struct rank *r, const struct want *w, const char *text,
                        size_t len)
{
    const char *dot = text ? strchr(text, '.') : NULL;
    const struct world *of = r->world;
    int writer = text ? atoi(text) - model_owner(of, 0) : 0;
    int epoch = dot ? atoi(dot + 1) - 1000 : -1;
    char want[VALUE_ROOM];
    bool put = false;

    for (int i = 0; i <= w->act.b / 3; i++)
        put = put || of->shared_put[w->act.a][i];
    if (text && (writer < 0 || writer >= of->nranks || epoch < 0 ||
                 model_shared_value(model_owner(of, writer), epoch, want) != len ||
                 memcmp(want, text, len)))
        violation(s, "rank %d: shared-%d is mangled: %.60s", r->rank, w->act.a, text);
    else if (of->world_failed)
        return;
    else if (!text && put)
        violation(s, "rank %d: shared-%d is lost", r->rank, w->act.a);
    else if (text)
        check_shared(s, r, w, writer, epoch);
}

/* --- collective calls -------------------------------------------------- */

/* Of all calls of all that this rank is in. */
static int open_calls(const struct rank *r)
{
    int n = 0;

    for (int i = 0; i < r->nwants; i++)
        n += r->wants[i].act.kind == A_COLL &&
             r->world->colls[r->wants[i].act.a].kind == C_WORLD;
    return n;
}

static struct instance *instance(const struct sim *s, const struct rank *r, int c)
{
    const struct world *w = r->world;
    bool node = w->colls[c].kind == C_NODE;
    struct instance *in = &w->instances[c * s->nnodes + (node ? r->node : 0)];

    if (in->in)
        return in;
    in->in = calloc((size_t)w->nranks, 1);
    in->floor = s->scale ? NULL : calloc((size_t)w->nranks, sizeof *in->floor);
    for (int i = 0; i < w->nranks; i++)
        in->members += w->colls[c].member[i] && (!node || w->ranks[i].node == r->node);
    return in;
}

void model_enter(struct sim *s, struct rank *r, int c)
{
    struct world *w = r->world;
    struct instance *in = instance(s, r, c);
    const int *mine;

    in->entered++;
    in->in[r->rank] = 1;
    s->totals->twice += open_calls(r) > 1;
    if (!w->floors)
        return;
    mine = floors_of(r);
    for (int i = 0; i < w->nranks; i++)
        in->floor[i] = mine[i] > in->floor[i] ? mine[i] : in->floor[i];
    in->floor[r->rank] = w->nops[r->rank];
}

/* A member that has ended, so that the call may fail; from the ring it takes its texts
 * with it when it hangs up. */
static bool misses(const struct rank *r, int c)
{
    const struct world *w = r->world;
    bool node = w->colls[c].kind == C_NODE;

    for (int i = 0; i < w->nranks; i++)
        if (w->colls[c].member[i] && (!node || w->ranks[i].node == r->node) &&
            (w->ranks[i].ended || w->ranks[i].given_up ||
             (w->ranks[i].hung && w->colls[c].kind == C_RING)))
            return true;
    return false;
}

/* A list of all ranks is the same as WORLD. */
static bool is_world(const struct world *w, int c)
{
    for (int i = 0; i < w->nranks; i++)
        if (!w->colls[c].member[i])
            return false;
    return w->colls[c].kind != C_NODE && w->colls[c].kind != C_RING;
}

static void failed(struct sim *s, struct rank *r, int c, struct instance *in)
{
    struct world *w = r->world;
    bool ring = w->colls[c].kind == C_RING;

    in->failed++;
    s->totals->failed_fences++;
    w->world_failed |= is_world(w, c);
    if (!misses(r, c))
        violation(s, "rank %d: fence %d fails, but misses nobody", r->rank, c);
    else if (!s->ft && !ring)
        violation(s, "rank %d: fence %d fails, but the job is not fault tolerant", r->rank, c);
    else if (in->passed && !ring)
        violation(s, "fence %d fails for rank %d, but %d others have passed it", c, r->rank,
                  in->passed);
}

/* Fault tolerant, once a call has failed for those who have ended, later ones of all, or of
 * all on a node, do without them; and without nobody else. */
static bool shrunk(const struct rank *r, int c, const struct instance *in)
{
    const struct world *w = r->world;
    bool node = w->colls[c].kind == C_NODE;

    if (!w->sim->ft || (!node && (!is_world(w, c) || !w->world_failed)))
        return false;
    for (int i = 0; i < w->nranks; i++)
        if (w->colls[c].member[i] && (!node || w->ranks[i].node == r->node) && !in->in[i] &&
            !w->ranks[i].ended && !w->ranks[i].given_up)
            return false;
    return true;
}

/* It may have entered a call that did without it: one of its threads while another was in
 * the one before, which failed. */
static bool may_be_out(const struct rank *r)
{
    return r->given_up || (r->ended && r->threads);
}

void model_passed(struct sim *s, struct rank *r, int c, bool ok)
{
    struct world *w = r->world;
    struct instance *in = instance(s, r, c);
    int *mine;

    if (!ok) {
        failed(s, r, c, in);
        return;
    }
    in->passed++;
    s->totals->fences++;
    if (in->entered < in->members && !shrunk(r, c, in))
        violation(s, "fence %d is released for rank %d with %d of %d in it", c, r->rank,
                  in->entered, in->members);
    else if (in->failed && w->colls[c].kind != C_RING)
        violation(s, "rank %d passes fence %d, which has failed for %d others", r->rank, c,
                  in->failed);
    if (!w->floors || w->colls[c].kind == C_RING)
        return;
    mine = floors_of(r);
    for (int i = 0; i < w->nranks; i++) {
        if (s->ft && w->world_failed && may_be_out(&w->ranks[i]))
            continue;
        mine[i] = in->floor[i] > mine[i] ? in->floor[i] : mine[i];
        if (w->colls[c].kind == C_WORLD && in->floor[i] > w->rooted[i])
            w->rooted[i] = in->floor[i];
    }
}
