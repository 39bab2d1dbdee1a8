/* opts_file.c - text files and the lines of a -configfile.  See opts_table.h. */
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/opts_table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)16 << 20)      /* bytes; more is a mistake, or a device */

/* Read fd to its end.  0, or -1 and errno. */
static int read_all(int fd, struct buf *text)
{
    ssize_t n;

    do {
        char *to = buf_room(text, 65536);

        if (!to || text->len > FILE_MAX) {
            errno = to ? EFBIG : ENOMEM;
            return -1;
        }
        n = read(fd, to, 65536);
        if (n > 0)
            buf_commit(text, (size_t)n);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 ? -1 : 0;
}

/* Takes fd; -1: it could not be opened, errno says why. */
static int read_file(int fd, const char *path, struct buf *text, struct err *e)
{
    int rc = fd < 0 ? -1 : read_all(fd, text);

    if (rc < 0)
        err_set(e, errno == ENOMEM ? ERR_NOMEM : ERR_INVALID_VAL, "%.120s: %s", path,
                strerror(errno));
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        return -1;
    buf_char(text, '\0');
    return text->failed ? err_set(e, ERR_NOMEM, "%.120s: no memory", path) : 0;
}

int opts_file_read(const char *path, struct buf *text, struct err *e)
{
    if (read_file(open(path, O_RDONLY | O_CLOEXEC), path, text, e) < 0)
        return -1;
    if (strlen(buf_bytes(text)) + 1 != text->len)
        return err_set(e, ERR_INVALID_VAL, "%.120s: not a text file", path);
    return 0;
}

int opts_file_take(int fd, const char *name, struct buf *text, struct err *e)
{
    if (read_file(fd, name, text, e) < 0)
        return -1;
    buf_cut(text, text->len - 1);
    return 0;
}

/* folder/name, malloc'ed, if it can be read; else NULL, perhaps with ERR_NOMEM. */
static char *readable(const char *folder, const char *name, struct err *e)
{
    struct buf path = BUF_INIT;

    buf_str(&path, folder);
    buf_char(&path, '/');
    buf_str(&path, name);
    if (path.failed)
        err_set(e, ERR_NOMEM, "no memory");
    else if (access(buf_bytes(&path), R_OK) == 0)
        return path.data;
    buf_clear(&path);
    return NULL;
}

char *opts_usual_configfile(char *const *envp, const char *sysconfdir, struct err *e)
{
    const char *named = env_get(envp, "HYDRA_CONFIG_FILE"), *home = env_get(envp, "HOME");
    char *path = NULL;

    if (named && *named) {
        path = strdup(named);
        if (!path)
            err_set(e, ERR_NOMEM, "no memory");
        return path;
    }
    if (home && *home)
        path = readable(home, ".mpiexec.hydra.conf", e);
    return path || e->code ? path : readable(sysconfdir, "mpiexec.hydra.conf", e);
}

/* One word being put together. */
struct word {
    struct buf  text;
    bool        quoted;      /* some of it was */
    const char *at;          /* next character of the file */
    int         line;
};

static void take_char(struct word *w)
{
    if (*w->at == '\n')
        w->line++;
    buf_char(&w->text, *w->at++);
}

/* What follows a backslash, taken as it is; a newline only joins two lines. */
static void take_escaped(struct word *w)
{
    w->at++;
    if (*w->at == '\n') {
        w->at++;
        w->line++;
        return;
    }
    if (!*w->at)
        return;
    w->quoted = true;
    take_char(w);
}

/* From a quote to its partner.  Inside "..." a backslash quotes '"', '\', '$' and '`',
 * as in a shell. */
static int take_quoted(struct word *w, struct err *e)
{
    char quote = *w->at++;
    int from = w->line;

    w->quoted = true;
    while (*w->at && *w->at != quote) {
        if (quote == '"' && *w->at == '\\' && strchr("\"\\$`\n", w->at[1]) && w->at[1])
            take_escaped(w);
        else
            take_char(w);
    }
    if (!*w->at)
        return err_set(e, ERR_INVALID_VAL, "line %d: %c is not closed", from, quote);
    w->at++;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int take_word(struct word *w, struct err *e)
{
    while (*w->at && *w->at != '\n' && !is_blank(*w->at)) {
        if (*w->at == '\\')
            take_escaped(w);
        else if (*w->at != '\'' && *w->at != '"')
            take_char(w);
        else if (take_quoted(w, e) < 0)
            return -1;
    }
    return 0;
}

/* Read one word and add it to words.  A quoted ':' is no separator: it travels as
 * "\:", for which a backslash stands ready before the text. */
static int next_word(struct word *w, struct strlist *words, struct err *e)
{
    const char *text;

    buf_reset(&w->text);
    buf_char(&w->text, '\\');
    w->quoted = false;
    if (take_word(w, e) < 0)
        return -1;
    if (w->text.failed)
        return err_set(e, ERR_NOMEM, "no memory");
    text = buf_bytes(&w->text) + 1;
    if (!w->quoted && !*text)            /* nothing but two lines joined */
        return 0;
    if (w->quoted && strcmp(text + strspn(text, "\\"), ":") == 0)
        text--;
    if (strlist_add(words, text) < 0)
        return err_set(e, ERR_NOMEM, "no memory");
    return 0;
}

static void skip_blanks(struct word *w)
{
    while (is_blank(*w->at))
        w->at++;
}

int opts_file_next_line(const char **text, int *line, struct strlist *words,
                        struct err *e)
{
    struct word w = { .text = BUF_INIT, .at = *text, .line = *line };
    int rc = 0;

    strlist_clear(words);
    if (!*w.at)
        return 0;
    skip_blanks(&w);
    if (*w.at == '#')
        w.at += strcspn(w.at, "\n");
    while (rc == 0 && *w.at && *w.at != '\n') {
        rc = next_word(&w, words, e);
        skip_blanks(&w);
    }
    if (*w.at == '\n') {
        w.at++;
        w.line++;
    }
    buf_clear(&w.text);
    *text = w.at;
    *line = w.line;
    return rc < 0 ? -1 : 1;
}
