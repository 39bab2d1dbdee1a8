/* tool_servers.c - pmix_tool servers: who can be asked here. */
#include "pmix_ext/tool.h"

#include "pmix_ext/find.h"

#include <pwd.h>
#include <stdlib.h>

static const char *const heads[] = { "KIND", ">PID", "NAME", "HOST", "USER", "SINCE", "URI", NULL };

static const char *kind_of(const struct rendezvous *r)
{
    return r->system ? "system" : "session";
}

static void add_row(struct table *t, const struct rendezvous *r)
{
    struct passwd *pw = getpwuid(r->uid);
    char since[40];

    tool_time((double)r->created, since, sizeof since);
    table_add(t, "%s", kind_of(r));
    table_add(t, "%d", (int)r->pid);
    table_add(t, "%s", r->nspace);
    table_add(t, "%s", r->host);
    if (pw)
        table_add(t, "%s", pw->pw_name);
    else
        table_add(t, "%u", (unsigned)r->uid);
    table_add(t, "%.19s", since);
    table_add(t, "unix:%s", r->socket);
}

static json_t *json_row(const struct rendezvous *r)
{
    char uri[RUNDIR_PATH + 8];

    snprintf(uri, sizeof uri, "unix:%s", r->socket);
    return json_pack("{s:s, s:i, s:o, s:o, s:i, s:I, s:o}", "kind", kind_of(r), "pid", (int)r->pid,
                     "name", tool_json_text(r->nspace), "host", tool_json_text(r->host), "uid",
                     (int)r->uid, "since", (json_int_t)r->created, "uri", tool_json_text(uri));
}

/* All into a table or a list.  0, or STATUS_FAILED. */
static int look(struct table *table, json_t *list)
{
    struct rendezvous *all = NULL;
    struct err e = { 0 };
    int n = find_all(&all, &e);

    for (int i = 0; i < n; i++)
        if (list)
            json_array_append_new(list, json_row(&all[i]));
        else
            add_row(table, &all[i]);
    free(all);
    return n < 0 ? tool_fail(STATUS_FAILED, "%s", e.text) : 0;
}

void servers_print(FILE *out)
{
    struct table table;

    table_start(&table, heads);
    look(&table, NULL);
    table_print(&table, out, SIZE_MAX, 0);
}

int tool_servers(struct tool *t)
{
    json_t *list = t->json ? json_array() : NULL;
    struct table table;
    int status;

    table_start(&table, heads);
    status = look(&table, list);
    if (t->json)
        return tool_document(json_pack("{s:o}", "servers", list)) | status;
    table_print(&table, stdout, SIZE_MAX, 0);
    return status;
}
