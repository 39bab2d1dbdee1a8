/* allocation.c - see allocation.h */
#include "mpiexec_lite/allocation.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/flux.h"
#include "mpiexec_lite/opts_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))
#define BLANKS " \t\r\n"

/* --- slurm ---------------------------------------------------------------------- */

/* A positive number off *text; 0: there is none, or it is too large. */
static int take_count(const char **text)
{
    char *end;
    long n = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : 0;

    if (n < 1 || n > PLAN_SLOTS_MAX)
        return 0;
    *text = end;
    return (int)n;
}

/* "2(x3)": two each on three nodes.  False: it is no such thing. */
static bool take_tasks(const char **text, int *tasks, int *nodes)
{
    *nodes = 1;
    if (!(*tasks = take_count(text)))
        return false;
    if (strncmp(*text, "(x", 2) == 0) {
        *text += 2;
        if (!(*nodes = take_count(text)) || *(*text)++ != ')')
            return false;
    }
    if (**text == ',')
        return *++*text != '\0';
    return **text == '\0';
}

/* What a variable like SLURM_TASKS_PER_NODE says of the nodes from number `from` on.  1;
 * 0: it is not of so many nodes; -1 and e. */
static int set_tasks(struct hosts *h, size_t from, const char *name, const char *text,
                     struct err *e)
{
    const char *rest = text;
    size_t node = from, all = h->plan->nhosts;
    int tasks, nodes = 0;

    while (*rest && !nodes) {
        if (!take_tasks(&rest, &tasks, &nodes))
            return err_set(e, ERR_INVALID_VAL, "%s: '%.60s' is not COUNT or COUNT(xNODES), with "
                           "commas", name, text);
        for (; nodes && node < all; nodes--)
            h->plan->hosts[node++].slots = tasks;
    }
    return !nodes && node == all;
}

/* Within a step (srun, or a shell of LaunchParameters=use_interactive_step) the tasks are
 * those of the step, on fewer nodes: processors are the job's everywhere. */
static int set_slots(struct hosts *h, size_t from, char *const *envp, struct err *e)
{
    static const char *const names[] = { "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE" };
    int rc = 1;

    for (size_t i = 0; i < COUNT(names); i++) {
        const char *text = env_get(envp, names[i]);

        rc = text ? set_tasks(h, from, names[i], text, e) : rc;
        if (text && rc != 0)
            break;
    }
    if (rc)
        return rc < 0 ? -1 : 0;
    return err_set(e, ERR_INVALID_VAL, "SLURM_TASKS_PER_NODE is not of %zu nodes, as "
                   "SLURM_JOB_NODELIST is", h->plan->nhosts - from);
}

static int check_nodes(size_t n, char *const *envp, struct err *e)
{
    const char *name = "SLURM_JOB_NUM_NODES", *text = env_get(envp, name);

    if (!text)
        text = env_get(envp, name = "SLURM_NNODES");
    if (!text || strtoul(text, NULL, 10) == n)
        return 0;
    return err_set(e, ERR_INVALID_VAL, "names %zu nodes, but %s is %.20s", n, name, text);
}

static int read_slurm(struct hosts *h, const char *text, const char *name, char *const *envp,
                      struct err *e)
{
    size_t from = h->plan->nhosts;

    if (hosts_add_list(h, text, e) < 0 || check_nodes(h->plan->nhosts - from, envp, e) < 0)
        return err_context(e, "%s", name);
    return set_slots(h, from, envp, e);
}

/* --- files and lists of the others ---------------------------------------------- */

/* A host on each line, again for each further slot. */
static int read_lines(struct hosts *h, const char *text, const char *name, char *const *envp,
                      struct err *e)
{
    (void)envp;
    return hosts_add_text(h, text, name, e);
}

static int add_words(struct hosts *h, const char *host, const char *slots, struct err *e)
{
    struct mention x = { 0 };
    const char *rest = slots ? slots : "";

    x.slots = take_count(&rest);
    if (!x.slots || *rest)
        return err_set(e, ERR_INVALID_VAL, "'%.60s %.40s' is not a host and its slots", host,
                       slots ? slots : "");
    return hosts_add(h, host, &x, e);
}

/* "HOST SLOTS HOST SLOTS ..." */
static int add_pairs(struct hosts *h, char *text, struct err *e)
{
    char *rest, *host = strtok_r(text, BLANKS, &rest);
    int rc = 0;

    for (; host && rc == 0; host = strtok_r(NULL, BLANKS, &rest))
        rc = add_words(h, host, strtok_r(NULL, BLANKS, &rest), e);
    return rc;
}

/* Lines "HOST SLOTS QUEUE PROCESSORS", of which the first two words count. */
static int add_pe_lines(struct hosts *h, char *text, struct err *e)
{
    char *line;
    int rc = 0;

    while (rc == 0 && (line = strsep(&text, "\n"))) {
        char *rest, *host = strtok_r(line, BLANKS, &rest);

        if (host)
            rc = add_words(h, host, strtok_r(NULL, BLANKS, &rest), e);
    }
    return rc;
}

static int read_copy(struct hosts *h, const char *text, const char *name,
                     int add(struct hosts *, char *, struct err *), struct err *e)
{
    size_t before = h->named;
    char *copy = strdup(text);
    int rc = copy ? add(h, copy, e) : err_set(e, ERR_NOMEM, "no memory");

    free(copy);
    if (rc == 0 && h->named == before)
        rc = err_set(e, ERR_INVALID_VAL, "names no host");
    return rc < 0 ? err_context(e, "%.100s", name) : 0;
}

static int read_pairs(struct hosts *h, const char *text, const char *name, char *const *envp,
                      struct err *e)
{
    (void)envp;
    return read_copy(h, text, name, add_pairs, e);
}

static int read_pe_lines(struct hosts *h, const char *text, const char *name,
                         char *const *envp, struct err *e)
{
    (void)envp;
    return read_copy(h, text, name, add_pe_lines, e);
}

/* --- flux ----------------------------------------------------------------------- */

/* A job of "flux run" is one of the instance around it. */
static int read_flux_job(struct hosts *h, const char *id, const char *name, char *const *envp,
                         struct err *e)
{
    char *const words[] = { (char *)"flux", (char *)"job", (char *)"info", (char *)id, (char *)"R",
                            NULL };

    (void)name;
    return flux_ask(h, words, envp, e);
}

/* "flux alloc", "flux batch" and "flux start" make an instance of their own. */
static int read_flux(struct hosts *h, const char *uri, const char *name, char *const *envp,
                     struct err *e)
{
    char *const words[] = { (char *)"flux", (char *)"kvs", (char *)"get", (char *)"resource.R",
                            NULL };

    (void)uri;
    (void)name;
    return flux_ask(h, words, envp, e);
}

/* --- kinds ---------------------------------------------------------------------- */

static const struct allocation_kind kinds[] = {
    { .name = "slurm", .sources = { { "SLURM_JOB_NODELIST", false, read_slurm },
                                    { "SLURM_NODELIST", false, read_slurm } },
      .launches = true },
    { .name = "pbs", .sources = { { "PBS_NODEFILE", true, read_lines } } },
    { .name = "lsf", .sources = { { "LSB_MCPU_HOSTS", false, read_pairs },
                                  { "LSB_DJOB_HOSTFILE", true, read_lines } } },
    { .name = "sge", .sources = { { "PE_HOSTFILE", true, read_pe_lines } } },
    { .name = "cobalt", .sources = { { "COBALT_NODEFILE", true, read_lines } } },
    { .name = "ll", .sources = { { "LOADL_HOSTFILE", true, read_lines } } },
    { .name = "flux", .sources = { { "FLUX_JOB_ID", false, read_flux_job },
                                   { "FLUX_URI", false, read_flux } } },
};

const struct allocation_kind *allocation_find(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcasecmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static const struct allocation_source *source_of(const struct allocation_kind *k,
                                                 char *const *envp)
{
    for (size_t i = 0; i < COUNT(k->sources); i++) {
        const char *value = k->sources[i].variable ? env_get(envp, k->sources[i].variable) : NULL;

        if (value && *value)
            return &k->sources[i];
    }
    return NULL;
}

const struct allocation_kind *allocation_detect(char *const *envp)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (source_of(&kinds[i], envp))
            return &kinds[i];
    return NULL;
}

int allocation_read(const struct allocation_kind *k, char *const *envp, struct hosts *h,
                    struct err *e)
{
    const struct allocation_source *s = source_of(k, envp);
    struct buf text = BUF_INIT;
    const char *value;
    int rc;

    if (!s)
        return err_set(e, ERR_INVALID_ARG, "this is no job of %s: there is no variable %s", k->name,
                       k->sources[0].variable);
    value = env_get(envp, s->variable);
    if (!s->file)
        return s->read(h, value, s->variable, envp, e);
    rc = opts_file_read(value, &text, e);
    if (rc == 0)
        rc = s->read(h, buf_bytes(&text), value, envp, e);
    buf_clear(&text);
    return rc < 0 ? err_context(e, "%s", s->variable) : 0;
}

void allocation_names(struct buf *out)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        buf_printf(out, i ? ", %s" : "%s", kinds[i].name);
}
