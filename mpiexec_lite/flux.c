/* flux.c - see flux.h */
#include "mpiexec_lite/flux.h"

#include "mpiexec_lite/now.h"
#include "wire/buf.h"
#include "wire/rank_list.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAYS_MAX = 16 << 20, RANKS_MAX = 1 << 20 };

/* --- the set -------------------------------------------------------------------- */

struct cores {                           /* of the brokers, in order of their ranks */
    struct one { int rank, n; } *v;      /* owned */
    size_t n, next;                      /* next: whose host is named next */
};

static int no_set(struct err *e, const char *why)
{
    return err_set(e, ERR_INVALID_VAL, "what flux has said is no resource set: %s", why);
}

/* How many "0-3,7" has; -1: it is none. */
static long count_ids(const char *ids)
{
    int first, last, got;
    long n = 0;

    while ((got = rank_list_next(&ids, &first, &last)) > 0)
        n += last - first + 1;
    return got < 0 ? -1 : n;
}

static int add_ranks(struct cores *c, const char *ranks, int n, struct err *e)
{
    long more = count_ids(ranks);
    int first, last;
    struct one *v;

    if (more < 1 || more > RANKS_MAX - (long)c->n)
        return no_set(e, "ranks");
    v = realloc(c->v, (c->n + (size_t)more) * sizeof *v);
    if (!v)
        return err_set(e, ERR_NOMEM, "no memory");
    c->v = v;
    while (rank_list_next(&ranks, &first, &last) > 0)
        for (int r = first; r <= last; r++)
            c->v[c->n++] = (struct one){ r, n };
    return 0;
}

static int by_rank(const void *a, const void *b)
{
    const struct one *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int read_cores(struct cores *c, const json_t *lite, struct err *e)
{
    int rc = json_array_size(lite) ? 0 : no_set(e, "no R_lite");

    for (size_t i = 0; rc == 0 && i < json_array_size(lite); i++) {
        const json_t *one = json_array_get(lite, i);
        const char *ranks = json_string_value(json_object_get(one, "rank"));
        const char *cores = json_string_value(json_object_get(json_object_get(one, "children"),
                                                              "core"));
        long n = cores ? count_ids(cores) : -1;

        if (!ranks || n < 1 || n > PLAN_SLOTS_MAX)
            rc = no_set(e, ranks ? "cores" : "ranks");
        else
            rc = add_ranks(c, ranks, (int)n, e);
    }
    if (rc == 0)
        qsort(c->v, c->n, sizeof *c->v, by_rank);
    return rc;
}

/* The hosts that one list names, each of the next rank: a list of hosts alone would forget
 * that one comes again. */
static int add_named(struct hosts *h, const char *list, struct cores *c, struct err *e)
{
    struct hosts one;
    struct plan scratch;
    int rc;

    plan_init(&scratch);
    hosts_init(&one, &scratch);
    rc = hosts_add_list(&one, list, e);
    for (size_t i = 0; rc == 0 && i < scratch.nhosts; i++) {
        struct mention x = { .slots = c->next < c->n ? c->v[c->next].n : 0 };

        rc = c->next++ < c->n ? hosts_add(h, scratch.hosts[i].name, &x, e)
                              : no_set(e, "more hosts than ranks");
    }
    hosts_clear(&one);
    plan_clear(&scratch);
    return rc;
}

/* "node[1-2],login": item after item. */
static int add_list(struct hosts *h, const char *list, struct cores *c, struct err *e)
{
    int rc = 0;

    while (rc == 0 && *list) {
        size_t len = strcspn(list, ",[");
        char *item;

        if (list[len] == '[')
            len += strcspn(list + len, "]");
        len += strcspn(list + len, ",");
        item = strndup(list, len);
        rc = item ? add_named(h, item, c, e) : err_set(e, ERR_NOMEM, "no memory");
        free(item);
        list += len + (list[len] == ',');
    }
    return rc;
}

int flux_add(struct hosts *h, const char *text, struct err *e)
{
    json_t *set = json_loads(text, 0, NULL);
    const json_t *run = json_object_get(set, "execution"), *list = json_object_get(run, "nodelist");
    struct cores c = { .n = 0 };
    int rc = !set ? no_set(e, "no JSON") : !json_array_size(list) ? no_set(e, "no nodelist") :
             read_cores(&c, json_object_get(run, "R_lite"), e);

    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        const char *names = json_string_value(json_array_get(list, i));

        rc = names ? add_list(h, names, &c, e) : no_set(e, "nodelist");
    }
    if (rc == 0 && c.next < c.n)
        rc = no_set(e, "more ranks than hosts");
    free(c.v);
    json_decref(set);
    return rc;
}

/* --- asking --------------------------------------------------------------------- */

/* All that comes from fd until it ends.  0, or -1 and e. */
static int read_all(int fd, struct buf *text, struct err *e)
{
    double until = now_seconds() + FLUX_PATIENCE;
    ssize_t n = 1;

    while (n > 0) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        double left = until - now_seconds();
        char *room = buf_room(text, 65536);

        if (!room)
            return err_set(e, ERR_NOMEM, "no memory");
        if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) == 0)
            return err_set(e, ERR_OTHER, "no answer within %d s", FLUX_PATIENCE);
        n = read(fd, room, 65536);
        if (n > 0)
            buf_commit(text, (size_t)n);
        if (n < 0 && errno == EINTR)
            n = 1;
        if (text->len > SAYS_MAX)
            return err_set(e, ERR_LENGTH, "its answer does not end");
    }
    return 0;
}

/* Its stderr is ours: it says itself why it fails. */
static int spawn(char *const *words, char *const *envp, int out, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    int rc;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    rc = posix_spawnp(pid, words[0], &files, NULL, words, envp);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int run(char *const *words, char *const *envp, struct buf *text, struct err *e)
{
    int fd[2], status = 0, rc;
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return err_set(e, ERR_OTHER, "pipe: %s", strerror(errno));
    rc = spawn(words, envp, fd[1], &pid);
    close(fd[1]);
    if (rc) {
        close(fd[0]);
        return err_set(e, ERR_OTHER, "%s", strerror(rc));
    }
    rc = read_all(fd[0], text, e);
    close(fd[0]);
    if (rc < 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc == 0 && status)
        rc = err_set(e, ERR_OTHER, "it has failed (%d)",
                     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return rc;
}

int flux_ask(struct hosts *h, char *const *words, char *const *envp, struct err *e)
{
    struct buf text = BUF_INIT, command = BUF_INIT;
    int rc = run(words, envp, &text, e);

    if (rc == 0)
        rc = flux_add(h, text.len ? buf_bytes(&text) : "", e);
    for (; rc < 0 && *words; words++)
        buf_printf(&command, command.len ? " %s" : "%s", *words);
    if (rc < 0 && !command.failed)
        err_context(e, "%.100s", buf_bytes(&command));
    buf_clear(&command);
    buf_clear(&text);
    return rc;
}
