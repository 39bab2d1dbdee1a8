/* layer.c - what the layer of extended commands costs, beside a socket that moves as much.
 *
 *   layer table RANKS         a process table to a tool; copy=: its text through a socket;
 *                             kept=: as many bytes as it has in C, to where they stay
 *   layer query COUNT         queries one after the other; copy=: the same bytes
 *   layer event COUNT TOOLS   one event each to TOOLS listeners; copy=: the same frames
 *   layer pmi COUNT [layer]   put, get and fence in one process, for callgrind
 *
 * The server is a process with the real core and layer on a fake host; a tool is another, which
 * reads frames and decodes what is in them.  Prints NAME=VALUE: ms, or microseconds for each of
 * COUNT; cpu= is what both processes have used (of a table each has its own), memory (KiB) what
 * the peak of one has grown by (Linux: VmHWM). */
#include <poll.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(what)                                                             \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #what);     \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#include "test/unit/fake_ext.h"

#include "pmix_ext/value.h"

enum { CHUNK = 65536 };

static double now(void)                  /* ms */
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of this process, RUSAGE_SELF, or of those it has waited for, RUSAGE_CHILDREN; ms. */
static double cpu_of(int who)
{
    struct rusage used;
    struct timeval t;

    getrusage(who, &used);
    timeradd(&used.ru_utime, &used.ru_stime, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static double cpu(void)                  /* of both */
{
    return cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN);
}

/* --- memory ------------------------------------------------------------ */

static long status_kib(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[200];
    long kib = 0;

    MUST(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)))
            kib = strtol(line + strlen(name), NULL, 10);
    fclose(f);
    return kib;
}

/* Forget the peak so far; what there is now. */
static long peak_begin(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (f) {
        fputs("5", f);
        fclose(f);
    }
    return status_kib("VmRSS:");
}

/* --- bytes ------------------------------------------------------------- */

static void write_all(int fd, const char *data, size_t n)
{
    while (n) {
        ssize_t did = write(fd, data, n);

        MUST(did > 0);
        data += did;
        n -= (size_t)did;
    }
}

static void read_all(int fd, char *data, size_t n)
{
    while (n) {
        ssize_t did = read(fd, data, n);

        MUST(did > 0);
        data += did;
        n -= (size_t)did;
    }
}

/* --- the server's process ---------------------------------------------- */

struct link {                            /* a connection's */
    int          fd;
    struct conn *conn;
    struct buf   out;
};

static size_t link_send(void *host, void *link, const char *data, size_t len)
{
    struct link *l = link;

    (void)host;
    buf_add(&l->out, data, len);
    MUST(!l->out.failed);
    return l->out.len;
}

static void link_fail(void *host, void *link, struct member *m, const char *why)
{
    (void)host;
    (void)link;
    (void)m;
    fprintf(stderr, "a connection failed: %s\n", why);
    exit(1);
}

static const struct host_ops link_ops = {
    .send = link_send, .fail = link_fail, .initialized = op_member, .finalized = op_member,
    .log = op_log, .timer = op_timer
};

static void link_flush(struct link *l)
{
    while (l->out.len) {
        ssize_t did = send(l->fd, buf_bytes(&l->out), l->out.len, MSG_DONTWAIT);

        if (did <= 0)
            return;
        buf_consume(&l->out, (size_t)did);
        if (l->conn)
            conn_drained(l->conn, l->out.len);
    }
}

/* False: it has ended. */
static bool link_read(struct link *l)
{
    static char data[CHUNK];
    ssize_t n = recv(l->fd, data, sizeof data, MSG_DONTWAIT);

    if (n > 0)
        conn_input(l->conn, data, (size_t)n);
    return n > 0;
}

/* Serve until all connections have ended. */
static void serve_all(struct host *h, struct link *links, size_t n)
{
    struct pollfd *fds = calloc(n, sizeof *fds);
    size_t open = n;

    MUST(fds);
    for (size_t i = 0; i < n; i++)
        fds[i] = (struct pollfd){ .fd = links[i].fd };
    while (open) {
        for (size_t i = 0; i < n; i++)
            fds[i].events = (short)(links[i].out.len ? POLLIN | POLLOUT : POLLIN);
        MUST(poll(fds, n, h->timer ? 0 : -1) >= 0);
        for (size_t i = 0; i < n; i++)
            if (fds[i].revents & (POLLIN | POLLHUP) && !link_read(&links[i])) {
                fds[i].fd = -1;
                open--;
            }
        turn(h);
        for (size_t i = 0; i < n; i++)
            if (fds[i].fd >= 0)
                link_flush(&links[i]);
    }
    free(fds);
}

/* A server with these sockets for its tools; in the child, which ends.  It tells its peak. */
static pid_t serve(int ranks, const int *sockets, size_t n, int tell)
{
    const struct server_options options = { .pmi1_subversion = 1 };
    const struct party who = { .uid = getuid(), .tool = true };
    struct host *h = calloc(1, sizeof *h);
    struct link *links = calloc(n, sizeof *links);
    pid_t pid = fork();
    long before, grown;
    struct err e;

    MUST(h && links && pid >= 0);
    if (pid) {
        free(h);
        free(links);
        return pid;
    }
    *h = (struct host){ .size = { ranks, 1 }, .per_node = 100, .nodes = ranks / 100 + 1,
                        .njobs = 1 };
    h->server = server_new(&link_ops, h, 1, &options);
    h->ext = h->server ? ext_new(h->server, &ext_ops, h, &e) : NULL;
    MUST(h->ext);
    for (size_t i = 0; i < n; i++) {
        links[i].fd = sockets[i];
        links[i].conn = conn_new_tool(h->server, &who, &links[i]);
        MUST(links[i].conn);
    }
    before = peak_begin();
    serve_all(h, links, n);
    grown = status_kib("VmHWM:") - before;
    write_all(tell, (const char *)&grown, sizeof grown);
    _exit(0);
}

/* --- a tool ------------------------------------------------------------ */

struct tool {
    int           fd;
    struct framer framer;
    char          data[CHUNK], *at;
    size_t        left, bytes;           /* bytes: all that came */
};

static void ask(const struct tool *t, const char *fmt, ...) PRINTF(2, 3);
static void ask(const struct tool *t, const char *fmt, ...)
{
    char body[1024], frame[1100];
    va_list ap;
    int n;

    va_start(ap, fmt);
    vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    n = snprintf(frame, sizeof frame, "%6zu%s", strlen(body), body);
    write_all(t->fd, frame, (size_t)n);
}

/* The next frame, read as a message. */
static void next_message(struct tool *t, struct msg *m)
{
    struct frame f;
    struct err e;
    int got;

    while ((got = framer_next(&t->framer, &t->at, &t->left, &f, &e)) == 0) {
        ssize_t n = read(t->fd, t->data, sizeof t->data);

        MUST(n > 0);
        t->at = t->data;
        t->left = (size_t)n;
        t->bytes += (size_t)n;
    }
    MUST(got > 0);
    msg_clear(m);
    MUST(wire_v2.parse(m, f.text, f.len, &e) == 0);
}

static void answer(struct tool *t)
{
    struct msg m;

    msg_init(&m);
    next_message(t, &m);
    MUST(msg_get(&m, "rc") && !strcmp(msg_get(&m, "rc"), "0"));
    msg_clear(&m);
}

static void tool_open(struct tool *t, int fd)
{
    char line[] = "cmd=init pmi_version=2 pmi_subversion=0\n", c = 0;

    *t = (struct tool){ .fd = fd };
    framer_init(&t->framer, LIMIT_FRAME_LINK);
    t->framer.wire = WIRE_2;
    write_all(fd, line, strlen(line));
    while (c != '\n')
        read_all(fd, &c, 1);
    ask(t, "cmd=pmix-tool-connect;thrid=0;");
    answer(t);
    t->bytes = 0;
}

static void pairs(int (*fd)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fd[i]) == 0);
}

/* How long `bytes` take through a socket from another process, over the same piece of memory
 * again and again, or, as a table does, to memory of their own; ms. */
static double copy_time(size_t bytes, bool keep)
{
    static char data[CHUNK];
    char *to = keep ? malloc(bytes) : data;
    int fd[2];
    double began;
    pid_t pid;

    MUST(to);
    memset(data, 1, sizeof data);
    pairs(&fd, 1);
    began = now();
    pid = fork();
    MUST(pid >= 0);
    if (!pid) {
        for (size_t n; bytes; bytes -= n) {
            n = bytes < sizeof data ? bytes : sizeof data;
            write_all(fd[1], data, n);
        }
        _exit(0);
    }
    for (size_t got = 0; got < bytes;) {
        size_t most = bytes - got < CHUNK ? bytes - got : CHUNK;
        ssize_t n = read(fd[0], keep ? to + got : to, most);

        MUST(n > 0);
        got += (size_t)n;
    }
    began = now() - began;
    waitpid(pid, NULL, 0);
    close(fd[0]);
    close(fd[1]);
    if (keep)
        free(to);
    return began;
}

/* --- figures ----------------------------------------------------------- */

static size_t table_bytes(const pmix_data_array_t *a)
{
    const pmix_proc_info_t *p = a->array;
    size_t bytes = a->size * sizeof *p;

    for (size_t i = 0; i < a->size; i++)
        bytes += malloc_usable_size(p[i].hostname) + malloc_usable_size(p[i].executable_name);
    return bytes;
}

static void take_table(struct tool *t, struct value_answer **list, size_t *n)
{
    struct msg m;
    bool more = true;
    struct err e;

    msg_init(&m);
    ask(t, "cmd=pmix-query;thrid=1;queries=[{\"keys\":[\"pmix.qry.ptable\"],\"qualifiers\":["
        "{\"key\":\"pmix.nspace\",\"type\":\"PMIX_STRING\",\"value\":\"j\"}]}];");
    while (more) {
        const struct pair *p;

        next_message(t, &m);
        p = msg_find(&m, "results");
        MUST(p);
        if (value_decode_answers(p->val, p->len, "results", list, n, &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            exit(1);
        }
        more = msg_get(&m, "more");
    }
    msg_clear(&m);
}

static void figure_table(int ranks)
{
    int fd[2], tell[2];
    struct value_answer *list = NULL;
    struct tool *t = malloc(sizeof *t);
    double began, took, copied, kept, tool_used, server_used = cpu_of(RUSAGE_CHILDREN);
    double copy_used, kept_used;
    long before, theirs;
    size_t n = 0, table;
    pid_t pid;

    MUST(t && pipe(tell) == 0);
    pairs(&fd, 1);
    pid = serve(ranks, &fd[1], 1, tell[1]);
    close(fd[1]);
    tool_open(t, fd[0]);
    before = peak_begin();
    tool_used = cpu_of(RUSAGE_SELF);
    began = now();
    take_table(t, &list, &n);
    took = now() - began;
    tool_used = cpu_of(RUSAGE_SELF) - tool_used;
    before = status_kib("VmHWM:") - before;
    shutdown(fd[0], SHUT_WR);            /* the server's process has this end as well */
    read_all(tell[0], (char *)&theirs, sizeof theirs);
    waitpid(pid, NULL, 0);
    MUST(n == 1 && list->value.data.darray->size == (size_t)ranks);
    server_used = cpu_of(RUSAGE_CHILDREN) - server_used;
    table = table_bytes(list->value.data.darray);
    value_free_answers(list, n);         /* else the copier's fork would have to copy it */
    copy_used = cpu();
    copied = copy_time(t->bytes, false);
    copy_used = cpu() - copy_used;
    kept_used = cpu();
    kept = copy_time(table, true);
    kept_used = cpu() - kept_used;
    printf("table=%.1f copy=%.1f kept=%.1f tool_cpu=%.1f server_cpu=%.1f copy_cpu=%.1f "
           "kept_cpu=%.1f bytes=%zu tool_kib=%ld table_kib=%zu server_kib=%ld\n", took, copied,
           kept, tool_used, server_used, copy_used, kept_used, t->bytes, before, table / 1024,
           theirs);
    framer_clear(&t->framer);
    free(t);
}

/* Two processes that exchange as many bytes as often; microseconds for each. */
static double exchange_time(int count, size_t there, size_t back)
{
    static char data[CHUNK];
    int fd[2];
    double began;
    pid_t pid;

    pairs(&fd, 1);
    pid = fork();
    MUST(pid >= 0);
    began = now();
    for (int i = 0; i < count; i++) {
        if (pid)
            write_all(fd[0], data, there);
        read_all(fd[!pid], data, pid ? back : there);
        if (!pid)
            write_all(fd[1], data, back);
    }
    if (!pid)
        _exit(0);
    began = (now() - began) * 1e3 / count;
    waitpid(pid, NULL, 0);
    return began;
}

static void figure_query(int count)
{
    static const char text[] =
        "cmd=pmix-query;thrid=1;queries=[{\"keys\":[\"pmix.job.size\"],\"qualifiers\":["
        "{\"key\":\"pmix.nspace\",\"type\":\"PMIX_STRING\",\"value\":\"j\"}]}];";
    int fd[2], tell[2];
    struct tool *t = malloc(sizeof *t);
    double began, took, copied, used = cpu(), copy_used;
    pid_t pid;

    MUST(t && pipe(tell) == 0);
    pairs(&fd, 1);
    pid = serve(1000, &fd[1], 1, tell[1]);
    close(fd[1]);
    tool_open(t, fd[0]);
    began = now();
    for (int i = 0; i < count; i++) {
        ask(t, "%s", text);
        answer(t);
    }
    took = (now() - began) * 1e3 / count;
    shutdown(fd[0], SHUT_WR);
    waitpid(pid, NULL, 0);
    used = (cpu() - used) * 1e3 / count;
    copy_used = cpu();
    copied = exchange_time(count, strlen(text) + 6, t->bytes / (size_t)count);
    copy_used = (cpu() - copy_used) * 1e3 / count;
    printf("query=%.2f copy=%.2f cpu=%.2f copy_cpu=%.2f\n", took, copied, used, copy_used);
    framer_clear(&t->framer);
    free(t);
}

/* Read `each` bytes of every socket. */
static void drain(int (*fd)[2], size_t n, size_t each)
{
    static char data[CHUNK];

    for (size_t i = 0; i < n; i++)
        read_all(fd[i][0], data, each);
}

/* The same frames, written by another process that is told when; microseconds a round. */
static double fan_time(int (*fd)[2], size_t n, int count, size_t each)
{
    static char data[CHUNK];
    int go[2];
    double began;
    pid_t pid;

    MUST(pipe(go) == 0);
    pid = fork();
    MUST(pid >= 0);
    if (!pid) {
        for (int k = 0; k < count; k++) {
            read_all(go[0], data, 1);
            for (size_t i = 0; i < n; i++)
                write_all(fd[i][1], data, each);
        }
        _exit(0);
    }
    began = now();
    for (int k = 0; k < count; k++) {
        write_all(go[1], data, 1);
        drain(fd, n, each);
    }
    began = (now() - began) * 1e3 / count;
    waitpid(pid, NULL, 0);
    return began;
}

static void figure_event(int count, size_t n)
{
    static const char text[] =
        "cmd=pmix-notify;thrid=1;status=-400;range=5;infos=[{\"key\":\"pmix.evtext\",\"type\":"
        "\"PMIX_STRING\",\"value\":\"something has happened\"}];";
    int (*fd)[2] = calloc(n, sizeof *fd), *theirs = calloc(n, sizeof *theirs), tell[2];
    struct tool *t = malloc(sizeof *t);
    struct msg m;
    double began, took;
    size_t each;
    pid_t pid;

    MUST(fd && theirs && t && n > 1 && pipe(tell) == 0);
    pairs(fd, n);
    for (size_t i = 0; i < n; i++)
        theirs[i] = fd[i][1];
    pid = serve(1000, theirs, n, tell[1]);
    for (size_t i = n; i-- > 0;) {               /* the first is the one that notifies */
        tool_open(t, fd[i][0]);
        ask(t, "cmd=pmix-event-register;thrid=1;%s", i ? "codes=[-400];" : "codes=[-401];");
        answer(t);
        if (i)
            framer_clear(&t->framer);
    }
    ask(t, "%s", text);                          /* once, to see how long a frame is */
    answer(t);
    {
        struct tool *one = malloc(sizeof *one);

        MUST(one);
        *one = (struct tool){ .fd = fd[1][0] };
        framer_init(&one->framer, LIMIT_FRAME_LINK);
        one->framer.wire = WIRE_2;
        msg_init(&m);
        next_message(one, &m);
        MUST(!strcmp(m.cmd, "pmix-event"));
        each = one->bytes;
        msg_clear(&m);
        framer_clear(&one->framer);
        free(one);
    }
    drain(fd + 2, n - 2, each);
    began = now();
    for (int k = 0; k < count; k++) {
        ask(t, "%s", text);
        drain(fd + 1, n - 1, each);
        answer(t);
    }
    took = (now() - began) * 1e3 / count;
    for (size_t i = 0; i < n; i++)
        shutdown(fd[i][0], SHUT_WR);
    waitpid(pid, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        close(fd[i][0]);
        close(fd[i][1]);
    }
    pairs(fd, n);
    printf("event=%.1f copy=%.1f bytes=%zu\n", took, fan_time(fd + 1, n - 1, count, each), each);
    framer_clear(&t->framer);
    free(t);
    free(theirs);
    free(fd);
}

/* --- PMI, with and without the layer ----------------------------------- */

static size_t drop(void *host, void *link, const char *data, size_t len)
{
    (void)host;
    (void)link;
    MUST(len && strstr(data, "rc=0"));
    return 0;
}

static const struct host_ops drop_ops = {
    .send = drop, .fail = link_fail, .initialized = op_member, .finalized = op_member,
    .log = op_log, .timer = op_timer
};

static void figure_pmi(int count, bool layer)
{
    static const char *const commands[] = {
        "cmd=kvs-put;key=k%d;value=v;", "cmd=kvs-fence;", "cmd=kvs-get;key=k%d;"
    };
    const struct server_options options = { .pmi1_subversion = 1 };
    const struct mapping_block map = { 0, 1, 1 };
    struct host h = { .size = { 1, 1 }, .per_node = 1, .nodes = 1, .njobs = 1 };
    static const int appnums[1];
    struct err e;
    struct job *j;

    h.server = server_new(&drop_ops, &h, 1, &options);
    MUST(h.server);
    h.ext = layer ? ext_new(h.server, &ext_ops, &h, &e) : NULL;
    MUST(!layer || h.ext);
    j = server_add_job(h.server, &(struct job_spec){ .id = "j", .size = 1, .universe = 1,
                       .appnums = appnums, .map = &map, .map_blocks = 1 }, &e);
    MUST(j);
    h.tool = conn_new(h.server, j, job_member(j, 0), &h);
    say(&h, "cmd=init pmi_version=2 pmi_subversion=0\n", false);
    say(&h, "cmd=fullinit;pmirank=0;", true);
    for (int i = 0; i < 3 * count; i++) {
        char text[80];

        snprintf(text, sizeof text, commands[i % 3], i / 3);
        say(&h, text, true);
    }
    conn_free(h.tool);
    ext_free(h.ext);
    server_free(h.server);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    const char *what = argc > 1 ? argv[1] : "";

    if (count > 0 && !strcmp(what, "table"))
        figure_table(count);
    else if (count > 0 && !strcmp(what, "query"))
        figure_query(count);
    else if (count > 0 && argc > 3 && !strcmp(what, "event"))
        figure_event(count, strtoul(argv[3], NULL, 10));
    else if (count > 0 && !strcmp(what, "pmi"))
        figure_pmi(count, argc > 3);
    else
        return fprintf(stderr, "usage: layer table|query|event|pmi COUNT [TOOLS|layer]\n"), 2;
    return 0;
}
