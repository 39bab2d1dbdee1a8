/* tool_start.c - see tool_start.h */
#include "mpiexec_lite/tool_start.h"

#include "pmix_ext/pmix_ext_keys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the value of -tool is, or is in, this word. */
static bool is_within(const char *value, const char *word)
{
    return value >= word && value <= word + strlen(word);
}

/* All but -tool itself, so that no launcher can become the tool a second time. */
static int add_rest(struct strlist *to, char *const *argv, const char *tool)
{
    int rc = 0;

    for (argv++; *argv && rc == 0; argv++)
        if (argv[1] == tool)
            argv++;                      /* -tool CMD */
        else if (!is_within(tool, *argv))
            rc = strlist_add(to, *argv);
    return rc;
}

/* The launcher waits for us, who become the tool: while we live. */
static int ask_to_wait(void)
{
    char pid[16];

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    return setenv(TOOL_START_PID, pid, 1) < 0 ? -1 : setenv(PMIX_LAUNCHER_PAUSE_FOR_TOOL, "1", 1);
}

int tool_start(const struct plan *p, char *const *argv, struct err *e)
{
    struct strlist words = { 0 };
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0)
        return err_set(e, ERR_OTHER, "/proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    if (strlist_add_words(&words, p->tool) < 0 || strlist_add(&words, self) < 0 ||
        add_rest(&words, argv, p->tool) < 0 || ask_to_wait() < 0) {
        err_set(e, ERR_NOMEM, "no memory");
    } else {
        execvp(words.v[0], words.v);
        err_set(e, ERR_OTHER, "-tool: %.200s: %s", words.v[0], strerror(errno));
    }
    strlist_clear(&words);
    return -1;
}
