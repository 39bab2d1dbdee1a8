/* opts_hosts.c - lists and files of hosts.  See opts_table.h.
 *
 * This version runs everything on its own host, so that is the only one that may
 * be named; what is left of a list is its slots. */
#include "mpiexec_lite/opts_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SLOTS_MAX 1000000

/* "localhost", this host's name, or the first part of that. */
static bool is_this_host(const char *name)
{
    static const char *const always[] = {
        "localhost", "127.0.0.1", "[::1]", "HYDRA_USE_LOCALHOST",
    };
    char own[256] = "";
    size_t len = strlen(name);

    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcasecmp(always[i], name) == 0)
            return true;
    gethostname(own, sizeof own - 1);
    return len && strncasecmp(own, name, len) == 0 && (!own[len] || own[len] == '.');
}

static int add_slots(const char *text, int *slots, struct err *e)
{
    long n;

    if (!opts_number(text, 1, SLOTS_MAX, &n) || *slots + n > SLOTS_MAX)
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number of slots (1 or more)",
                       text);
    *slots += (int)n;
    return 0;
}

/* "HOST" or "HOST:SLOTS"; the word is cut in two. */
static int add_host(char *word, int *slots, struct err *e)
{
    char *bracket = *word == '[' ? strchr(word, ']') : NULL;
    char *colon = strchr(bracket ? bracket : word, ':');

    if (colon)
        *colon = '\0';
    if (!is_this_host(word))
        return err_set(e, ERR_INVALID_VAL,
                       "'%.80s': other hosts are not supported by this version", word);
    return add_slots(colon ? colon + 1 : "1", slots, e);
}

int opts_hosts_of_list(const char *list, int *slots, struct err *e)
{
    char *copy = strdup(list), *rest = copy, *word;
    int rc = copy ? 0 : err_set(e, ERR_NOMEM, "no memory");

    while (rc == 0 && (word = strsep(&rest, ",")))
        rc = add_host(word, slots, e);
    free(copy);
    return rc;
}

/* One line of a host file: "HOST[:SLOTS] [slots=N]  # comment". */
static int add_line(char *line, int *slots, struct err *e)
{
    char *rest = line, *word;
    int before = *slots;
    bool first = true;

    line[strcspn(line, "#")] = '\0';
    while ((word = strsep(&rest, " \t\r"))) {
        if (!*word)
            continue;
        if (first && add_host(word, slots, e) < 0)
            return -1;
        if (!first && strncmp(word, "slots=", 6) != 0)
            return err_set(e, ERR_INVALID_VAL, "'%.60s' is not supported by this version",
                           word);
        if (!first) {
            *slots = before;
            if (add_slots(word + 6, slots, e) < 0)
                return -1;
        }
        first = false;
    }
    return 0;
}

int opts_hosts_of_file(const char *path, int *slots, struct err *e)
{
    struct buf text = BUF_INIT;
    char *rest, *line;
    int rc = 0, number = 0;

    if (strcmp(path, "HYDRA_USE_LOCALHOST") == 0)
        return add_slots("1", slots, e);
    if (opts_file_read(path, &text, e) < 0) {
        buf_clear(&text);
        return -1;
    }
    rest = buf_bytes(&text);
    while (rc == 0 && (line = strsep(&rest, "\n"))) {
        number++;
        rc = add_line(line, slots, e);
    }
    if (rc < 0)
        err_context(e, "%.100s, line %d", path, number);
    else if (*slots == 0)
        rc = err_set(e, ERR_INVALID_VAL, "%.100s names no host", path);
    buf_clear(&text);
    return rc;
}
