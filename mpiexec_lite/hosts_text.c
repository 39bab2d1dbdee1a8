/* hosts_text.c - the syntax of lists and files of hosts.  See hosts.h. */
#include "mpiexec_lite/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\v\f"
#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define DIGITS_MAX 19        /* of a number in a range: so many surely fit 64 bits */

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for the list of hosts");
}

/* An item of a list, or a line of a file.  All is borrowed from the text. */
struct entry {
    char          *name;     /* with its ranges */
    bool           literal;  /* an address: it has none */
    struct mention said;
    int            max_slots;        /* 0: not said */
};

/* --- ranges --------------------------------------------------------------------- */

struct expansion {           /* of a name such as rack[1-2]node[01-04,07] */
    struct hosts       *h;
    const struct entry *x;
    char                name[HOST_NAME_MAX_LEN + 1];     /* as far as it goes */
};

static int expand(struct expansion *ex, size_t len, const char *rest, struct err *e);

/* Put n bytes behind the first *len of the name. */
static int append(struct expansion *ex, size_t *len, const char *bytes, size_t n,
                  struct err *e)
{
    if (n > HOST_NAME_MAX_LEN - *len)
        return err_set(e, ERR_INVALID_VAL, "'%.40s...' is too long a host name",
                       ex->x->name);
    memcpy(ex->name + *len, bytes, n);
    *len += n;
    ex->name[*len] = '\0';
    return 0;
}

/* A number without sign, off *s; one that is too large becomes UINT64_MAX.  How many
 * digits it has. */
static size_t take_number(const char **s, const char *end, uint64_t *v)
{
    size_t n = 0;

    for (*v = 0; *s < end && **s >= '0' && **s <= '9'; (*s)++, n++) {
        unsigned digit = (unsigned)(**s - '0');

        *v = *v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *v * 10 + digit;
    }
    return n;
}

/* All of text up to end, "5" or "01-12".  The digits to write at least; 0: it is no
 * such thing. */
static size_t take_range(const char *text, const char *end, uint64_t *first,
                         uint64_t *last)
{
    size_t width = take_number(&text, end, first);

    *last = *first;
    if (width && text < end && *text == '-') {
        text++;
        if (!take_number(&text, end, last))
            return 0;
    }
    if (text < end || *first > *last || width > DIGITS_MAX)
        return 0;
    return width;
}

/* The names of one range, each with all that may follow in rest. */
static int expand_range(struct expansion *ex, size_t len, const char *text, size_t n,
                        const char *rest, struct err *e)
{
    uint64_t first, last;
    size_t width = take_range(text, text + n, &first, &last);

    if (!width)
        return err_set(e, ERR_INVALID_VAL, "'%.*s' in '%.80s' is not a range of numbers",
                       n < 50 ? (int)n : 50, text, ex->x->name);
    if (last - first >= PLAN_HOSTS_MAX)
        return err_set(e, ERR_INVALID_VAL, "'%.80s' is more than %d hosts", ex->x->name,
                       PLAN_HOSTS_MAX);
    for (uint64_t v = first; v <= last; v++) {
        char digits[DIGITS_MAX * 2];
        size_t at = len;
        int k = snprintf(digits, sizeof digits, "%0*" PRIu64, (int)width, v);

        if (append(ex, &at, digits, (size_t)k, e) < 0 || expand(ex, at, rest, e) < 0)
            return -1;
    }
    return 0;
}

static int add_expanded(struct expansion *ex, struct err *e)
{
    if (strcmp(ex->name, "HYDRA_USE_LOCALHOST") == 0)
        return hosts_add(ex->h, ex->h->own, &ex->x->said, e);
    return hosts_add(ex->h, ex->name, &ex->x->said, e);
}

/* Add every name that begins with the first len bytes of ex->name and goes on as
 * rest says.  It calls itself for every bracket; a bracket is at least a digit of
 * the name, whose length has its limit. */
static int expand(struct expansion *ex, size_t len, const char *rest, struct err *e)
{
    size_t plain = strcspn(rest, "[]");
    const char *close;
    int rc = 0;

    if (append(ex, &len, rest, plain, e) < 0)
        return -1;
    rest += plain;
    if (!*rest)
        return add_expanded(ex, e);
    close = strpbrk(rest + 1, "[]");
    if (*rest == ']' || !close || *close == '[')
        return err_set(e, ERR_INVALID_VAL, "'%.80s' has brackets that do not match",
                       ex->x->name);
    while (rc == 0 && rest < close) {
        size_t n = strcspn(++rest, ",]");

        rc = expand_range(ex, len, rest, n, close + 1, e);
        rest += n;
    }
    return rc;
}

static int add_entry(struct hosts *h, const struct entry *x, struct err *e)
{
    struct expansion ex = { .h = h, .x = x };

    return x->literal ? hosts_add(h, x->name, &x->said, e) : expand(&ex, 0, x->name, e);
}

/* --- one item ------------------------------------------------------------------- */

static int number_of(const char *text, const char *what, int *to, struct err *e)
{
    const char *s = text, *end = text + strlen(text);
    uint64_t v;

    if (*to)
        return err_set(e, ERR_INVALID_VAL, "%s are given twice", what);
    if (!take_number(&s, end, &v) || s != end || v < 1 || v > PLAN_SLOTS_MAX)
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number of %s (1 or more)",
                       text, what);
    *to = (int)v;
    return 0;
}

static int user_of(const char *text, struct entry *x, struct err *e)
{
    if (x->said.user)
        return err_set(e, ERR_INVALID_VAL, "the user is given twice");
    if (!host_user_ok(text))
        return err_set(e, ERR_INVALID_VAL, "'%.80s' is not a user name", text);
    x->said.user = text;
    return 0;
}

/* The HCA and its port, as mpirun_rsh has them behind the slots: NULL, or good. */
static bool is_hca(const char *hca, const char *port)
{
    if (hca && (!*hca || strspn(hca, WORD) != strlen(hca)))
        return false;
    return !port || (*port && strspn(port, "0123456789") == strlen(port));
}

/* What follows the name: ":SLOTS[:HCA[:PORT]]" or nothing. */
static int take_slots(char *text, struct entry *x, struct err *e)
{
    char *slots, *hca, *port;

    if (!*text)
        return 0;
    if (*text++ != ':')
        return err_set(e, ERR_INVALID_VAL, "'%.80s' behind ']' makes no sense", text - 1);
    slots = strsep(&text, ":");
    hca = strsep(&text, ":");
    port = strsep(&text, ":");
    if (text || !is_hca(hca, port))
        return err_set(e, ERR_INVALID_VAL,
                       "behind ':' is neither SLOTS nor SLOTS:HCA[:PORT]");
    return number_of(slots, "slots", &x->said.slots, e);
}

/* The ':' behind a name, outside of brackets; or the end. */
static char *name_end(char *text)
{
    bool inside = false;

    for (; *text && (inside || *text != ':'); text++)
        inside = *text == '[' || (inside && *text != ']');
    return text;
}

/* "[ADDRESS]...": cut at the bracket, and what follows that; or NULL. */
static char *take_bracketed(char *text, char address[HOST_NAME_MAX_LEN + 1])
{
    char *close = *text == '[' ? strchr(text, ']') : NULL;
    bool is;

    if (!close)
        return NULL;
    *close = '\0';
    is = host_is_ipv6(text + 1, address);
    *close = ']';
    return is ? close + 1 : NULL;
}

/* The name of an item and its slots. */
static int take_name(struct entry *x, char *text, char address[HOST_NAME_MAX_LEN + 1],
                     struct err *e)
{
    char *behind = take_bracketed(text, address);

    x->literal = behind || host_is_ipv6(text, address);
    x->name = x->literal ? address : text;
    if (!behind)
        behind = x->literal ? strchr(text, '\0') : name_end(text);
    if (take_slots(behind, x, e) < 0)
        return -1;
    *behind = '\0';
    return 0;
}

/* One item of a list; x has what was said of all of them. */
static int add_item(struct hosts *h, char *text, struct entry x, struct err *e)
{
    char address[HOST_NAME_MAX_LEN + 1], *at = strrchr(text, '@');

    if (at) {
        *at = '\0';
        if (user_of(text, &x, e) < 0)
            return -1;
        text = at + 1;
    }
    if (take_name(&x, text, address, e) < 0)
        return -1;
    if (x.said.slots && x.max_slots && x.said.slots > x.max_slots)
        return err_set(e, ERR_INVALID_VAL, "%d slots are more than max_slots=%d",
                       x.said.slots, x.max_slots);
    return add_entry(h, &x, e);
}

/* Cut the next item off a list: up to a comma outside of brackets.  NULL: none. */
static char *next_item(char **rest)
{
    char *item = *rest, *end = item;
    bool inside = false;

    if (!item)
        return NULL;
    for (; *end && (inside || *end != ','); end++)
        inside = *end == '[' || (inside && *end != ']');
    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    item += strspn(item, BLANKS);
    while (end > item && strchr(BLANKS, end[-1]))
        *--end = '\0';
    return item;
}

static int add_items(struct hosts *h, char *list, const struct entry *x, struct err *e)
{
    char *item;

    while ((item = next_item(&list)))
        if (add_item(h, item, *x, e) < 0)
            return -1;
    return 0;
}

int hosts_add_list(struct hosts *h, const char *list, struct err *e)
{
    char *copy = strdup(list);
    int rc = copy ? add_items(h, copy, &(struct entry){ 0 }, e) : no_memory(e);

    free(copy);
    return rc;
}

/* --- files ---------------------------------------------------------------------- */

/* The value of word if it is NAME=VALUE, or NULL. */
static const char *value_of(const char *word, const char *name)
{
    size_t n = strlen(name);

    return strncasecmp(word, name, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

/* A word behind the first one of a line. */
static int take_setting(const char *word, struct entry *x, struct err *e)
{
    const char *value;

    if ((value = value_of(word, "slots")))
        return number_of(value, "slots", &x->said.slots, e);
    if ((value = value_of(word, "max_slots")) || (value = value_of(word, "max-slots")))
        return number_of(value, "max_slots", &x->max_slots, e);
    if ((value = value_of(word, "user")))
        return user_of(value, x, e);
    if (!(value = value_of(word, "binding")))
        return err_set(e, ERR_INVALID_VAL,
                       "'%.60s' is not slots=, max_slots=, user= or binding=", word);
    if (x->said.binding || !*value)
        return err_set(e, ERR_INVALID_VAL, "binding= is %s",
                       *value ? "given twice" : "empty");
    x->said.binding = value;
    return 0;
}

/* One line of a file: "HOSTS [SETTING]...  # comment". */
static int add_line(struct hosts *h, char *line, struct err *e)
{
    char *rest = line, *word, *first = NULL;
    struct entry x = { 0 };

    line[strcspn(line, "#")] = '\0';
    while ((word = strsep(&rest, BLANKS))) {
        if (!*word)
            continue;
        if (!first)
            first = word;
        else if (take_setting(word, &x, e) < 0)
            return -1;
    }
    return first ? add_items(h, first, &x, e) : 0;
}

static int add_lines(struct hosts *h, char *rest, const char *file, struct err *e)
{
    char *line;

    for (int number = 1; (line = strsep(&rest, "\n")); number++) {
        h->line = number;
        if (add_line(h, line, e) < 0)
            return err_context(e, "%.100s, line %d", file, number);
    }
    h->line = 0;
    return 0;
}

int hosts_add_text(struct hosts *h, const char *text, const char *file, struct err *e)
{
    size_t before = h->named;
    char *copy;
    int rc;

    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)   /* what some editors begin UTF-8 with */
        text += 3;
    copy = strdup(text);
    rc = copy ? add_lines(h, copy, file, e) : no_memory(e);
    free(copy);
    if (rc == 0 && h->named == before)
        return err_set(e, ERR_INVALID_VAL, "%.100s names no host", file);
    return rc;
}
