/* root_card.c - what the user is told at the end of a run that has failed (card.h): of the
 * first job that has, and that nothing is left of any. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/card.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { BLAMES_MAX = 16, NAMES_MAX = 8 };     /* of other hosts, in a job; hosts that are named */

struct far_blame {                       /* what another host knows of a rank to blame */
    int        rank;
    char      *memory;                   /* owned, as is the next */
    struct buf words;
};

/* --- what other hosts know --------------------------------------------- */

int root_card_blamed(struct root_job *j, int rank, const char *memory, const char *words,
                     size_t len, struct err *e)
{
    struct far_blame *b;

    if (j->nblames == BLAMES_MAX)
        return 0;
    if (!j->blames)
        j->blames = calloc(BLAMES_MAX, sizeof *j->blames);
    b = j->blames ? &j->blames[j->nblames] : NULL;
    if (!b || !(b->memory = strdup(memory)))
        return err_set(e, ERR_NOMEM, "no memory for the last words of a rank");
    b->rank = rank;
    buf_add(&b->words, words, len);
    j->nblames++;
    return 0;
}

void root_card_clear(struct root_job *j)
{
    for (int i = 0; i < j->nblames; i++) {
        free(j->blames[i].memory);
        buf_clear(&j->blames[i].words);
    }
    free(j->blames);
}

/* --- a job ------------------------------------------------------------- */

/* What is known of its culprit, here or there. */
static const char *known(const struct root_job *j, struct buf *words)
{
    int rank = j->launch.culprit;
    const struct blame *here = crew_blamed(&j->crew, rank);

    for (int i = 0; i < j->nblames; i++)
        if (j->blames[i].rank == rank) {
            buf_add(words, buf_bytes(&j->blames[i].words), j->blames[i].words.len);
            return j->blames[i].memory;
        }
    if (j->crew.output)
        output_last_words(j->crew.output, rank, words);
    return here ? here->memory : "";
}

/* One of several ranks has failed, or there is more to say of one than what it has printed
 * itself. */
static bool is_worth_it(const struct root_job *j, const char *memory)
{
    const struct launch *l = &j->launch;

    if (j->root->plan->card == CARD_ALWAYS)
        return l->culprit >= 0;
    return l->culprit_failed && (l->size > 1 || *memory);
}

void root_card_job(struct root_job *j)
{
    struct root *r = j->root;
    struct buf words = BUF_INIT;
    const char *memory;

    if (r->plan->banner && !r->banner.len)
        card_banner(&j->launch, &r->banner);
    if (!launch_outcome(&j->launch) || r->plan->card == CARD_NEVER || r->card.len ||
        j->refused || j->launch.status == 128 + SIGPIPE)
        return;
    memory = known(j, &words);
    if (is_worth_it(j, memory))
        card_job(&j->launch, j->launch.culprit_at - j->began, memory,
                 words.len ? buf_bytes(&words) : "", &r->card);
    r->receipt = r->receipt || r->card.len || (j->launch.ending && j->launch.size > 1);
    buf_clear(&words);
}

/* --- the run ----------------------------------------------------------- */

void root_card_counted(struct root *r, int position)
{
    for (int i = 1; i < r->servers; i++)
        if (i == position || tree_next(&r->tree, position, i) >= 0)
            r->at[i].counted = true;
}

/* Hosts on which something was started and that have not said what is left there. */
static int name_lost(struct root *r, struct buf *names)
{
    int n = 0;

    for (int i = 1; i < r->servers; i++) {
        const struct position *at = &r->at[i];

        if (at->state == AT_AWAY || (at->counted && !at->lost))
            continue;
        if (n++ < NAMES_MAX)
            buf_printf(names, "%s%s", n > 1 ? ", " : "",
                       r->plan->hosts[tree_node(r->plan, i)].name);
    }
    if (n > NAMES_MAX)
        buf_printf(names, " and %d more", n - NAMES_MAX);
    return n;
}

static int count_up(const struct root *r)
{
    int n = 1;                           /* this one */

    for (int i = 1; i < r->servers; i++)
        n += r->at[i].state != AT_AWAY;
    return n;
}

/* A block of lines, each as places_line wants it. */
static void show(struct root *r, bool errors, const struct buf *text)
{
    const char *at = buf_bytes(text), *end;

    for (; (end = strchr(at, '\n')); at = end + 1)
        places_line(&r->places, errors, at, (size_t)(end - at));
}

void root_card_show(struct root *r, int left)
{
    struct buf lost = BUF_INIT;
    int n;

    if (r->banner.len && !r->banner.failed)
        show(r, false, &r->banner);
    if (!r->receipt)
        return;
    n = name_lost(r, &lost);
    card_receipt(left + r->left, count_up(r) - n, lost.len ? buf_bytes(&lost) : "", &r->card);
    if (!r->card.failed && !lost.failed)
        show(r, true, &r->card);
    buf_clear(&lost);
}
