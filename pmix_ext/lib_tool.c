/* lib_tool.c - a tool and its servers; see lib.h */
#include "pmix_ext/lib.h"

#include "pmix_ext/find.h"
#include "pmix_ext/hold_text.h"
#include "pmix_ext/reason.h"
#include "pmix_ext/value.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- opening ----------------------------------------------------------- */

static pmix_status_t mismatch(const char *key, const char *want, struct err *e)
{
    err_set(e, ERR_INVALID_ARG, "%s has another type, want %s", key, want);
    return PMIX_ERR_TYPE_MISMATCH;
}

/* The name and rank a tool asks for; "" and PMIX_RANK_UNDEF: none.  The standard has the rank as
 * uint32_t; one that it is given back is a pmix_rank_t. */
static pmix_status_t wanted_name(const pmix_info_t *infos, size_t n, pmix_proc_t *name,
                                 struct err *e)
{
    const pmix_value_t *v = attr_find(infos, n, PMIX_TOOL_NSPACE);
    const pmix_value_t *r = attr_find(infos, n, PMIX_TOOL_RANK);

    if (v && v->type != PMIX_STRING)
        return mismatch(PMIX_TOOL_NSPACE, "PMIX_STRING", e);
    if (r && r->type != PMIX_PROC_RANK && r->type != PMIX_UINT32)
        return mismatch(PMIX_TOOL_RANK, "PMIX_PROC_RANK or PMIX_UINT32", e);
    PMIX_LOAD_PROCID(name, v ? v->data.string : NULL, PMIX_RANK_UNDEF);
    if (!r)
        return PMIX_SUCCESS;
    name->rank = r->type == PMIX_UINT32 ? r->data.uint32 : r->data.rank;
    if (name->rank < PMIX_RANK_VALID)
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_ARG, "%s: a rank is wanted", PMIX_TOOL_RANK);
    return PMIX_ERR_BAD_PARAM;
}

static struct link *open_found(const struct found *f, const pmix_info_t *infos, size_t n,
                               pmix_status_t *status, struct err *e)
{
    pmix_proc_t name;
    int fd;

    if (f->how == FOUND_RANK)
        return link_open_rank(status);
    *status = wanted_name(infos, n, &name, e);
    if (*status != PMIX_SUCCESS)
        return NULL;
    *status = PMIX_ERR_UNREACH;
    fd = find_connect(f, e);
    if (fd < 0)
        return NULL;
    return link_open_tool(fd, &name, f->at.nspace, status, e);
}

static const struct ask servers_ask = { "pmix-servers", "servers", TAKES_TEXT, 0, NULL };

static void take_socket(const char *text, const char *nspace, struct found *f)
{
    json_t *all = json_loads(text, 0, NULL), *one;
    size_t i;

    json_array_foreach(all, i, one) {
        const char *name = json_string_value(json_object_get(one, "nspace"));
        const char *uri = json_string_value(json_object_get(one, "uri"));

        if (!name || !uri || strcmp(name, nspace) || strncmp(uri, "unix:", 5) ||
            strlen(uri + 5) >= sizeof f->at.socket)
            continue;
        *f = (struct found){ .how = FOUND_SOCKET, .fd = -1, .told = true };
        snprintf(f->at.socket, sizeof f->at.socket, "%s", uri + 5);
        snprintf(f->at.nspace, sizeof f->at.nspace, "%s", nspace);
        break;
    }
    json_decref(all);
}

/* The system's server among ours, which root serves, or NULL; to be dropped. */
static struct link *link_system(void)
{
    struct ucred who;
    struct link *l;

    pthread_mutex_lock(&lib.lock);
    TAILQ_FOREACH(l, &lib.links, in_lib)
        if (l->resident && getsockopt(l->client.fd, SOL_SOCKET, SO_PEERCRED, &who,
                                      &(socklen_t){ sizeof who }) == 0 && who.uid == 0)
            break;
    if (l)
        l->refs++;
    pthread_mutex_unlock(&lib.lock);
    return l;
}

/* No folder that we trust has this launcher.  The system's server may know where it is: it
 * tells root of all users'. */
static bool is_told(const char *nspace, struct found *f)
{
    struct link *l = link_system();
    struct op op;

    find_clear(f);
    f->told = false;
    if (!l)
        return false;
    op_start_on(&op, &servers_ask, l);
    link_drop(l);
    if (op_run(&op) == PMIX_SUCCESS && op.text)
        take_socket(op.text, nspace, f);
    op_end(&op);
    return f->told;
}

static struct link *open_tool(const pmix_info_t *infos, size_t n, pmix_status_t *status)
{
    struct find_wants wants;
    struct err e = { ERR_NONE, "" };
    struct found f = { .fd = -1 };
    struct link *l = NULL;

    *status = find_read(infos, n, &wants, &e);
    if (*status == PMIX_SUCCESS)
        *status = find_server(&wants, &f, &e);
    if (*status == PMIX_ERR_UNREACH && wants.nspace && is_told(wants.nspace, &f))
        *status = PMIX_SUCCESS;
    if (*status == PMIX_SUCCESS)
        l = open_found(&f, infos, n, status, &e);
    find_clear(&f);
    reason_keep(*status, e.text);
    return l;
}

static bool is_known(const char *key)
{
    static const char *const keys[] = {
        PMIX_TOOL_NSPACE, PMIX_TOOL_RANK, PMIX_TOOL_DO_NOT_CONNECT, PMIX_TOOL_CONNECT_OPTIONAL,
        PMIX_PRIMARY_SERVER,
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i], key))
            return true;
    return find_knows(key);
}

/* A tool may do without a server, if it says so. */
static struct link *open_any(const pmix_info_t *infos, size_t n, pmix_status_t *status)
{
    struct link *l;

    *status = PMIX_SUCCESS;
    if (attr_true(infos, n, PMIX_TOOL_DO_NOT_CONNECT))
        return NULL;
    l = open_tool(infos, n, status);
    if (!l && *status == PMIX_ERR_UNREACH && attr_true(infos, n, PMIX_TOOL_CONNECT_OPTIONAL))
        *status = PMIX_SUCCESS;
    return l;
}

pmix_status_t PMIx_tool_init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo)
{
    pmix_status_t status = attr_required(info, ninfo, is_known);

    return status == PMIX_SUCCESS ? lib_begin(open_any, info, ninfo, proc) : status;
}

pmix_status_t PMIx_tool_finalize(void)
{
    return lib_finish();
}

/* --- several servers --------------------------------------------------- */

static pmix_status_t attach(pmix_proc_t *me, pmix_proc_t *server, const pmix_info_t *infos,
                            size_t n, bool primary)
{
    pmix_status_t status;
    struct link *l;

    if (!lib_begun())
        return PMIX_ERR_INIT;
    status = attr_required(infos, n, is_known);
    l = status == PMIX_SUCCESS ? open_tool(infos, n, &status) : NULL;
    if (!l)
        return status;
    if (me)
        *me = l->me;
    if (server)
        *server = l->server;
    lib_add(l, primary);
    return link_direct_kept(l);
}

pmix_status_t PMIx_tool_attach_to_server(pmix_proc_t *myproc, pmix_proc_t *server,
                                         pmix_info_t info[], size_t ninfo)
{
    pmix_status_t status;

    pthread_mutex_lock(&lib.life);
    status = attach(myproc, server, info, ninfo,
                    attr_true(info, ninfo, PMIX_PRIMARY_SERVER));
    pthread_mutex_unlock(&lib.life);
    return status;
}

/* --- several servers --------------------------------------------------- */

/* l: referenced.  What it has said to our directives. */
static pmix_status_t make_primary(struct link *l)
{
    struct link *x;

    pthread_mutex_lock(&lib.lock);
    TAILQ_FOREACH(x, &lib.links, in_lib)
        if (x == l)
            break;
    if (x) {
        TAILQ_REMOVE(&lib.links, l, in_lib);
        TAILQ_INSERT_HEAD(&lib.links, l, in_lib);
        lib.me = l->me;
    }
    pthread_mutex_unlock(&lib.lock);
    return x ? l->refused : PMIX_ERR_UNREACH;
}

/* --- a launcher is started --------------------------------------------- */

/* f: where it is found.  Referenced; NULL and *status. */
static struct link *open_new(const struct found *f, pmix_status_t *status, struct err *e)
{
    struct link *l = open_found(f, NULL, 0, status, e);

    if (!l)
        return NULL;
    link_keep(l);
    if (lib_add_late(l))
        return l;
    link_close(l);
    link_drop(l);
    *status = PMIX_ERR_INIT;
    return NULL;
}

/* It calls us, and is our first server from then on. */
static struct link *await_call(pid_t pid, pmix_status_t *status, struct err *e)
{
    struct link *l = listen_wait("", FIND_PATIENCE, pid);

    if (!l) {
        err_set(e, ERR_OTHER, "process %d has ended, or does not call this tool", (int)pid);
        *status = PMIX_ERR_JOB_FAILED_TO_LAUNCH;
        return NULL;
    }
    *status = make_primary(l);
    return l;
}

bool tool_is_launcher(const pmix_info_t *infos, size_t n)
{
    return attr_true(infos, n, PMIX_SPAWN_TOOL) || attr_true(infos, n, PMIX_SPAWN_LAUNCHER);
}

/* The caller's own program, which is a launcher.  With directives for it, or a URI in its
 * environment, it calls us; else it is called. */
static struct link *start_own(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                              size_t napps, pmix_status_t *status, struct err *e)
{
    const pmix_value_t *v = attr_find(infos, ninfo, PMIX_LAUNCH_DIRECTIVES);
    const pmix_data_array_t *dirs = v ? directives_of(v) : NULL;
    struct find_program p = { .uri = v != NULL };
    struct link *l;

    if (v && !dirs) {
        err_set(e, ERR_INVALID_VAL, "%s is no array of PMIX_INFO", PMIX_LAUNCH_DIRECTIVES);
        *status = PMIX_ERR_TYPE_MISMATCH;
        return NULL;
    }
    *status = listen_uri(p.own, sizeof p.own);
    if (*status == PMIX_SUCCESS)
        *status = find_start_program(infos, ninfo, apps, napps, &p, e);
    if (*status != PMIX_SUCCESS)
        return NULL;
    l = p.uri ? await_call(p.pid, status, e) : open_new(&p.f, status, e);
    if (l && *status == PMIX_SUCCESS && dirs)
        *status = link_direct(l, dirs);
    return l;
}

/* --- one of ours ------------------------------------------------------- */

static size_t add_holds(const pmix_info_t *infos, size_t n, pmix_info_t *to)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        if (hold_place_of(infos[i].key))
            to[found++] = infos[i];
    return found;
}

/* Infos, borrowed, that say which ranks are held; NULL: no memory. */
static pmix_info_t *find_holds(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                               size_t napps, size_t *n)
{
    size_t most = ninfo;
    pmix_info_t *holds;

    for (size_t i = 0; i < napps; i++)
        most += apps[i].ninfo;
    holds = calloc(most + 1, sizeof *holds);
    *n = holds ? add_holds(infos, ninfo, holds) : 0;
    for (size_t i = 0; holds && i < napps; i++)
        *n += add_holds(apps[i].info, apps[i].ninfo, holds + *n);
    return holds;
}

/* Ranks that are held end with us, who wanted it: so the launcher calls us, starts nothing if we
 * are gone, and holds them on our behalf. */
static struct link *start_held(const pmix_info_t *holds, size_t n, const pmix_info_t *infos,
                               size_t ninfo, const pmix_app_t *apps, size_t napps,
                               pmix_status_t *status, struct err *e)
{
    struct find_program p = { .uri = true };
    struct link *l = NULL;

    *status = listen_uri(p.own, sizeof p.own);
    if (*status == PMIX_SUCCESS)
        *status = find_start_launcher(infos, ninfo, apps, napps, &p, e);
    if (*status == PMIX_SUCCESS)
        l = await_call(p.pid, status, e);
    if (l && *status == PMIX_SUCCESS)
        *status = link_direct(l, &(pmix_data_array_t){ PMIX_INFO, n, (void *)(uintptr_t)holds });
    if (l && *status == PMIX_SUCCESS)
        *status = link_go(l);
    if (!l || *status == PMIX_SUCCESS)
        return l;
    link_close(l);                       /* with which it ends */
    link_drop(l);
    return NULL;
}

static struct link *start_ours(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                               size_t napps, pmix_status_t *status, struct err *e)
{
    struct find_program p = { .uri = false };
    struct link *l = NULL;
    size_t n;
    pmix_info_t *holds = find_holds(infos, ninfo, apps, napps, &n);

    if (!holds) {
        *status = PMIX_ERR_NOMEM;
        return NULL;
    }
    if (n && !attr_true(infos, ninfo, PMIX_NOHUP)) {
        l = start_held(holds, n, infos, ninfo, apps, napps, status, e);
    } else {
        *status = find_start_launcher(infos, ninfo, apps, napps, &p, e);
        if (*status == PMIX_SUCCESS)
            l = open_new(&p.f, status, e);
        find_clear(&p.f);
    }
    free(holds);
    return l;
}

pmix_status_t tool_start_launcher(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                  size_t napps, pmix_nspace_t nspace)
{
    struct err e = { ERR_NONE, "" };
    pmix_status_t status;
    struct link *l = tool_is_launcher(infos, ninfo)
                     ? start_own(infos, ninfo, apps, napps, &status, &e)
                     : start_ours(infos, ninfo, apps, napps, &status, &e);

    if (e.code || status == PMIX_SUCCESS)
        reason_keep(status, e.text);
    if (nspace)
        PMIX_LOAD_NSPACE(nspace, l ? l->server.nspace : "");
    link_drop(l);
    return status;
}

struct launch {                          /* a spawn that the callback thread is to do */
    struct note         note;
    void               *infos, *apps;    /* owned copies */
    size_t              ninfo, napps;
    pmix_spawn_cbfunc_t cbfunc;
    void               *cbdata;
};

static void launch_free(struct launch *x)
{
    value_free_array(PMIX_INFO, x->infos, x->ninfo);
    value_free_array(PMIX_APP, x->apps, x->napps);
    free(x);
}

static void run_launch(struct note *n)
{
    struct launch *x = container_of(n, struct launch, note);
    pmix_nspace_t nspace;
    pmix_status_t status = tool_start_launcher(x->infos, x->ninfo, x->apps, x->napps, nspace);

    x->cbfunc(status, nspace, x->cbdata);
    launch_free(x);
}

pmix_status_t tool_post_launcher(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                 size_t napps, pmix_spawn_cbfunc_t cbfunc, void *cbdata)
{
    struct launch *x = calloc(1, sizeof *x);
    struct err e = { ERR_NONE, "" };

    if (!x)
        return PMIX_ERR_NOMEM;
    *x = (struct launch){ .note.run = run_launch, .cbfunc = cbfunc, .cbdata = cbdata };
    if (value_copy_array(PMIX_INFO, infos, ninfo, &x->infos, &e) == 0)
        x->ninfo = ninfo;
    if (!e.code && value_copy_array(PMIX_APP, apps, napps, &x->apps, &e) == 0)
        x->napps = napps;
    if (e.code) {
        launch_free(x);
        return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
    }
    callback_add(&lib.callbacks, &x->note);
    return PMIX_SUCCESS;
}

/* The link to a server of that name, or NULL.  lib.lock is held. */
static struct link *link_named(const pmix_proc_t *server)
{
    struct link *l;

    TAILQ_FOREACH(l, &lib.links, in_lib)
        if (PMIX_CHECK_PROCID(&l->server, server))
            break;
    return l;
}

pmix_status_t PMIx_tool_disconnect(const pmix_proc_t *server)
{
    struct link *l;
    bool begun;

    if (!server)
        return PMIX_ERR_BAD_PARAM;
    pthread_mutex_lock(&lib.life);
    pthread_mutex_lock(&lib.lock);
    begun = lib.inits > 0;
    l = link_named(server);
    pthread_mutex_unlock(&lib.lock);
    if (l)
        link_close(l);
    pthread_mutex_unlock(&lib.life);
    return l ? PMIX_SUCCESS : begun ? PMIX_ERR_NOT_FOUND : PMIX_ERR_INIT;
}

/* The old way: one server at a time. */
pmix_status_t PMIx_tool_connect_to_server(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo)
{
    struct link *old = link_primary();
    pmix_status_t status;

    pthread_mutex_lock(&lib.life);
    status = attach(proc, NULL, info, ninfo, true);
    if (status == PMIX_SUCCESS && old)
        link_close(old);
    pthread_mutex_unlock(&lib.life);
    link_drop(old);
    return status;
}

pmix_status_t PMIx_tool_get_servers(pmix_proc_t *servers[], size_t *nservers)
{
    struct link *l;
    size_t n = 0;

    if (!servers || !nservers)
        return PMIX_ERR_BAD_PARAM;
    *servers = NULL;
    *nservers = 0;
    if (!lib_begun())
        return PMIX_ERR_INIT;
    pthread_mutex_lock(&lib.lock);
    TAILQ_FOREACH(l, &lib.links, in_lib)
        n++;
    if (n)
        *servers = PMIx_Proc_create(n);
    if (*servers)
        TAILQ_FOREACH(l, &lib.links, in_lib)
            (*servers)[(*nservers)++] = l->server;
    pthread_mutex_unlock(&lib.lock);
    return !n ? PMIX_ERR_UNREACH : *servers ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

/* As the standard has it: for so long, if it is not there yet. */
static unsigned patience(const pmix_info_t *infos, size_t n)
{
    const pmix_value_t *v = attr_find(infos, n, PMIX_TIMEOUT);
    pmix_status_t rc = PMIX_SUCCESS;
    long long seconds = 0;

    if (!attr_true(infos, n, PMIX_WAIT_FOR_CONNECTION))
        return 0;
    if (v)
        PMIX_VALUE_GET_NUMBER(rc, v, seconds, long long);
    return rc == PMIX_SUCCESS && seconds > 0 && seconds < INT_MAX ? (unsigned)seconds
                                                             : FIND_PATIENCE;
}

pmix_status_t PMIx_tool_set_server(const pmix_proc_t *server, pmix_info_t info[], size_t ninfo)
{
    pmix_status_t status;
    struct link *l;

    if (!server)
        return PMIX_ERR_BAD_PARAM;
    if (!lib_begun())
        return PMIX_ERR_INIT;
    l = listen_wait(server->nspace, patience(info, ninfo), 0);
    if (!l)
        return attr_true(info, ninfo, PMIX_WAIT_FOR_CONNECTION) ? PMIX_ERR_TIMEOUT
                                                                : PMIX_ERR_UNREACH;
    status = make_primary(l);
    link_drop(l);
    return status;
}
