/* pmi2_connect.c - a job that is connected to one of another launcher.
 *
 *   LAUNCHER -n N pmi2_connect PATH listen|call MASTER ACTION...
 *
 * The leaders, rank 0 of each job, have a socket at PATH, over which they tell each other
 * their job ids; it is the channel of PMI2_Job_Connect as well, with isMaster MASTER (1, 0,
 * -1; none: no channel).  All ranks carry out the actions:
 *
 *   put=KEY           KEY.<rank>, with a value of it; that of rank 1 is long and full of ';'
 *   puts=N            N keys of rank 0
 *   connect again disconnect
 *                     by the leader; again: without channel.  =TEXT: fails, and says that
 *   get=KEY           KEY.0 .. of as many ranks as the other job has; gets=N
 *   none=KEY          the other job has no such key; refused=KEY: it is not connected
 *   sync              the leaders wait for each other, over the socket
 *   touch=FILE        by the leader; await=FILE
 *   spawn=FILE        the leader starts a job that puts "grand", writes its id into FILE, and
 *                     ends when there is FILE.end
 *   via=FILE          get "grand" of the job whose id stands in FILE
 *   say=TEXT abort hang exit=N
 *
 * A fence is behind every action.
 *
 * Prints "rank R: ok" at the end, or what is wrong, and ends with 0 or 1. */
#include "pmi2.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 30000 };

static int rank, size, other_size, channel = -1;
static char own[256], other[256];
static const char *master;

static void need(int good, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    if (good)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    printf("rank %d of %s: wrong: %s\n", rank, own, line);
    fflush(stdout);
    _exit(1);
}

static void doze(void)
{
    nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
}

/* --- keys -------------------------------------------------------------- */

static void put(const char *key, const char *value)
{
    int rc = PMI2_KVS_Put(key, value);

    need(rc == 0, "put %s: %d", key, rc);
}

static void fence(void)
{
    int rc = PMI2_KVS_Fence();

    need(rc == 0, "fence: %d", rc);
}

static int get(const char *job, const char *key, char *value, int max)
{
    int len = 0, rc = PMI2_KVS_Get(job, -1, key, value, max, &len);

    need(rc || (len >= 0 && len == (int)strlen(value)), "%s: length %d", key, len);
    return rc;
}

/* What a key has, so that nobody can give another for it. */
static const char *value_of(const char *key, int of)
{
    static char text[LONG + 200];
    int n = snprintf(text, sizeof text, "%s=%d;\xc3\xa4 %s", key, of, "x=;");

    if (of == 1) {
        memset(text + n, ';', LONG);
        text[n + LONG] = '\0';
    }
    return text;
}

static const char *name_of(const char *key, int of)
{
    static char text[64];

    snprintf(text, sizeof text, "%.40s.%d", key, of);
    return text;
}

static void check(const char *key, int of)
{
    static char value[65536];
    int rc = get(other, name_of(key, of), value, sizeof value);

    need(rc == 0, "get %s of %s: %d", name_of(key, of), other, rc);
    need(!strcmp(value, value_of(key, of)), "%s: '%.60s'", name_of(key, of), value);
}

static void get_all(const char *key)
{
    for (int i = 0; i < other_size; i++)
        check(key, i);
}

static void get_none(const char *key, const char *words)
{
    char value[1024];
    int rc = get(other, key, value, sizeof value);

    need(rc != 0, "%s of %s is there", key, other);
    need(strstr(PMI2_Error_message(), words) != NULL, "%s: said '%s'", key, PMI2_Error_message());
}

/* --- the socket -------------------------------------------------------- */

static int channel_read(void *buf, int max, void *ctx)
{
    return (int)read(*(int *)ctx, buf, max > 700 ? 700 : (size_t)max);   /* in pieces */
}

static int channel_write(const void *buf, int len, void *ctx)
{
    return (int)write(*(int *)ctx, buf, len > 900 ? 900 : (size_t)len);
}

static void open_channel(const char *path, int listens)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (!listens) {
        while (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
            doze();
        channel = fd;
        return;
    }
    need(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0, "%s: %s", path,
         strerror(errno));
    channel = accept(fd, NULL, NULL);
    close(fd);
}

static void send_text(const char *text)
{
    char line[300] = "";

    snprintf(line, sizeof line, "%s", text);
    need(write(channel, line, sizeof line) == sizeof line, "socket: %s", strerror(errno));
}

static void receive_text(char *line)
{
    need(recv(channel, line, 300, MSG_WAITALL) == 300, "the other leader is gone");
}

/* Both leaders know both; and then all ranks. */
static void meet(const char *path, int listens)
{
    char line[300], text[300];

    if (rank == 0) {
        open_channel(path, listens);
        snprintf(text, sizeof text, "%d %.250s", size, own);
        send_text(text);
        receive_text(line);
        put("the other", line);
    }
    fence();
    need(get(NULL, "the other", line, sizeof line) == 0, "the other job's id");
    need(sscanf(line, "%d %255s", &other_size, other) == 2, "the other job's id: '%s'", line);
}

/* --- actions of the leader --------------------------------------------- */

static void expect(int rc, const char *what, const char *how)
{
    if (!*how)
        need(rc == 0, "%s: %d, %s", what, rc, PMI2_Error_message());
    else
        need(rc != 0 && strstr(PMI2_Error_message(), how), "%s: %d, %s", what, rc,
             PMI2_Error_message());
}

static void join(const char *how, int has_channel)
{
    PMI2_Connect_comm_t conn = { channel_read, channel_write, &channel, { 0 } };

    conn.isMaster = atoi(master);
    expect(PMI2_Job_Connect(other, has_channel ? &conn : NULL), "connect", how);
}

static void sync_leaders(void)
{
    char line[300];

    send_text("sync");
    receive_text(line);
    need(!strcmp(line, "sync"), "over the socket: '%s'", line);
}

static void spawn(const char *file, const char *self)
{
    const char *argv[] = { "child", file, NULL }, **argvs[] = { argv };
    int argcs[] = { 2 }, procs[] = { 1 }, none[] = { 0 }, errors[1];
    const PMI2_keyval_t *infos[] = { NULL };
    char id[256];
    int rc = PMI2_Job_Spawn(1, &self, argcs, argvs, procs, none, infos, 0, NULL, id, sizeof id,
                            errors);

    need(rc == 0, "spawn: %d", rc);
}

static void touch(const char *path, const char *text)
{
    char new[600];
    FILE *f;

    snprintf(new, sizeof new, "%s.new", path);
    f = fopen(new, "w");
    need(f != NULL, "%s: %s", new, strerror(errno));
    fputs(text, f);
    fclose(f);
    rename(new, path);
}

static void await(const char *path, char *text, int max)
{
    FILE *f;

    while (!(f = fopen(path, "r")))
        doze();
    if (!fgets(text, max, f))
        *text = '\0';
    fclose(f);
}

static void put_many(int n)
{
    char key[64];

    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "many.%d", i);
        put(key, value_of("many", i));
    }
}

static void by_leader(const char *what, const char *arg, const char *self)
{
    if (!strcmp(what, "connect"))
        join(arg, strcmp(master, "none"));
    else if (!strcmp(what, "again"))
        join(arg, 0);
    else if (!strcmp(what, "disconnect"))
        expect(PMI2_Job_Disconnect(other), what, arg);
    else if (!strcmp(what, "sync"))
        sync_leaders();
    else if (!strcmp(what, "touch"))
        touch(arg, own);
    else if (!strcmp(what, "spawn"))
        spawn(arg, self);
    else if (!strcmp(what, "puts"))
        put_many(atoi(arg));
    else if (!strcmp(what, "say")) {
        puts(arg);
        fflush(stdout);
    } else if (!strcmp(what, "abort"))
        PMI2_Abort(1, "as the test wants it");
    else
        need(0, "action %s?", what);
}

/* --- actions of all ---------------------------------------------------- */

static void via(const char *file)
{
    char id[256], value[64];
    int rc;

    await(file, id, sizeof id);
    rc = get(id, "grand", value, sizeof value);
    need(rc == 0 && !strcmp(value, "child"), "grand of %s: %d, %s", id, rc, PMI2_Error_message());
}

static void act(char *what, const char *self)
{
    char *arg = strchr(what, '='), text[256];

    if (arg)
        *arg++ = '\0';
    else
        arg = what + strlen(what);
    if (!strcmp(what, "put"))
        put(name_of(arg, rank), value_of(arg, rank));
    else if (!strcmp(what, "get"))
        get_all(arg);
    else if (!strcmp(what, "gets"))
        for (int i = 0; i < atoi(arg); i++)
            check("many", i);
    else if (!strcmp(what, "none"))
        get_none(arg, "no key");
    else if (!strcmp(what, "refused"))
        get_none(arg, "job");
    else if (!strcmp(what, "via"))
        via(arg);
    else if (!strcmp(what, "await"))
        await(arg, text, sizeof text);
    else if (!strcmp(what, "hang"))
        pause();
    else if (!strcmp(what, "exit"))
        exit(atoi(arg));
    else if (rank == 0)
        by_leader(what, arg, self);
    fence();
}

/* The job that spawn starts. */
static int child(const char *file)
{
    char text[256], end[600];

    put("grand", "child");
    fence();
    touch(file, own);
    snprintf(end, sizeof end, "%s.end", file);
    await(end, text, sizeof text);
    return PMI2_Finalize();
}

int main(int argc, char **argv)
{
    int spawned, appnum, rc = PMI2_Init(&spawned, &size, &rank, &appnum);

    need(rc == 0 && PMI2_Job_GetId(own, sizeof own) == 0, "init: %d", rc);
    if (argc > 2 && !strcmp(argv[1], "child"))
        return child(argv[2]);
    need(argc > 3, "use: PATH listen|call MASTER ACTION...");
    master = argv[3];
    meet(argv[1], !strcmp(argv[2], "listen"));
    for (int i = 4; i < argc; i++)
        act(argv[i], argv[0]);
    rc = PMI2_Finalize();
    need(rc == 0, "finalize: %d", rc);
    printf("rank %d: ok\n", rank);
    return 0;
}
