/* tool_follow.c - waiting, while callbacks print, for signals and for the end. */
#include "pmix_ext/tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

int follow_start(struct follow *f)
{
    sigset_t set;

    *f = (struct follow){ .signals = -1, .wake = -1, .input = -1 };
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    f->signals = signalfd(-1, &set, SFD_CLOEXEC);
    f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (f->signals >= 0 && f->wake >= 0)
        return 0;
    follow_stop(f);
    return tool_fail(STATUS_FAILED, "descriptors to wait for: %s", strerror(errno));
}

void follow_stop(struct follow *f)
{
    if (f->signals >= 0)
        close(f->signals);
    if (f->wake >= 0)
        close(f->wake);
    f->signals = f->wake = -1;
}

void follow_end(struct follow *f, int status)
{
    bool begun = false;

    if (!atomic_compare_exchange_strong(&f->begun, &begun, true))
        return;
    f->status = status;
    f->ended = true;
    follow_stir(f);
}

void follow_stir(struct follow *f)
{
    eventfd_write(f->wake, 1);
}

int follow_wait(struct follow *f, double seconds)
{
    struct pollfd p[] = { { .fd = f->signals, .events = POLLIN },
                          { .fd = f->wake, .events = POLLIN },
                          { .fd = f->input, .events = POLLIN } };
    struct signalfd_siginfo info;
    eventfd_t stirred;

    if (poll(p, 3, seconds < 0 ? -1 : (int)(seconds * 1000)) <= 0)
        return 0;
    if (p[1].revents) {
        eventfd_read(f->wake, &stirred);
        return 0;
    }
    if (p[0].revents && read(f->signals, &info, sizeof info) == sizeof info)
        return (int)info.ssi_signo;
    return p[2].revents ? FOLLOW_INPUT : 0;
}

/* --- events ------------------------------------------------------------ */

int tool_register(const pmix_status_t *codes, size_t n, pmix_notification_fn_t fn, void *object)
{
    pmix_info_t infos[1];
    pmix_status_t status;

    PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_RETURN_OBJECT, object, PMIX_POINTER);
    status = PMIx_Register_event_handler((pmix_status_t *)(uintptr_t)codes, n, infos, 1, fn, NULL,
                                         NULL);
    return status >= 0 ? 0 : tool_failed("registering for events", status);
}

void *tool_object(const pmix_info_t *infos, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(infos[i].key, PMIX_EVENT_RETURN_OBJECT))
            return infos[i].value.data.ptr;
    return NULL;
}

static void connection_lost(size_t id, pmix_status_t status, const pmix_proc_t *source,
                            pmix_info_t infos[], size_t ninfos, pmix_info_t *results,
                            size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                            void *cbdata)
{
    struct follow *f = tool_object(infos, ninfos);

    (void)id;
    (void)status;
    (void)results;
    (void)nresults;
    if (PMIX_CHECK_NSPACE(source->nspace, f->server.nspace))     /* and no rank's */
        follow_end(f, f->when_lost);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

int follow_connection(struct follow *f, int status)
{
    static const pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    pmix_proc_t *servers = NULL;
    size_t n = 0;

    f->when_lost = status;
    if (PMIx_tool_get_servers(&servers, &n) != PMIX_SUCCESS || !n)
        return tool_fail(STATUS_NO_SERVER, "the server has gone");
    f->server = servers[0];
    PMIX_PROC_FREE(servers, n);
    return tool_register(&lost, 1, connection_lost, f);
}
