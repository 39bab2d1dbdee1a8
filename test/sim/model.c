/* model.c - what is right.
 *
 * Every rank's puts, attributes and names are operations in the order of their making.
 * A rank must see at least those operations of another that its fences have brought
 * (its *floor*), and never one that was not made.  Floors go the way of data: what the
 * members of a fence knew when they entered, all of them know when they leave.  A
 * rank's own operations it sees at once; other nodes see no put that its server has not
 * sent with a fence. */
#include "test/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_init(struct sim *s)
{
    size_t n = (size_t)s->nranks;

    s->nops = calloc(n, sizeof *s->nops);
    s->ops = s->scale ? NULL : calloc(n, sizeof *s->ops);
    s->floors = s->scale ? NULL : calloc(n * n, sizeof *s->floors);
    s->shown = calloc(n, sizeof *s->shown);
    memset(s->shared, 0, sizeof s->shared);
    memset(s->shared_put, 0, sizeof s->shared_put);
    s->put_bytes = 0;
    s->world_failed = false;
}

void model_clear(struct sim *s)
{
    for (int i = 0; i < s->ncolls * s->nnodes; i++) {
        free(s->instances[i].in);
        free(s->instances[i].floor);
    }
    free(s->instances);
    free(s->nops);
    free(s->ops);
    free(s->floors);
    free(s->shown);
    s->instances = NULL;
    s->nops = s->floors = s->shown = NULL;
    s->ops = NULL;
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

size_t model_shared_value(int writer, int epoch, char *out)
{
    return model_value(writer, 1000 + epoch, 20 + writer * 7 % 30, out);
}

bool model_ring_value(const char *text, int rank, char side, int c)
{
    char want[40];

    snprintf(want, sizeof want, "%c%d;%d", side, rank, c);
    return !strcmp(text, want);
}

/* --- operations -------------------------------------------------------- */

int model_op(struct sim *s, struct rank *r, struct op op)
{
    if (!s->ops)
        return s->nops[r->rank]++;
    if (s->nops[r->rank] == OPS) {
        violation(s, "rank %d does more than the model can hold", r->rank);
        return 0;
    }
    s->ops[r->rank][s->nops[r->rank]] = op;
    return s->nops[r->rank]++;
}

static int *floors_of(const struct sim *s, int rank)
{
    return &s->floors[(size_t)rank * (size_t)s->nranks];
}

int model_floor(const struct sim *s, const struct rank *r, int owner)
{
    if (!s->floors)
        return 0;
    return owner == r->rank ? s->nops[owner] : floors_of(s, r->rank)[owner];
}

void model_shown(struct sim *s, const struct node *n)
{
    for (int i = 0; i < n->nlocal; i++)
        s->shown[n->local[i]] = s->nops[n->local[i]];
}

/* The newest operation below `end` on what w asks for; -1: none. */
static int newest(const struct sim *s, const struct want *w, enum op_kind kind, int end)
{
    for (int i = end - 1; i >= 0; i--)
        if (s->ops[w->act.a][i].kind == kind && s->ops[w->act.a][i].key == w->act.b)
            return i;
    return -1;
}

/* Of another node, and its server has sent it with no fence.  The root decides what
 * exists: what its own ranks put does so at once. */
static bool is_hidden(const struct sim *s, const struct rank *r, int owner, int op)
{
    int node = s->ranks[owner].node;

    return node != 0 && node != r->node && op >= s->shown[owner];
}

static void wrong(struct sim *s, struct rank *r, const struct want *w, const char *how,
                  const char *text)
{
    violation(s, "rank %d: %s %d-%d is %s: %.60s", r->rank,
              w->act.kind == A_GET ? "key" : w->act.kind == A_LOOKUP ? "name" : "attribute",
              w->act.a, w->act.b, how, text);
}

static void check_scale(struct sim *s, struct rank *r, const struct want *w, const char *text,
                        size_t len)
{
    char want[VALUE_ROOM];

    if (model_value(w->act.a, 0, 64, want) != len || memcmp(want, text, len) != 0)
        wrong(s, r, w, "not what was put", text);
}

void model_found(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind,
                 const char *text, size_t len)
{
    char want[VALUE_ROOM];
    const char *dot = strchr(text, '.');
    int owner = atoi(text), op = dot ? atoi(dot + 1) : -1;

    if (!s->ops) {
        check_scale(s, r, w, text, len);
        return;
    }
    if (kind == OP_ATTR && s->ranks[w->act.a].node != r->node)
        wrong(s, r, w, "of another node", text);
    else if (owner != w->act.a || op < 0 || op >= s->nops[owner] ||
             s->ops[owner][op].kind != kind || s->ops[owner][op].key != w->act.b ||
             s->ops[owner][op].unpublish)
        wrong(s, r, w, "wrong", text);
    else if (model_value(owner, op, s->ops[owner][op].len, want) != len ||
             memcmp(want, text, len) != 0)
        wrong(s, r, w, "mangled", text);
    else if (newest(s, w, kind, w->floor) > op)
        wrong(s, r, w, "stale", text);
    else if (kind == OP_PUT && is_hidden(s, r, owner, op))
        wrong(s, r, w, "seen before any fence", text);
}

void model_missed(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind)
{
    int last = s->ops ? newest(s, w, kind, w->floor) : 0;

    if (s->ops && kind == OP_ATTR && s->ranks[w->act.a].node != r->node)
        return;
    if (last < 0 || (s->ops && s->ops[w->act.a][last].unpublish))
        return;
    for (int i = last + 1; kind == OP_NAME && i < s->nops[w->act.a]; i++)
        if (s->ops[w->act.a][i].kind == OP_NAME && s->ops[w->act.a][i].unpublish)
            return;
    wrong(s, r, w, "lost", "not found");
}

/* --- keys that many put ------------------------------------------------ */

void model_shared_put(struct sim *s, int which, int epoch)
{
    s->shared_put[which][epoch / 3] = true;
}

static void check_shared(struct sim *s, struct rank *r, const struct want *w, int writer,
                         int epoch)
{
    int third = w->act.b / 3, *won = &s->shared[w->act.a][third];

    while (third > 0 && !s->shared_put[w->act.a][third])
        third--;
    if (epoch > third * 3 && s->shared_put[w->act.a][epoch / 3])
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
    int writer = text ? atoi(text) : 0, epoch = dot ? atoi(dot + 1) - 1000 : -1;
    char want[VALUE_ROOM];
    bool put = false;

    for (int i = 0; i <= w->act.b / 3; i++)
        put = put || s->shared_put[w->act.a][i];
    if (text && (writer >= s->nranks || epoch < 0 ||
                 model_shared_value(writer, epoch, want) != len || memcmp(want, text, len)))
        violation(s, "rank %d: shared-%d is mangled: %.60s", r->rank, w->act.a, text);
    else if (s->world_failed)
        return;
    else if (!text && put)
        violation(s, "rank %d: shared-%d is lost", r->rank, w->act.a);
    else if (text)
        check_shared(s, r, w, writer, epoch);
}

/* --- collective calls -------------------------------------------------- */

/* Of all calls of all that this rank is in. */
static int open_calls(const struct sim *s, const struct rank *r)
{
    int n = 0;

    for (int i = 0; i < r->nwants; i++)
        n += r->wants[i].act.kind == A_COLL && s->colls[r->wants[i].act.a].kind == C_WORLD;
    return n;
}

static struct instance *instance(struct sim *s, const struct rank *r, int c)
{
    bool node = s->colls[c].kind == C_NODE;
    struct instance *in = &s->instances[c * s->nnodes + (node ? r->node : 0)];

    if (in->in)
        return in;
    in->in = calloc((size_t)s->nranks, 1);
    in->floor = s->scale ? NULL : calloc((size_t)s->nranks, sizeof *in->floor);
    for (int i = 0; i < s->nranks; i++)
        in->members += s->colls[c].member[i] && (!node || s->ranks[i].node == r->node);
    return in;
}

void model_enter(struct sim *s, struct rank *r, int c)
{
    struct instance *in = instance(s, r, c);
    const int *mine;

    in->entered++;
    in->in[r->rank] = 1;
    s->totals->twice += open_calls(s, r) > 1;
    if (!s->floors)
        return;
    mine = floors_of(s, r->rank);
    for (int i = 0; i < s->nranks; i++)
        in->floor[i] = mine[i] > in->floor[i] ? mine[i] : in->floor[i];
    in->floor[r->rank] = s->nops[r->rank];
}

/* A member that has ended, so that the call may fail; from the ring it takes its texts
 * with it when it hangs up. */
static bool misses(const struct sim *s, const struct rank *r, int c)
{
    bool node = s->colls[c].kind == C_NODE;

    for (int i = 0; i < s->nranks; i++)
        if (s->colls[c].member[i] && (!node || s->ranks[i].node == r->node) &&
            (s->ranks[i].ended || s->ranks[i].given_up ||
             (s->ranks[i].hung && s->colls[c].kind == C_RING)))
            return true;
    return false;
}

/* A list of all ranks is the same as WORLD. */
static bool is_world(const struct sim *s, int c)
{
    for (int i = 0; i < s->nranks; i++)
        if (!s->colls[c].member[i])
            return false;
    return s->colls[c].kind != C_NODE && s->colls[c].kind != C_RING;
}

static void failed(struct sim *s, struct rank *r, int c, struct instance *in)
{
    bool ring = s->colls[c].kind == C_RING;

    in->failed++;
    s->totals->failed_fences++;
    s->world_failed |= is_world(s, c);
    if (!misses(s, r, c))
        violation(s, "rank %d: fence %d fails, but misses nobody", r->rank, c);
    else if (!s->ft && !ring)
        violation(s, "rank %d: fence %d fails, but the job is not fault tolerant", r->rank, c);
    else if (in->passed && !ring)
        violation(s, "fence %d fails for rank %d, but %d others have passed it", c, r->rank,
                  in->passed);
}

/* Fault tolerant, once a call has failed for those who have ended, later ones of all, or of
 * all on a node, do without them; and without nobody else. */
static bool shrunk(const struct sim *s, const struct rank *r, int c, const struct instance *in)
{
    bool node = s->colls[c].kind == C_NODE;

    if (!s->ft || (!node && (!is_world(s, c) || !s->world_failed)))
        return false;
    for (int i = 0; i < s->nranks; i++)
        if (s->colls[c].member[i] && (!node || s->ranks[i].node == r->node) && !in->in[i] &&
            !s->ranks[i].ended && !s->ranks[i].given_up)
            return false;
    return true;
}

void model_passed(struct sim *s, struct rank *r, int c, bool ok)
{
    struct instance *in = instance(s, r, c);
    int *mine;

    if (!ok) {
        failed(s, r, c, in);
        return;
    }
    in->passed++;
    s->totals->fences++;
    if (in->entered < in->members && !shrunk(s, r, c, in))
        violation(s, "fence %d is released for rank %d with %d of %d in it", c, r->rank,
                  in->entered, in->members);
    else if (in->failed && s->colls[c].kind != C_RING)
        violation(s, "rank %d passes fence %d, which has failed for %d others", r->rank, c,
                  in->failed);
    if (!s->floors || s->colls[c].kind == C_RING)
        return;
    mine = floors_of(s, r->rank);
    for (int i = 0; i < s->nranks; i++)
        if (!(s->ft && s->world_failed && s->ranks[i].given_up))  /* it may have entered a
                                                                     call that did without it */
            mine[i] = in->floor[i] > mine[i] ? in->floor[i] : mine[i];
}
