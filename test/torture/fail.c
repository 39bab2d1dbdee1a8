/* fail.c - a library to preload into mpiexec_lite: it counts the calls that can
 * fail, makes one of them fail, or disturbs many of them.
 *
 * What to do and what was seen is in the file named by TORTURE, mapped into the
 * front and, by inheritance, into the root: both count into it, each in a row of
 * its own.  The ranks never have the library: LD_PRELOAD and TORTURE leave the
 * environment before main() runs.  Between vfork and exec a child counts as the
 * root, whose memory it uses.
 *
 * What libc calls inside itself cannot be replaced, except malloc and its kin. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

/* The classes of calls.  test/torture/run reads their names from here. */
#define CLASSES(X) \
    X(memory) X(read) X(write) X(fork) X(vfork) X(socket) X(pipe) X(open) \
    X(epoll_create) X(epoll_ctl) X(epoll_wait) X(signalfd) X(fcntl) X(dup2) X(execve) \
    X(process) X(poll) X(accept) X(stat) X(random) X(truncate)

#define ID(name) C_##name,
enum class { CLASSES(ID) C_COUNT };

enum role { FRONT, ROOT, ROLES };
enum mode { COUNT, FAIL, DISTURB };
enum { FRAMES = 24 };

/* Laid out as the struct.Struct of test/torture/run. */
struct shared {
    uint32_t mode, role, class, k, err, sticky, seed;    /* what to do */
    uint32_t fired;              /* 1: it failed; 2: err is not legal there: it did not */
    uint32_t on_stderr;          /* the call was a write to what stderr is */
    uint32_t disturbed;
    int32_t  root_pid, root_status, root_reaped;
    uint32_t frames;
    uint64_t frame[FRAMES];      /* return addresses, as offsets in the program */
    uint32_t count[ROLES][C_COUNT];
};

static struct shared *shared;    /* NULL: do nothing at all */
static enum role role = FRONT;
static uint64_t dice;
static bool signal_fd[1024];     /* those of signalfd: never read in part */

/* --- the real ones ----------------------------------------------------- */

#define REAL(name) ((__typeof__(&name))real(#name, &(static_##name)))
#define HOLD(name) static void *static_##name;

static volatile int resolving;     /* dlsym is at work, and may come back here */

static void *real(const char *name, void **held)
{
    if (!*held) {
        resolving++;
        *held = dlsym(RTLD_NEXT, name);
        resolving--;
    }
    return *held;
}

#define CALLS(X) \
    X(malloc) X(calloc) X(realloc) X(free) X(read) X(recv) X(write) X(send) X(fork) X(vfork) \
    X(socket) X(socketpair) X(pipe2) X(open) X(opendir) X(fopen) X(epoll_create1) \
    X(epoll_create) X(epoll_ctl) X(epoll_wait) X(signalfd) X(fcntl) X(dup2) X(execve) X(setpgid) \
    X(prctl) X(setsid) X(poll) X(accept4) X(bind) X(listen) X(stat) X(fstat) X(access) \
    X(getrandom) X(ftruncate) X(waitpid) X(setrlimit) X(getcwd) X(chdir)
CALLS(HOLD)

/* All of them before there is a child: children between vfork and exec share this memory
 * and its thread's name, so two of them in dlsym at a time would spoil its lock. */
static void resolve_all(void)
{
#define RESOLVE(name) (void)REAL(name);
    CALLS(RESOLVE)
}

/* --- what happens to a call -------------------------------------------- */

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *c, void *arg)
{
    struct shared *s = arg;
    uintptr_t at = _Unwind_GetIP(c);
    Dl_info program;

    if (s->frames == FRAMES)
        return _URC_END_OF_STACK;
    if (dladdr((void *)at, &program) && program.dli_fname &&
        strstr(program.dli_fname, "mpiexec_lite"))
        s->frame[s->frames++] = at - (uintptr_t)program.dli_fbase - 1;
    return _URC_NO_REASON;
}

/* fd is another name of what stderr is, and not of what stdout is. */
static bool is_stderr(int fd)
{
    struct stat a, b, out;

    if (fd < 0 || REAL(fstat)(fd, &a) < 0 || REAL(fstat)(STDERR_FILENO, &b) < 0)
        return false;
    if (REAL(fstat)(STDOUT_FILENO, &out) == 0 && out.st_dev == b.st_dev &&
        out.st_ino == b.st_ino)
        return false;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Could the kernel have said err there?  What it says of a socket's peer that is
 * gone, it goes on saying: the socket is shut. */
static bool legal(enum class c, int err, int fd, int flags)
{
    struct stat st;
    bool socket;

    if ((c != C_read && c != C_write) || err == EINTR)
        return true;
    if (err == EAGAIN)
        return (flags & MSG_DONTWAIT) || (REAL(fcntl)(fd, F_GETFL) & O_NONBLOCK);
    socket = REAL(fstat)(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    if (err == EIO || err == ENOSPC)
        return !socket;
    if (socket && (err == EPIPE || err == ECONNRESET))
        shutdown(fd, SHUT_RDWR);
    return socket;                       /* a pipe's reader is there: no EPIPE */
}

/* Count a call.  The errno that it is to fail with, or 0. */
static int hit(enum class c, int fd, int flags)
{
    uint32_t n;

    if (!shared)
        return 0;
    n = ++shared->count[role][c];
    if (shared->mode != FAIL || shared->role != role || shared->class != c ||
        (n != shared->k && !(shared->sticky && n > shared->k)))
        return 0;
    if (!legal(c, (int)shared->err, fd, flags)) {
        shared->fired = 2;
        return 0;
    }
    if (!shared->fired) {
        struct shared *s = shared;

        shared = NULL;           /* what noting calls is not counted */
        s->on_stderr = c == C_write && is_stderr(fd);
        _Unwind_Backtrace(note_frame, s);
        s->fired = 1;
        shared = s;
    }
    return (int)shared->err;
}

static unsigned roll(unsigned sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)((dice >> 20) % sides);
}

static bool disturbs(void)
{
    return shared && shared->mode == DISTURB;
}

/* Now and then a call is interrupted before it did anything. */
static bool interrupts(void)
{
    if (!disturbs() || roll(4))
        return false;
    shared->disturbed++;
    errno = EINTR;
    return true;
}

/* How much of len bytes a read or write of fd takes. */
static size_t part(int fd, size_t len, bool reading)
{
    struct stat st;

    if (!disturbs() || len < 2 || (fd >= 0 && fd < 1024 && signal_fd[fd]) ||
        REAL(fstat)(fd, &st) < 0 || (reading && S_ISREG(st.st_mode)) || roll(2))
        return len;
    shared->disturbed++;
    return 1 + roll(roll(2) ? 8 : (unsigned)(len > 1 << 20 ? 1 << 20 : len)) % len;
}

#define FAIL_WITH(c, fd, flags, value) \
    do { \
        int err_ = hit(c, fd, flags); \
        if (err_) { \
            errno = err_; \
            return value; \
        } \
    } while (0)

/* --- memory ------------------------------------------------------------ */

/* What dlsym itself asks for while malloc is being looked up. */
static char early[8192] __attribute__((aligned(16)));
static size_t early_used;

static void *early_alloc(size_t n)
{
    void *p = early + early_used;

    n = (n + 15) & ~(size_t)15;
    if (early_used + n > sizeof early)
        return NULL;
    early_used += n;
    return p;
}

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

void *malloc(size_t n)
{
    if (resolving && !static_malloc)
        return early_alloc(n);
    FAIL_WITH(C_memory, -1, 0, NULL);
    return REAL(malloc)(n);
}

void *calloc(size_t n, size_t size)
{
    if (resolving && !static_calloc)
        return early_alloc(n * size);
    FAIL_WITH(C_memory, -1, 0, NULL);
    return REAL(calloc)(n, size);
}

void *realloc(void *p, size_t n)
{
    void *q;

    if (is_early(p)) {
        q = malloc(n);
        if (q)
            memcpy(q, p, n < (size_t)(early + sizeof early - (char *)p) ? n :
                   (size_t)(early + sizeof early - (char *)p));
        return q;
    }
    FAIL_WITH(C_memory, -1, 0, NULL);
    return REAL(realloc)(p, n);
}

void free(void *p)
{
    if (!p || is_early(p) || (resolving && !static_free))
        return;
    REAL(free)(p);
}

/* Under a sanitizer these would not come to malloc above. */
static char *copy_of(const char *s, size_t n)
{
    char *copy = malloc(n + 1);

    if (copy) {
        memcpy(copy, s, n);
        copy[n] = '\0';
    }
    return copy;
}

char *strndup(const char *s, size_t max)
{
    return copy_of(s, strnlen(s, max));
}

char *strdup(const char *s)
{
    return copy_of(s, strlen(s));
}

/* --- reading and writing ----------------------------------------------- */

ssize_t read(int fd, void *data, size_t len)
{
    FAIL_WITH(C_read, fd, 0, -1);
    if (interrupts())
        return -1;
    return REAL(read)(fd, data, part(fd, len, true));
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
    FAIL_WITH(C_read, fd, flags, -1);
    if (interrupts())
        return -1;
    return REAL(recv)(fd, data, part(fd, len, true), flags);
}

ssize_t write(int fd, const void *data, size_t len)
{
    FAIL_WITH(C_write, fd, 0, -1);
    if (interrupts())
        return -1;
    return REAL(write)(fd, data, part(fd, len, false));
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
    FAIL_WITH(C_write, fd, flags, -1);
    if (interrupts())
        return -1;
    return REAL(send)(fd, data, part(fd, len, false), flags);
}

/* --- descriptors ------------------------------------------------------- */

int socket(int domain, int type, int protocol)
{
    FAIL_WITH(C_socket, -1, 0, -1);
    return REAL(socket)(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fd[2])
{
    FAIL_WITH(C_socket, -1, 0, -1);
    return REAL(socketpair)(domain, type, protocol, fd);
}

int bind(int fd, const struct sockaddr *a, socklen_t len)
{
    FAIL_WITH(C_socket, fd, 0, -1);
    return REAL(bind)(fd, a, len);
}

int listen(int fd, int n)
{
    FAIL_WITH(C_socket, fd, 0, -1);
    return REAL(listen)(fd, n);
}

int accept4(int fd, struct sockaddr *a, socklen_t *len, int flags)
{
    FAIL_WITH(C_accept, fd, 0, -1);
    if (interrupts())
        return -1;
    return REAL(accept4)(fd, a, len, flags);
}

int pipe2(int fd[2], int flags)
{
    FAIL_WITH(C_pipe, -1, 0, -1);
    return REAL(pipe2)(fd, flags);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode = 0;

    if (flags & (O_CREAT | O_TMPFILE)) {
        va_start(ap, flags);
        mode = va_arg(ap, mode_t);
        va_end(ap);
    }
    FAIL_WITH(C_open, -1, 0, -1);
    return REAL(open)(path, flags, mode);
}

DIR *opendir(const char *path)
{
    FAIL_WITH(C_open, -1, 0, NULL);
    return REAL(opendir)(path);
}

FILE *fopen(const char *path, const char *mode)
{
    FAIL_WITH(C_open, -1, 0, NULL);
    return REAL(fopen)(path, mode);
}

int fcntl(int fd, int cmd, ...)
{
    va_list ap;
    void *arg;

    va_start(ap, cmd);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)    /* the others do not fail */
        FAIL_WITH(C_fcntl, fd, 0, -1);
    return REAL(fcntl)(fd, cmd, arg);
}

int dup2(int fd, int at)
{
    FAIL_WITH(C_dup2, fd, 0, -1);
    return REAL(dup2)(fd, at);
}

int stat(const char *path, struct stat *st)
{
    FAIL_WITH(C_stat, -1, 0, -1);
    return REAL(stat)(path, st);
}

int fstat(int fd, struct stat *st)
{
    FAIL_WITH(C_stat, fd, 0, -1);
    return REAL(fstat)(fd, st);
}

int access(const char *path, int mode)
{
    FAIL_WITH(C_stat, -1, 0, -1);
    return REAL(access)(path, mode);
}

char *getcwd(char *path, size_t size)
{
    FAIL_WITH(C_stat, -1, 0, NULL);
    return REAL(getcwd)(path, size);
}

int chdir(const char *path)
{
    FAIL_WITH(C_stat, -1, 0, -1);
    return REAL(chdir)(path);
}

int ftruncate(int fd, off_t len)
{
    FAIL_WITH(C_truncate, fd, 0, -1);
    return REAL(ftruncate)(fd, len);
}

ssize_t getrandom(void *data, size_t len, unsigned flags)
{
    FAIL_WITH(C_random, -1, 0, -1);
    return REAL(getrandom)(data, len, flags);
}

/* --- waiting ----------------------------------------------------------- */

int epoll_create1(int flags)
{
    FAIL_WITH(C_epoll_create, -1, 0, -1);
    return REAL(epoll_create1)(flags);
}

/* libev falls back to it: a failure of the other is then one of both. */
int epoll_create(int size)
{
    if (shared && shared->mode == FAIL && shared->fired && shared->class == C_epoll_create) {
        errno = (int)shared->err;
        return -1;
    }
    return REAL(epoll_create)(size);
}

int epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
    FAIL_WITH(C_epoll_ctl, fd, 0, -1);
    return REAL(epoll_ctl)(ep, op, fd, ev);
}

int epoll_wait(int ep, struct epoll_event *ev, int n, int timeout)
{
    FAIL_WITH(C_epoll_wait, -1, 0, -1);
    if (interrupts())
        return -1;
    return REAL(epoll_wait)(ep, ev, n, timeout);
}

int poll(struct pollfd *p, nfds_t n, int timeout)
{
    FAIL_WITH(C_poll, -1, 0, -1);
    if (interrupts())
        return -1;
    return REAL(poll)(p, n, timeout);
}

int signalfd(int fd, const sigset_t *set, int flags)
{
    int made;

    FAIL_WITH(C_signalfd, -1, 0, -1);
    made = REAL(signalfd)(fd, set, flags);
    if (made >= 0 && made < 1024)
        signal_fd[made] = true;
    return made;
}

/* --- processes --------------------------------------------------------- */

pid_t fork(void)
{
    pid_t pid;

    FAIL_WITH(C_fork, -1, 0, -1);
    pid = REAL(fork)();
    if (!shared || role != FRONT)
        return pid;
    if (pid == 0) {
        role = ROOT;
        dice = dice * 31 + 7;
    } else {
        shared->root_pid = pid;
    }
    return pid;
}

/* How the root ended, as the front learns it. */
pid_t waitpid(pid_t pid, int *status, int flags)
{
    int here = 0;
    pid_t got = REAL(waitpid)(pid, &here, flags);

    if (status)
        *status = here;
    if (got > 0 && shared && role == FRONT && got == shared->root_pid) {
        shared->root_status = here;
        shared->root_reaped = 1;
    }
    return got;
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    FAIL_WITH(C_execve, -1, 0, -1);
    return REAL(execve)(path, argv, envp);
}

int setpgid(pid_t pid, pid_t group)
{
    FAIL_WITH(C_process, -1, 0, -1);
    return REAL(setpgid)(pid, group);
}

pid_t setsid(void)
{
    FAIL_WITH(C_process, -1, 0, -1);
    return REAL(setsid)();
}

int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
    FAIL_WITH(C_process, -1, 0, -1);
    return REAL(setrlimit)(what, limit);
}

int prctl(int option, ...)
{
    unsigned long a[4];
    va_list ap;

    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, unsigned long);
    va_end(ap);
    FAIL_WITH(C_process, -1, 0, -1);
    return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}

/* vfork returns twice, on one stack: what stands between the caller and the real
 * one must not have a frame of its own.  So the decision is made in C and the
 * rest is a jump. */
void *torture_vfork(void);
void *torture_vfork(void)
{
    int err = hit(C_vfork, -1, 0);

    if (!err)
        return (void *)REAL(vfork);
    errno = err;
    return NULL;
}

#if defined __x86_64__
__asm__(".text\n.globl vfork\n.type vfork,@function\nvfork:\n"
        "    endbr64\n"
        "    sub $8, %rsp\n"
        "    call torture_vfork@PLT\n"
        "    add $8, %rsp\n"
        "    test %rax, %rax\n"
        "    je 1f\n"
        "    jmp *%rax\n"
        "1:  mov $-1, %eax\n"
        "    ret\n"
        ".size vfork, .-vfork\n");
#elif defined __aarch64__
__asm__(".text\n.globl vfork\n.type vfork,%function\nvfork:\n"
        "    stp x29, x30, [sp, -16]!\n"
        "    bl torture_vfork\n"
        "    ldp x29, x30, [sp], 16\n"
        "    cbz x0, 1f\n"
        "    br x0\n"
        "1:  mov w0, -1\n"
        "    ret\n"
        ".size vfork, .-vfork\n");
#endif                               /* elsewhere vfork is left alone */

/* --- start ------------------------------------------------------------- */

__attribute__((constructor))
static void start(void)
{
    const char *path = getenv("TORTURE");
    char comm[64] = "";
    struct shared *s;
    int fd;

    unsetenv("LD_PRELOAD");          /* the ranks run without us */
    fd = REAL(open)("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = REAL(read)(fd, comm, sizeof comm - 1);

        comm[n > 0 ? n : 0] = '\0';
        close(fd);
    }
    if (!path || strncmp(comm, "mpiexec_lite", 12))
        return;
    fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
    unsetenv("TORTURE");
    if (fd < 0)
        return;
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s == MAP_FAILED)
        return;
    resolve_all();
    dice = s->seed * 0x9E3779B97F4A7C15u + 1;
    shared = s;
}
