/* client_spawn.c - the spawn command, one message with repeated keys.
 *
 * Order and keys are those that Slurm's and MPICH's clients send and Slurm's
 * server requires: ncmds, preputcount, ppkeyN ppvalN ..., then for each command
 * subcmd, maxprocs, argc, argvN ..., infokeycount, infokeyN infovalN ... */
#include "pmi2/client.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message borrows its keys: numbered ones and numbers live here. */
struct labels {
    char (*slot)[24];        /* owned */
    size_t used, max;
};

static int argc_of(const struct client_spawn *s, int i)
{
    int n = 0;

    if (!s->argvs || !s->argvs[i])
        return 0;
    if (s->argcs)
        return s->argcs[i];
    while (s->argvs[i][n] && n < LIMIT_PAIRS)
        n++;
    return n;
}

static int ninfo_of(const struct client_spawn *s, int i)
{
    return s->ninfos && s->infos && s->infos[i] ? s->ninfos[i] : 0;
}

static int check_preput(const struct client *c, const struct client_spawn *s,
                        struct err *e)
{
    if (s->npreput < 0 || (s->npreput && !s->preput))
        return err_set(e, ERR_NUM_ARGS, "%d preput pairs", s->npreput);
    for (int i = 0; i < s->npreput; i++)
        if (check_key(s->preput[i].key, e) < 0 || check_value(c, s->preput[i].val, e) < 0)
            return err_context(e, "preput %d", i);
    return 0;
}

static int check_command(const struct client_spawn *s, int i, struct err *e)
{
    int argc = argc_of(s, i), ninfo = ninfo_of(s, i);

    if (!s->cmds[i] || !*s->cmds[i])
        return err_set(e, ERR_ARGS, "command %d has no name", i);
    if (s->maxprocs[i] < 0 || argc < 0 || ninfo < 0)
        return err_set(e, ERR_NUM_ARGS, "command %d: a count is negative", i);
    for (int j = 0; j < argc; j++)
        if (!s->argvs[i][j])
            return err_set(e, ERR_ARGS, "command %d: argument %d is NULL", i, j);
    for (int j = 0; j < ninfo; j++)
        if (!s->infos[i][j].key || !s->infos[i][j].val)
            return err_set(e, ERR_ARGS, "command %d: info %d is NULL", i, j);
    return 0;
}

/* Everything in s: the number of labels it needs and of processes it asks for. */
static int check_spawn(const struct client *c, const struct client_spawn *s,
                       size_t *labels, int *procs, struct err *e)
{
    long long want = 2 * (long long)s->npreput + 2, total = 0;

    if (s->ncmds < 1 || !s->cmds || !s->maxprocs)
        return err_set(e, ERR_NUM_ARGS, "%d commands", s->ncmds);
    if (check_preput(c, s, e) < 0)
        return -1;
    for (int i = 0; i < s->ncmds; i++) {
        if (check_command(s, i, e) < 0)
            return -1;
        want += 3 + argc_of(s, i) + 2LL * ninfo_of(s, i);
        total += s->maxprocs[i];
    }
    if (want > LIMIT_PAIRS || total > INT_MAX)
        return err_set(e, ERR_NUM_ARGS, "%lld arguments and infos, %lld processes", want,
                       total);
    *labels = (size_t)want;
    *procs = (int)total;
    return 0;
}

static char *next_slot(struct labels *l)
{
    return l->slot[l->used++];           /* check_spawn counted them */
}

/* key<n>=val */
static void add_numbered(struct msg *m, struct labels *l, const char *key, int n,
                         const char *val)
{
    char *slot = next_slot(l);

    snprintf(slot, sizeof l->slot[0], "%s%d", key, n);
    msg_str(m, slot, val);
}

static void add_number(struct msg *m, struct labels *l, const char *key, int n)
{
    char *slot = next_slot(l);

    snprintf(slot, sizeof l->slot[0], "%d", n);
    msg_str(m, key, slot);
}

static void add_command(struct msg *m, struct labels *l, const struct client_spawn *s,
                        int i)
{
    int argc = argc_of(s, i), ninfo = ninfo_of(s, i);

    msg_str(m, "subcmd", s->cmds[i]);
    add_number(m, l, "maxprocs", s->maxprocs[i]);
    add_number(m, l, "argc", argc);
    for (int j = 0; j < argc; j++)
        add_numbered(m, l, "argv", j, s->argvs[i][j]);
    add_number(m, l, "infokeycount", ninfo);
    for (int j = 0; j < ninfo; j++) {
        add_numbered(m, l, "infokey", j, s->infos[i][j].key);
        add_numbered(m, l, "infoval", j, s->infos[i][j].val);
    }
}

static void add_spawn(struct msg *m, struct labels *l, const struct client_spawn *s)
{
    add_number(m, l, "ncmds", s->ncmds);
    add_number(m, l, "preputcount", s->npreput);
    for (int i = 0; i < s->npreput; i++) {
        add_numbered(m, l, "ppkey", i, s->preput[i].key);
        add_numbered(m, l, "ppval", i, s->preput[i].val);
    }
    for (int i = 0; i < s->ncmds; i++)
        add_command(m, l, s, i);
}

/* The comma list of error codes into errors; what it does not say is def. */
static void take_errors(const struct reply *r, int *errors, int procs, int def)
{
    const char *s = r ? msg_get(&r->m, "errcodes") : NULL;

    for (int i = 0; i < procs; i++) {
        char *end;
        long v = s ? strtol(s, &end, 10) : 0;
        bool said = s && end != s && v >= INT_MIN && v <= INT_MAX;

        errors[i] = said ? (int)v : def;
        s = said && *end == ',' ? end + 1 : NULL;
    }
}

/* Slurm's server says "refused" by leaving the job id out. */
static int take_job(const struct call *k, struct buf *jobid, struct err *e)
{
    const struct pair *p = msg_find(&k->reply->m, "jobid");

    if (!p)
        return err_set(e, ERR_OTHER, "spawn: the reply has no job id");
    buf_add(jobid, p->val, p->len);
    return jobid->failed ? err_set(e, ERR_NOMEM, "no memory for the job id") : 0;
}

static int run(struct client *c, const struct client_spawn *s, struct labels *l,
               struct buf *jobid, int *errors, int procs, struct err *e)
{
    struct call k;
    int rc;

    call_start(&k, c, "spawn");
    add_spawn(&k.req, l, s);
    rc = call_run(&k, e);
    if (rc == 0)
        rc = take_job(&k, jobid, e);
    if (errors)
        take_errors(k.reply, errors, procs, rc < 0 ? (int)e->code : 0);
    call_end(&k);
    return rc;
}

int client_spawn(struct client *c, const struct client_spawn *s, struct buf *jobid,
                 int *errors, struct err *e)
{
    struct labels l = { NULL, 0, 0 };
    int procs = 0, rc;

    if (check_spawn(c, s, &l.max, &procs, e) < 0)
        return err_context(e, "spawn");
    if (single_join(c, e) < 0)
        return err_context(e, "spawn");
    l.slot = calloc(l.max, sizeof *l.slot);
    if (!l.slot)
        return err_set(e, ERR_NOMEM, "no memory for a spawn");
    rc = run(c, s, &l, jobid, errors, procs, e);
    free(l.slot);
    return rc;
}
