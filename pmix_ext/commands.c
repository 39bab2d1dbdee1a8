/* commands.c - the rows of the extended commands, their arguments and replies.  They are of
 * PMI-2's framing only.  See pmix_ext/PROTOCOL.md, which a test holds to this table. */
#include "pmix_ext/commands.h"

#include "pmix_ext/serve.h"

#define TEXT(n)       { .name = { "", n }, .type = ARG_TEXT }
#define NEEDED(n)     { .name = { "", n }, .type = ARG_TEXT, .required = ON(WIRE_2) }
#define NUMBER(n, a, b) { .name = { "", n }, .type = ARG_INT, .required = ON(WIRE_2), \
                          .min = a, .max = b }
#define OPTION(n, a, b) { .name = { "", n }, .type = ARG_INT, .min = a, .max = b }
#define END           { .type = ARG_TEXT }
#define FIELD(n)      { .name = { { "" }, { n } } }
/* What fails before its handler sees it is PMIX_ERR_BAD_PARAM. */
#define STATUS        { .name = { { "" }, { "status" } }, .always = "0", .failed = "-27" }
#define FIELDS_END    { .always = "" }

static const struct field status_fields[] = { STATUS, FIELDS_END };

static const struct arg connect_args[] = {
    TEXT("name"), TEXT("version"), { .name = { "", "payload" }, .type = ARG_BOOL },
    OPTION("rank", 0, PMIX_RANK_VALID - 1), END
};
static const struct field connect_fields[] = {
    STATUS, FIELD("nspace"), FIELD("rank"), FIELD("server"), FIELD("resident"),
    FIELD("job"), FIELDS_END
};

static const struct field capabilities_fields[] = {
    STATUS, FIELD("commands"), FIELD("version"), FIELDS_END
};
static const struct field servers_fields[] = { STATUS, FIELD("servers"), FIELDS_END };

static const struct arg query_args[] = { NEEDED("queries"), END };
static const struct field query_fields[] = { STATUS, FIELD("results"), FIELDS_END };

static const struct arg push_args[] = {
    NEEDED("nspace"), TEXT("data"), { .name = { "", "end" }, .type = ARG_BOOL }, END
};

static const struct arg part_args[] = {
    OPTION("size", 1, LIMIT_WHOLE), { .name = { "", "data" }, .type = ARG_BYTES }, END
};

static const struct arg log_args[] = { NEEDED("data"), TEXT("directives"), END };
static const struct field log_fields[] = { STATUS, FIELD("results"), FIELDS_END };

static const struct arg pull_args[] = {
    NEEDED("procs"),
    { .name = { "", "channel" }, .type = ARG_INT, .required = ON(WIRE_2), .max = UINT16_MAX },
    TEXT("directives"), END
};
static const struct field pull_fields[] = { STATUS, FIELD("id"), FIELDS_END };
static const struct arg put_args[] = { NEEDED("key"), NEEDED("value"), TEXT("scope"), END };
static const struct arg get_args[] = {
    TEXT("nspace"), TEXT("rank"), NEEDED("key"), TEXT("infos"), END
};
static const struct field get_fields[] = { STATUS, FIELD("value"), FIELD("pieces"), FIELDS_END };

static const struct arg fence_args[] = { TEXT("procs"), TEXT("infos"), END };

static const struct arg publish_args[] = { NEEDED("infos"), END };
static const struct arg keys_args[] = { NEEDED("keys"), TEXT("infos"), END };
static const struct field lookup_fields[] = { STATUS, FIELD("data"), FIELDS_END };

static const struct arg spawn_args[] = { TEXT("infos"), NEEDED("apps"), END };
static const struct field spawn_fields[] = { STATUS, FIELD("nspace"), FIELDS_END };
static const struct arg directives_args[] = { NEEDED("infos"), END };
static const struct arg procs_args[] = { NEEDED("procs"), END };
static const struct arg peers_args[] = { TEXT("node"), TEXT("nspace"), END };
static const struct field peers_fields[] = { STATUS, FIELD("procs"), FIELDS_END };
static const struct arg nodes_args[] = { TEXT("nspace"), END };
static const struct field nodes_fields[] = { STATUS, FIELD("nodes"), FIELDS_END };
static const struct arg register_args[] = { TEXT("codes"), TEXT("infos"), END };
static const struct field register_fields[] = { STATUS, FIELD("id"), FIELDS_END };

static const struct arg deregister_args[] = { NUMBER("id", 1, INT64_MAX), END };
static const struct arg notify_args[] = {
    NUMBER("status", INT32_MIN, INT32_MAX), TEXT("source"), OPTION("range", 0, UINT8_MAX),
    TEXT("infos"), END
};

static const struct field results_fields[] = { STATUS, FIELD("results"), FIELDS_END };

static const struct arg control_args[] = { TEXT("targets"), NEEDED("directives"), END };

static const struct arg alloc_args[] = { NUMBER("directive", 0, UINT8_MAX), TEXT("infos"), END };

static const struct arg monitor_args[] = {
    NEEDED("monitor"), OPTION("error", INT32_MIN, INT32_MAX), TEXT("directives"), END
};

const struct command ext_commands[] = {
    { { NULL, "pmix-tool-connect" }, { NULL, "pmix-tool-connect-response" },
      IN(CONN_GREETED), FROM_TOOL, connect_args, connect_fields, ext_tool_connect },
    { { NULL, "pmix-capabilities" }, { NULL, "pmix-capabilities-response" },
      IN_SERVICE, FROM_TOOL, NO_ARGS, capabilities_fields, ext_capabilities },
    { { NULL, "pmix-query" }, { NULL, "pmix-query-response" },
      IN_SERVICE, FROM_TOOL, query_args, query_fields, ext_query },
    { { NULL, "pmix-log" }, { NULL, "pmix-log-response" },
      IN_SERVICE, FROM_TOOL, log_args, log_fields, ext_log },
    { { NULL, "pmix-iof-pull" }, { NULL, "pmix-iof-pull-response" },
      IN_SERVICE, FROM_TOOL, pull_args, pull_fields, ext_iof_pull },
    { { NULL, "pmix-iof-deregister" }, { NULL, "pmix-iof-deregister-response" },
      IN_SERVICE, FROM_TOOL, deregister_args, status_fields, ext_iof_deregister },
    { { NULL, "pmix-iof-push" }, { NULL, "pmix-iof-push-response" },
      IN_SERVICE, FROM_TOOL, push_args, status_fields, ext_iof_push },
    { { NULL, "pmix-put" }, { NULL, "pmix-put-response" },
      IN_SERVICE, FROM_TOOL, put_args, status_fields, ext_put },
    { { NULL, "pmix-commit" }, { NULL, "pmix-commit-response" },
      IN_SERVICE, FROM_TOOL, NO_ARGS, status_fields, ext_commit },
    { { NULL, "pmix-get" }, { NULL, "pmix-get-response" },
      IN_SERVICE, FROM_TOOL, get_args, get_fields, ext_get },
    { { NULL, "pmix-fence" }, { NULL, "pmix-fence-response" },
      IN_SERVICE, FROM_TOOL, fence_args, status_fields, ext_fence },
    { { NULL, "pmix-publish" }, { NULL, "pmix-publish-response" },
      IN_SERVICE, FROM_TOOL, publish_args, status_fields, ext_publish },
    { { NULL, "pmix-lookup" }, { NULL, "pmix-lookup-response" },
      IN_SERVICE, FROM_TOOL, keys_args, lookup_fields, ext_lookup },
    { { NULL, "pmix-unpublish" }, { NULL, "pmix-unpublish-response" },
      IN_SERVICE, FROM_TOOL, keys_args, status_fields, ext_unpublish },
    { { NULL, "pmix-spawn" }, { NULL, "pmix-spawn-response" },
      IN_SERVICE, FROM_TOOL, spawn_args, spawn_fields, ext_spawn },
    { { NULL, "pmix-launch-directives" }, { NULL, "pmix-launch-directives-response" },
      IN_SERVICE, FROM_TOOL, directives_args, status_fields, ext_launch_directives },
    { { NULL, "pmix-connect" }, { NULL, "pmix-connect-response" },
      IN_SERVICE, FROM_TOOL, procs_args, status_fields, ext_connect },
    { { NULL, "pmix-disconnect" }, { NULL, "pmix-disconnect-response" },
      IN_SERVICE, FROM_TOOL, procs_args, status_fields, ext_disconnect },
    { { NULL, "pmix-resolve-peers" }, { NULL, "pmix-resolve-peers-response" },
      IN_SERVICE, FROM_TOOL, peers_args, peers_fields, ext_resolve_peers },
    { { NULL, "pmix-resolve-nodes" }, { NULL, "pmix-resolve-nodes-response" },
      IN_SERVICE, FROM_TOOL, nodes_args, nodes_fields, ext_resolve_nodes },
    { { NULL, "pmix-event-register" }, { NULL, "pmix-event-register-response" },
      IN_SERVICE, FROM_TOOL, register_args, register_fields, ext_event_register },
    { { NULL, "pmix-event-deregister" }, { NULL, "pmix-event-deregister-response" },
      IN_SERVICE, FROM_TOOL, deregister_args, status_fields, ext_event_deregister },
    { { NULL, "pmix-notify" }, { NULL, "pmix-notify-response" },
      IN_SERVICE, FROM_TOOL, notify_args, status_fields, ext_notify },
    { { NULL, "pmix-job-control" }, { NULL, "pmix-job-control-response" },
      IN_SERVICE, FROM_TOOL, control_args, results_fields, ext_job_control },
    { { NULL, "pmix-alloc" }, { NULL, "pmix-alloc-response" },
      IN_SERVICE, FROM_TOOL, alloc_args, results_fields, ext_alloc },
    { { NULL, "pmix-monitor" }, { NULL, "pmix-monitor-response" },
      IN_SERVICE, FROM_TOOL, monitor_args, results_fields, ext_monitor },
    { { NULL, "pmix-heartbeat" }, { NULL, "pmix-heartbeat-response" },
      IN_SERVICE, FROM_TOOL, NO_ARGS, status_fields, ext_heartbeat },
    { { NULL, "pmix-part" }, { NULL, "pmix-part-response" },
      IN_SERVICE, FROM_TOOL, part_args, status_fields, ext_part },
    { { NULL, "pmix-servers" }, { NULL, "pmix-servers-response" },
      IN_SERVICE, FROM_TOOL, NO_ARGS, servers_fields, ext_servers },
};
const size_t ext_command_count = sizeof ext_commands / sizeof *ext_commands;
