/* alloc.c - see alloc.h */
#include "mpiexec_lite/alloc.h"

#include "wire/buf.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz-"

/* "--", and the first n bytes of text. */
static int add_word(struct strlist *out, const char *text, size_t n, struct err *e)
{
    struct buf word = BUF_INIT;
    int rc;

    buf_str(&word, "--");
    buf_add(&word, text, n);
    rc = word.failed ? -1 : strlist_add(out, buf_bytes(&word));
    buf_clear(&word);
    return rc < 0 ? err_set(e, ERR_NOMEM, "no memory") : 0;
}

/* "--NAME=" and the first n bytes of value. */
static int add_value(struct strlist *out, const char *name, const char *value, size_t n,
                     struct err *e)
{
    struct buf word = BUF_INIT;
    int rc;

    buf_printf(&word, "%s=%.*s", name, (int)n, value);
    rc = word.failed ? err_set(e, ERR_NOMEM, "no memory")
                     : add_word(out, buf_bytes(&word), word.len, e);
    buf_clear(&word);
    return rc;
}

/* ",partition=debug": one more option of salloc. */
static int add_option(const char **text, struct strlist *out, struct err *e)
{
    const char *item = *text + 1;
    size_t len = strcspn(item, ","), name = strspn(item, LETTERS);

    if (!name || name + 1 >= len || item[name] != '=' || *item == '-')
        return err_set(e, ERR_INVALID_VAL, "'%.*s' is not OPTION=VALUE, as salloc has them",
                       len < 60 ? (int)len : 60, item);
    *text = item + len;
    return add_word(out, item, len, e);
}

int alloc_words(const char *text, struct strlist *out, struct err *e)
{
    const char *rest = text;
    size_t nodes = strspn(rest, DIGITS "-"), time;

    if (*rest < '1' || *rest > '9' || !strchr(":,", rest[nodes]))
        return err_set(e, ERR_INVALID_VAL, "'%.60s' does not begin with a number of nodes", text);
    if (add_value(out, "nodes", rest, nodes, e) < 0)
        return -1;
    rest += nodes;
    if (*rest == ':') {
        time = strspn(++rest, DIGITS ":-");
        if (!time || !strchr(",", rest[time]))
            return err_set(e, ERR_INVALID_VAL, "'%.60s' is no time, as salloc has it", rest);
        if (add_value(out, "time", rest, time, e) < 0)
            return -1;
        rest += time;
    }
    while (*rest)
        if (add_option(&rest, out, e) < 0)
            return -1;
    return 0;
}

int alloc_run(const struct plan *p, char *const *argv, struct err *e)
{
    struct strlist words = { 0 };
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int rc = n < 0 ? err_set(e, ERR_OTHER, "/proc/self/exe: %s", strerror(errno)) : 0;

    if (rc == 0) {
        self[n] = '\0';
        rc = strlist_add(&words, "salloc");  /* not --quiet: it says what it waits for */
    }
    if (rc == 0)
        rc = alloc_words(p->alloc, &words, e);
    if (rc == 0)
        rc = strlist_add(&words, self);
    for (argv++; rc == 0 && *argv; argv++)
        rc = strlist_add(&words, *argv);
    if (rc == 0) {
        execvp(words.v[0], words.v);
        rc = err_set(e, ERR_OTHER, "-alloc: salloc: %s", errno == ENOENT ?
                     "there is no Slurm here" : strerror(errno));
    } else if (!e->code) {
        err_set(e, ERR_NOMEM, "no memory");
    }
    strlist_clear(&words);
    return -1;
}
