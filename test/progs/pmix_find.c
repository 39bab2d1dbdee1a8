/* pmix_find.c - finds a server as the library does, for tests: attributes are KEY=VALUE (a
 * number, true, or text), order=... is the option.  On stderr: the status; "FOUND how host pid
 * socket", or a line for each candidate; why not.  With "-" first it connects as well, and is
 * the stream between that server and its stdin, which is a socket. */
#include "pmix_ext/find.h"
#include "pmix_ext/pmix_ext.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_value(pmix_info_t *info, const char *key, const char *text)
{
    pid_t pid = (pid_t)atol(text);
    uint32_t number = (uint32_t)pid;
    bool yes = true;

    if (!strcmp(key, PMIX_SERVER_PIDINFO) && pid)
        PMIX_INFO_LOAD(info, key, &pid, PMIX_PID);
    else if (*text && !text[strspn(text, "0123456789")])
        PMIX_INFO_LOAD(info, key, &number, PMIX_UINT32);
    else if (!strcmp(text, "true"))
        PMIX_INFO_LOAD(info, key, &yes, PMIX_BOOL);
    else
        PMIX_INFO_LOAD(info, key, text, PMIX_STRING);
}

static int carry(int from, int to)
{
    char data[65536];
    ssize_t n = read(from, data, sizeof data);

    if (n <= 0 || write(to, data, (size_t)n) != n)
        exit(0);
    return 0;
}

static int be_stream(int fd)
{
    struct pollfd p[2] = { { .fd = 0, .events = POLLIN }, { .fd = fd, .events = POLLIN } };

    while (poll(p, 2, -1) > 0) {
        if (p[0].revents)
            carry(0, fd);
        if (p[1].revents)
            carry(fd, 0);
    }
    return 1;
}

static void show(const struct found *f, pmix_status_t rc)
{
    bool is_far = f->how == FOUND_FAR || f->how == FOUND_MUNGE;

    if (rc == PMIX_SUCCESS)
        fprintf(stderr, "FOUND %d %s %d %s\n", (int)f->how, is_far ? f->host : "-",
                (int)(is_far ? f->pid : f->at.pid),
                *f->at.socket ? f->at.socket : "-");
    for (int i = 0; i < f->n; i++)
        fprintf(stderr, "%d %u %s %llu %lld\n", (int)f->candidates[i].pid,
                (unsigned)f->candidates[i].uid, f->candidates[i].nspace, f->candidates[i].start,
                f->candidates[i].created);
}

/* "spawn" [JOB=VALUE] VARIABLE=VALUE... PROGRAM WORD...: two processes of it with those
 * variables, and one of OTHER, or true, by a launcher of their own; JOB is of all three. */
static int spawn(char **argv)
{
    char *other = getenv("OTHER"), *no_words[] = { other ? other : (char[]){ "true" }, NULL };
    char *variables[16] = { NULL };
    size_t n = 0, jobs = 0;
    pmix_envar_t job = { .envar = (char[]){ "JOB" }, .separator = ':' };
    pmix_info_t info;
    struct find_program p = { .uri = false };
    struct err e = { 0 };
    pmix_status_t rc;

    for (; *argv && strchr(*argv, '=') && n < 15; argv++)
        if (!strncmp(*argv, "JOB=", 4))
            job.value = *argv + 4;
        else
            variables[n++] = *argv;
    if (job.value) {
        PMIX_INFO_LOAD(&info, PMIX_SET_ENVAR, &job, PMIX_ENVAR);
        jobs = 1;
    }
    rc = find_start_launcher(&info, jobs, (pmix_app_t[]){
             { .cmd = *argv, .argv = argv, .env = variables, .maxprocs = 2 },
             { .cmd = no_words[0], .argv = no_words, .maxprocs = 1 } }, 2, &p, &e);
    fprintf(stderr, "%s\n", PMIx_Error_string(rc));
    if (rc == PMIX_SUCCESS)
        fprintf(stderr, "%s %d %s\n", p.f.at.nspace, (int)p.f.at.pid, p.f.at.socket);
    else
        fprintf(stderr, "%s\n", e.text);
    return rc != PMIX_SUCCESS;
}

int main(int argc, char **argv)
{
    bool connects = argc > 1 && !strcmp(argv[1], "-");
    pmix_info_t infos[16];
    struct find_wants wants;
    const char *order = NULL;
    struct found found = { .fd = -1 };
    struct err e = { 0 };
    pmix_status_t rc;
    size_t n = 0;
    int fd = -1;

    if (argc > 2 && !strcmp(argv[1], "spawn"))
        return spawn(argv + 2);
    for (char **word = argv + 1 + connects; *word && n < 16; word++) {
        char *value = strchr(*word, '=');

        if (!value)
            return 2;
        *value++ = 0;
        if (!strcmp(*word, "order"))
            order = value;
        else
            read_value(&infos[n++], *word, value);
    }
    rc = find_read(infos, n, &wants, &e);
    wants.order = order;
    if (rc == PMIX_SUCCESS)
        rc = find_server(&wants, &found, &e);
    if (rc == PMIX_SUCCESS && connects && (fd = find_connect(&found, &e)) < 0)
        rc = PMIX_ERR_UNREACH;
    fprintf(stderr, "%s\n", PMIx_Error_string(rc));
    show(&found, rc);
    if (rc != PMIX_SUCCESS)
        fprintf(stderr, "%s\n", e.text);
    find_clear(&found);
    return fd >= 0 ? be_stream(fd) : rc != PMIX_SUCCESS;
}
