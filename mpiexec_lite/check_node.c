/* check_node.c - see check_node.h */
#include "mpiexec_lite/check_node.h"

#include "mpiexec_lite/binding.h"
#include "mpiexec_lite/cgroup_limits.h"
#include "mpiexec_lite/child.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/libraries.h"
#include "mpiexec_lite/shown.h"
#include "mpiexec_lite/sink.h"
#include "mpiexec_lite/spread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_MAX = 16 << 20 };

static int say(int out, const char *text, size_t len)
{
    return sink_write_all(out, text, len);
}

/* One line; the object is used up. */
static int answer(int out, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    int rc = text ? say(out, text, strlen(text)) : -1;

    if (rc == 0)
        rc = say(out, "\n", 1);
    free(text);
    json_decref(object);
    return rc;
}

static int greet(int out)
{
    struct buf line = BUF_INIT;
    char host[256] = "";
    int rc;

    gethostname(host, sizeof host - 1);
    buf_printf(&line, PROXY_MARKER "%d %s %s\n", PROXY_PROTOCOL, VERSION, host);
    rc = line.failed ? -1 : say(out, buf_bytes(&line), line.len);
    buf_clear(&line);
    return rc;
}

/* The line that begins with '{': empty ones may come before. */
static json_t *read_request(int in)
{
    struct buf text = BUF_INIT;
    json_t *request = NULL;
    ssize_t n = 1;

    while (n > 0 && text.len < REQUEST_MAX &&
           !(text.len && memchr(buf_bytes(&text), '{', text.len) &&
             buf_bytes(&text)[text.len - 1] == '\n')) {
        char *room = buf_room(&text, 65536);

        n = room ? read(in, room, 65536) : -1;
        if (n > 0)
            buf_commit(&text, (size_t)n);
    }
    if (text.len)
        request = json_loadb(buf_bytes(&text), text.len, JSON_DISABLE_EOF_CHECK, NULL);
    buf_clear(&text);
    return request;
}

static double clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static json_t *limit(int which)
{
    struct rlimit l;

    if (getrlimit(which, &l) < 0 || l.rlim_max == RLIM_INFINITY)
        return json_null();
    return json_integer((json_int_t)l.rlim_max);
}

static json_t *number_or_null(long long n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static void add_machine(json_t *to)
{
    struct cgroup_limits c;
    struct statvfs shm = { 0 };

    cgroup_limits_read(&c, "/proc/self/cgroup", "/sys/fs/cgroup");
    if (statvfs("/dev/shm", &shm) < 0)
        shm = (struct statvfs){ 0 };
    json_object_set_new(to, "uid", json_integer(getuid()));
    json_object_set_new(to, "open_files", limit(RLIMIT_NOFILE));
    json_object_set_new(to, "processes", limit(RLIMIT_NPROC));
    json_object_set_new(to, "locked_memory", limit(RLIMIT_MEMLOCK));
    json_object_set_new(to, "cgroup_memory", number_or_null(c.memory));
    json_object_set_new(to, "cgroup_pids", number_or_null(c.pids));
    json_object_set_new(to, "cgroup_cpus", c.cpus < 0 ? json_null() : json_real(c.cpus));
    json_object_set_new(to, "shm", json_integer((json_int_t)(shm.f_blocks * shm.f_frsize)));
    json_object_set_new(to, "shm_free", json_integer((json_int_t)(shm.f_bavail * shm.f_frsize)));
}

/* Why nothing more can be stored there, as a file without a name finds out, which disk quotas
 * count too; where such a file cannot be made, as on NFS, what the file system says.  0:
 * something can, or it cannot be told. */
static int no_room(const char *folder)
{
    static const char block[4096];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), why = 0;
    struct statvfs s;

    if (fd >= 0) {
        why = write(fd, block, sizeof block) < 0 ? errno : 0;
        close(fd);
    } else if (errno == ENOSPC || errno == EDQUOT) {
        why = errno;
    } else if (statvfs(folder, &s) == 0 && (!s.f_bavail || (s.f_files && !s.f_favail)) &&
               !(s.f_flag & ST_RDONLY)) {
        why = ENOSPC;
    }
    return why == ENOSPC || why == EDQUOT ? why : 0;
}

static void add_full(json_t *to, const char *folder)
{
    int why = no_room(folder);

    if (why)
        json_array_append_new(to, json_pack("{s:o, s:s}", "folder", json_shown(folder), "why",
                                            strerror(why)));
}

/* Folders that are full: for memory that ranks share, for what is temporary, and where they
 * begin. */
static json_t *full_folders(const json_t *request)
{
    json_t *list = json_array();
    const char *dir = json_word(request, "dir"), *tmp = json_word(request, "tmp");

    add_full(list, "/dev/shm");
    add_full(list, *tmp ? tmp : "/tmp");
    if (*dir)
        add_full(list, dir);
    return list;
}

/* Its libraries, as the ranks' LD_LIBRARY_PATH lets them be found. */
static void add_missing(json_t *to, const json_t *program, const char *path)
{
    const char *libraries = json_word(program, "libraries");
    struct buf variable = BUF_INIT;
    char *envp[2] = { NULL, NULL };
    struct strlist missing = { 0 };
    json_t *list = json_array();
    struct err e = { 0 };

    buf_printf(&variable, "LD_LIBRARY_PATH=%s", libraries);
    if (*libraries && !variable.failed)
        envp[0] = buf_bytes(&variable);
    if (libraries_missing(path, envp, &missing, &e) < 0)
        json_object_set_new(to, "problem", json_shown(e.text));
    for (size_t i = 0; i < missing.n; i++)
        json_array_append_new(list, json_shown(missing.v[i]));
    json_object_set_new(to, "missing", list);
    strlist_clear(&missing);
    buf_clear(&variable);
}

static const char *word_or_null(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int number_of(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

/* As -report-bindings has it. */
static json_t *draw(const struct binding *b, const json_t *ranks)
{
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        struct buf text = BUF_INIT;

        buf_printf(&text, "rank %lld: ", (long long)json_integer_value(json_array_get(ranks, i)));
        binding_draw(b->topo, binding_cpus(b, (int)i), &text);
        if (!text.failed)
            json_array_append_new(list, json_shown(buf_bytes(&text)));
        buf_clear(&text);
    }
    return list;
}

/* Why ranks cannot be bound here as they are to be, or to what they would be. */
static void add_binding(json_t *to, const json_t *how)
{
    struct plan plan = { .map = {
        .bind = (char *)word_or_null(how, "bind"), .by = (char *)word_or_null(how, "by"),
        .memory = (char *)word_or_null(how, "memory"), .cpus = (char *)word_or_null(how, "cpus"),
        .each = number_of(how, "each"), .gpus = number_of(how, "gpus"),
    } };
    struct app app = { .bind = NULL };
    struct binding_request q = { .plan = &plan, .app = &app, .n = number_of(how, "ranks"),
                                 .jobid = "", .crowd_wanted = true };
    struct topo_here here = { .read = false };
    struct strlist notes = { 0 };
    struct err e = { 0 };
    struct binding b;

    if (binding_make(&b, &here, &q, &notes, &e) < 0)
        json_object_set_new(to, "binding", json_shown(e.text));
    else if (b.topo && json_object_get(how, "draw"))
        json_object_set_new(to, "drawn", draw(&b, json_object_get(how, "draw")));
    strlist_clear(&notes);
    binding_clear(&b);
    topo_here_clear(&here);
}

/* -arch: it is for another kind of machine than this. */
static bool is_foreign(const json_t *program, struct err *e)
{
    const char *wanted = word_or_null(program, "arch");
    struct utsname u;

    if (!wanted || uname(&u) < 0 || !strcasecmp(wanted, u.machine))
        return false;
    err_set(e, ERR_OTHER, "it is %.40s, and -arch wants %.40s for %.100s", u.machine, wanted,
            json_word(program, "argv0"));
    return true;
}

static json_t *look_at(const json_t *program)
{
    const char *wdir = word_or_null(program, "wdir"), *agent = word_or_null(program, "agent");
    const char *search = word_or_null(program, "search");
    json_t *to = json_object();
    char found[PATH_MAX], unused[PATH_MAX];
    struct err e = { 0 };
    int status;

    if (!search)
        search = "/usr/bin:/bin";
    if (is_foreign(program, &e)) {
        json_object_set_new(to, "problem", json_shown(e.text));
    } else if (wdir && chdir(wdir) < 0) {
        err_set(&e, ERR_OTHER, "there is no directory %.300s", wdir);
        json_object_set_new(to, "problem", json_shown(e.text));
    } else if (program_find(json_word(program, "argv0"), NULL, word_or_null(program, "path"),
                            search, found, sizeof found, &status, &e) < 0) {
        json_object_set_new(to, "problem", json_shown(e.text));
    } else if (agent && program_find(agent, NULL, NULL, search, unused, sizeof unused, &status,
                                     &e) < 0) {
        err_context(&e, LAUNCH_AGENT);
        json_object_set_new(to, "problem", json_shown(e.text));
    } else {
        json_object_set_new(to, "path", json_shown(found));
        add_missing(to, program, found);
    }
    return to;
}

static json_t *facts(const json_t *request)
{
    const json_t *programs = json_object_get(request, "programs");
    const char *dir = json_word(request, "dir");
    json_t *to = json_object(), *list = json_array();

    add_machine(to);
    json_object_set_new(to, "full", full_folders(request));
    if (json_object_get(request, "binding"))
        add_binding(to, json_object_get(request, "binding"));
    for (size_t i = 0; i < json_array_size(programs); i++) {
        if (*dir && chdir(dir) < 0)      /* as for a rank, where it is not there */
            dir = "";
        json_array_append_new(list, look_at(json_array_get(programs, i)));
    }
    json_object_set_new(to, "programs", list);
    return to;
}

int check_node_serve(int in, int out)
{
    json_t *request = NULL;
    int status = 1;

    if (greet(out) == 0 && (request = read_request(in)) &&
        answer(out, json_pack("{s:f}", "clock", clock_now())) == 0 &&
        answer(out, facts(request)) == 0)
        status = 0;
    json_decref(request);
    return status;
}
