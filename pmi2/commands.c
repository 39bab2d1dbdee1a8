/* commands.c - the rows: every PMI-1 (1.0 to 1.2) and PMI-2 command, its
 * arguments and its reply on both wires.
 *
 * Positions in an args or fields list are the enums at the top of the handler.
 * Fields with long text come last: PMI-1 clients read them to the end of line. */
#include "pmi2/core.h"

#include <limits.h>

#define KEY_ARG(n)    { .name = { n, n }, .type = ARG_TEXT, .required = ON_BOTH, \
                        .max = LIMIT_KEY, .too_long = ERR_KEY_LENGTH }
#define VALUE_ARG     { .name = { "value", "value" }, .type = ARG_TEXT, .required = ON_BOTH, \
                        .max = LIMIT_VALUE, .too_long = ERR_VAL_LENGTH }
#define SPACE_ARG(n2) { .name = { "kvsname", n2 }, .type = ARG_TEXT }
#define SERVICE_ARG   { .name = { "service", "name" }, .type = ARG_TEXT, \
                        .required = ON_BOTH, .max = LIMIT_SERVICE }
#define END           { .type = ARG_TEXT }
#define FIELDS_END    { .always = "" }
#define BOTH(n)       { { n }, { n } }
#define ONLY_1(n)     { { n }, { "" } }
#define ONLY_2(n)     { { "" }, { n } }

static const struct arg init_args[] = {
    { .name = { "pmi_version" }, .type = ARG_INT, .required = ON_BOTH, .max = INT_MAX },
    { .name = { "pmi_subversion" }, .type = ARG_INT, .required = ON_BOTH, .max = INT_MAX },
    END
};
static const struct field init_fields[] = {
    { .name = ONLY_1("pmi_version") }, { .name = ONLY_1("pmi_subversion") }, FIELDS_END
};

static const struct arg initack_args[] = {
    { .name = { "pmiid" }, .type = ARG_INT, .required = ON_BOTH, .max = INT_MAX }, END
};

static const struct arg fullinit_args[] = {
    { .name = { "", "pmijobid" }, .type = ARG_TEXT },
    { .name = { "", "pmirank" }, .type = ARG_INT, .min = -1, .max = INT_MAX },
    { .name = { "", "srcid" }, .type = ARG_INT, .min = -1, .max = INT_MAX },
    { .name = { "", "threaded" }, .type = ARG_BOOL },
    { .name = { "", "extensions" }, .type = ARG_TEXT },
    END
};
static const struct field fullinit_fields[] = {
    { .name = ONLY_2("pmi-version"), .always = "2" },
    { .name = ONLY_2("pmi-subversion"), .always = "0" },
    { .name = ONLY_2("rank") }, { .name = ONLY_2("size") }, { .name = ONLY_2("appnum") },
    { .name = ONLY_2("extensions") }, { .name = ONLY_2("spawner-jobid") },
    { .name = ONLY_2("debugged"), .always = "FALSE" },
    { .name = ONLY_2("pmiverbose"), .always = "FALSE" },
    FIELDS_END
};

static const struct field maxes_fields[] = {
    { .name = ONLY_1("kvsname_max") }, { .name = ONLY_1("keylen_max") },
    { .name = ONLY_1("vallen_max") }, FIELDS_END
};
static const struct field appnum_fields[] = { { .name = ONLY_1("appnum") }, FIELDS_END };
static const struct field universe_fields[] = { { .name = ONLY_1("size") }, FIELDS_END };
static const struct field jobid_fields[] = {
    { .name = { { "kvsname" }, { "jobid" } } }, FIELDS_END
};

static const struct arg abort_args[] = {
    { .name = { "", "isworld" }, .type = ARG_BOOL },
    { .name = { "exitcode", "exitcode" }, .also = { "exit_code" }, .type = ARG_INT,
      .min = INT_MIN, .max = INT_MAX },
    { .name = { "message", "msg" }, .also = { "error_msg", "message" }, .type = ARG_BYTES },
    END
};

static const struct arg put_args[] = {
    SPACE_ARG(""), KEY_ARG("key"), VALUE_ARG,
    { .name = { "", "read-only" }, .type = ARG_BOOL }, END
};
static const struct arg get_args[] = { SPACE_ARG("jobid"), KEY_ARG("key"), END };
static const struct arg attr_args[] = { KEY_ARG("key"), END };
static const struct field value_fields[] = { { .name = BOTH("value") }, FIELDS_END };

static const struct arg index_args[] = {
    SPACE_ARG(""),
    { .name = { "idx" }, .type = ARG_INT, .required = ON_BOTH, .max = INT_MAX }, END
};
static const struct field index_fields[] = {
    { .name = ONLY_1("nextidx") }, { .name = ONLY_1("key") }, { .name = ONLY_1("val") },
    { .name = ONLY_1("reason") }, FIELDS_END
};

static const struct arg fence_args[] = { { .name = { "group" }, .type = ARG_TEXT }, END };
static const struct field fence_fields[] = { { .name = ONLY_1("tag") }, FIELDS_END };

static const struct arg ring_args[] = {
    { .name = { "", "ring-count" }, .type = ARG_INT, .max = INT_MAX },
    { .name = { "", "ring-left" }, .type = ARG_TEXT, .max = LIMIT_VALUE },
    { .name = { "", "ring-right" }, .type = ARG_TEXT, .max = LIMIT_VALUE },
    END
};
static const struct field ring_fields[] = {
    { .name = ONLY_2("ring-count") }, { .name = ONLY_2("ring-left") },
    { .name = ONLY_2("ring-right") }, FIELDS_END
};

static const struct arg putnode_args[] = { KEY_ARG("key"), VALUE_ARG, END };
static const struct arg getnode_args[] = {
    KEY_ARG("key"), { .name = { "", "wait" }, .type = ARG_BOOL }, END
};

static const struct arg publish_args[] = {
    SERVICE_ARG,
    { .name = { "port", "port" }, .type = ARG_TEXT, .required = ON_BOTH, .max = LIMIT_PORT },
    END
};
static const struct arg service_args[] = { SERVICE_ARG, END };
static const struct field lookup_fields[] = {
    { .name = { { "port" }, { "value", "port" } } }, FIELDS_END
};

static const struct arg spawn_args[] = {
    { .name = { "totspawns" }, .type = ARG_INT, .max = INT_MAX },
    { .name = { "spawnssofar" }, .type = ARG_INT, .max = INT_MAX },
    END
};
static const struct field spawn_fields[] = {
    { .name = { { "jobid" }, { "jobid" } } },
    { .name = { { "errcodes" }, { "errcodes" } } },
    { .name = ONLY_2("nerrs"), .always = "0" },
    FIELDS_END
};
static const struct arg job_args[] = {
    { .name = { "", "jobid" }, .type = ARG_TEXT, .required = ON_BOTH, .max = LIMIT_JOBID }, END
};
static const struct field connect_fields[] = {
    { .name = ONLY_2("kvscopy"), .always = "FALSE" }, FIELDS_END
};
static const struct arg read_args[] = {
    { .name = { "", "index" }, .type = ARG_INT, .max = INT_MAX }, END
};
static const struct field read_fields[] = {
    { .name = ONLY_2("data") }, { .name = ONLY_2("next"), .always = "0" },
    FIELDS_END
};
static const struct arg copy_args[] = {
    { .name = { "", "jobid" }, .type = ARG_TEXT, .required = ON_BOTH, .max = LIMIT_JOBID },
    { .name = { "", "index" }, .type = ARG_INT, .required = ON_BOTH, .max = INT_MAX },
    { .name = { "", "last" }, .type = ARG_BOOL },
    { .name = { "", "data" }, .type = ARG_TEXT, .required = ON_BOTH },
    END
};

const struct command pmi_commands[] = {
    { { "init" }, { "response_to_init" },
      IN(CONN_NEW) | IN(CONN_FINAL), NO_MEMBER | FROM_TOOL, init_args, init_fields, cmd_init },
    { { "initack" }, { "initack" },
      IN(CONN_NEW), NO_MEMBER, initack_args, NULL, cmd_initack },
    { { NULL, "fullinit" }, { NULL, "fullinit-response" },
      IN(CONN_GREETED), NO_MEMBER, fullinit_args, fullinit_fields, cmd_fullinit },
    { { "get_maxes" }, { "maxes" },
      IN_SERVICE, 0, NO_ARGS, maxes_fields, cmd_maxes },
    { { "get_appnum" }, { "appnum" },
      IN_SERVICE, 0, NO_ARGS, appnum_fields, cmd_appnum },
    { { "get_universe_size" }, { "universe_size" },
      IN_SERVICE, 0, NO_ARGS, universe_fields, cmd_universe },
    { { "get_my_kvsname", "job-getid" }, { "my_kvsname", "job-getid-response" },
      IN_SERVICE, 0, NO_ARGS, jobid_fields, cmd_jobid },
    { { "put", "kvs-put" }, { "put_result", "kvs-put-response" },
      IN_SERVICE, 0, put_args, NULL, cmd_put },
    { { "get", "kvs-get" }, { "get_result", "kvs-get-response" },
      IN_SERVICE, HAS_FOUND, get_args, value_fields, cmd_get },
    { { "getbyidx" }, { "getbyidx_results" },
      IN_SERVICE, 0, index_args, index_fields, cmd_getbyidx },
    { { "create_kvs" }, { "newkvs" },
      IN_SERVICE, 0, NO_ARGS, NULL, cmd_create_kvs },
    { { "destroy_kvs" }, { "kvs_destroyed" },
      IN_SERVICE, 0, NO_ARGS, NULL, cmd_create_kvs },
    { { "barrier_in", "kvs-fence" }, { "barrier_out", "kvs-fence-response" },
      IN_SERVICE, 0, fence_args, fence_fields, cmd_fence },
    { { NULL, "ring" }, { NULL, "ring-response" },
      IN_SERVICE, 0, ring_args, ring_fields, cmd_ring },
    { { NULL, "info-putnodeattr" }, { NULL, "info-putnodeattr-response" },
      IN_SERVICE, 0, putnode_args, NULL, cmd_put_node_attr },
    { { NULL, "info-getnodeattr" }, { NULL, "info-getnodeattr-response" },
      IN_SERVICE, HAS_FOUND, getnode_args, value_fields, cmd_get_node_attr },
    { { NULL, "info-getjobattr" }, { NULL, "info-getjobattr-response" },
      IN_SERVICE, HAS_FOUND, attr_args, value_fields, cmd_get_job_attr },
    { { "publish_name", "name-publish" }, { "publish_result", "name-publish-response" },
      IN_SERVICE, HAS_INFO, publish_args, NULL, cmd_publish },
    { { "unpublish_name", "name-unpublish" }, { "unpublish_result", "name-unpublish-response" },
      IN_SERVICE, HAS_INFO, service_args, NULL, cmd_unpublish },
    { { "lookup_name", "name-lookup" }, { "lookup_result", "name-lookup-response" },
      IN_SERVICE, HAS_FOUND | HAS_INFO | MISS_IS_FAIL, service_args, lookup_fields, cmd_lookup },
    { { "spawn", "spawn" }, { "spawn_result", "spawn-response" },
      IN_SERVICE, 0, spawn_args, spawn_fields, cmd_spawn },
    { { NULL, "job-connect" }, { NULL, "job-connect-response" },
      IN_SERVICE, 0, job_args, connect_fields, cmd_connect },
    { { NULL, "job-disconnect" }, { NULL, "job-disconnect-response" },
      IN_SERVICE, 0, job_args, NULL, cmd_disconnect },
    { { NULL, "kvs-read" }, { NULL, "kvs-read-response" },
      IN_SERVICE, 0, read_args, read_fields, cmd_read },
    { { NULL, "kvs-copy" }, { NULL, "kvs-copy-response" },
      IN_SERVICE, 0, copy_args, NULL, cmd_copy },
    { { "finalize", "finalize" }, { "finalize_ack", "finalize-response" },
      IN_SERVICE, FROM_TOOL, NO_ARGS, NULL, cmd_finalize },
    { { "abort", "abort" }, { "abort", "abort" },
      IN_ANY, NO_REPLY | NO_MEMBER, abort_args, NULL, cmd_abort },
};
const size_t pmi_command_count = sizeof pmi_commands / sizeof *pmi_commands;
