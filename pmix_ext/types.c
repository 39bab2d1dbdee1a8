/* types.c - see types.h.  Layouts: PMIx standard 4.2 as in libpmix 4.2.2. */
#include "pmix_ext/types.h"

#include "pmix_ext/value.h"
#include "pmix_ext/words.h"

/* --- fields ----------------------------------------------------------------------- */

#define FIELD(record, member, of) \
    { FIELD_NAMED(member), .type = of, .offset = offsetof(record, member) }
#define FIELD_OPTIONAL(record, member, of) \
    { FIELD_NAMED(member), .type = of, .optional = true, .offset = offsetof(record, member) }
#define FIELD_MEMBERS(record, member, of) \
    { FIELD_NAMED(member), .type = of, .holds = HOLDS_MEMBERS, \
      .offset = offsetof(record, member) }
#define FIELD_LIST(record, member, may_be_absent) \
    { FIELD_NAMED(member), .type = PMIX_STRING, .holds = HOLDS_LIST, \
      .optional = may_be_absent, .offset = offsetof(record, member) }
#define FIELD_COUNTED(record, member, of, counter, may_be_absent) \
    { FIELD_NAMED(member), .type = of, .holds = HOLDS_COUNTED, \
      .optional = may_be_absent, .offset = offsetof(record, member), \
      .count = offsetof(record, counter) }

static const struct field timeval_fields[] = {
    { FIELD_NAMED(sec), .type = PMIX_TIME, .offset = offsetof(struct timeval, tv_sec) },
    { FIELD_NAMED(usec), .type = PMIX_INT64, .offset = offsetof(struct timeval, tv_usec) },
    { 0 }
};
static const struct field proc_fields[] = {
    FIELD(pmix_proc_t, nspace, PMIX_PROC_NSPACE),
    FIELD(pmix_proc_t, rank, PMIX_PROC_RANK),
    { 0 }
};
static const struct field app_fields[] = {
    FIELD(pmix_app_t, cmd, PMIX_STRING),
    FIELD_LIST(pmix_app_t, argv, true),
    FIELD_LIST(pmix_app_t, env, true),
    FIELD_OPTIONAL(pmix_app_t, cwd, PMIX_STRING),
    FIELD(pmix_app_t, maxprocs, PMIX_INT),
    FIELD_COUNTED(pmix_app_t, info, PMIX_INFO, ninfo, true),
    { 0 }
};
static const struct field info_fields[] = {
    FIELD(pmix_info_t, key, TYPE_KEY),
    FIELD_MEMBERS(pmix_info_t, value, PMIX_VALUE),
    FIELD_OPTIONAL(pmix_info_t, flags, TYPE_INFO_FLAGS),
    { 0 }
};
static const struct field pdata_fields[] = {
    FIELD(pmix_pdata_t, proc, PMIX_PROC),
    FIELD(pmix_pdata_t, key, TYPE_KEY),
    FIELD_MEMBERS(pmix_pdata_t, value, PMIX_VALUE),
    { 0 }
};
static const struct field proc_info_fields[] = {
    FIELD(pmix_proc_info_t, proc, PMIX_PROC),
    FIELD(pmix_proc_info_t, hostname, PMIX_STRING),
    FIELD(pmix_proc_info_t, executable_name, PMIX_STRING),
    FIELD(pmix_proc_info_t, pid, PMIX_PID),
    FIELD(pmix_proc_info_t, exit_code, PMIX_INT),
    FIELD(pmix_proc_info_t, state, PMIX_PROC_STATE),
    { 0 }
};
static const struct field query_fields[] = {
    FIELD_LIST(pmix_query_t, keys, false),
    FIELD_COUNTED(pmix_query_t, qualifiers, PMIX_INFO, nqual, true),
    { 0 }
};
static const struct field envar_fields[] = {
    FIELD(pmix_envar_t, envar, PMIX_STRING),
    FIELD(pmix_envar_t, value, PMIX_STRING),
    FIELD_OPTIONAL(pmix_envar_t, separator, TYPE_CHAR),
    { 0 }
};
static const struct field coord_fields[] = {
    FIELD(pmix_coord_t, view, PMIX_UINT8),
    FIELD_COUNTED(pmix_coord_t, coord, PMIX_UINT32, dims, false),
    { 0 }
};
static const struct field regattr_fields[] = {
    FIELD(pmix_regattr_t, name, PMIX_STRING),
    FIELD(pmix_regattr_t, string, TYPE_KEY),
    FIELD(pmix_regattr_t, type, PMIX_DATA_TYPE),
    FIELD_LIST(pmix_regattr_t, description, false),
    { 0 }
};
static const struct field geometry_fields[] = {
    FIELD(pmix_geometry_t, fabric, PMIX_SIZE),
    FIELD(pmix_geometry_t, uuid, PMIX_STRING),
    FIELD(pmix_geometry_t, osname, PMIX_STRING),
    FIELD_COUNTED(pmix_geometry_t, coordinates, PMIX_COORD, ncoords, false),
    { 0 }
};
static const struct field distance_fields[] = {
    FIELD(pmix_device_distance_t, uuid, PMIX_STRING),
    FIELD(pmix_device_distance_t, osname, PMIX_STRING),
    FIELD(pmix_device_distance_t, type, PMIX_DEVTYPE),
    FIELD(pmix_device_distance_t, mindist, PMIX_UINT16),
    FIELD(pmix_device_distance_t, maxdist, PMIX_UINT16),
    { 0 }
};
static const struct field endpoint_fields[] = {
    FIELD(pmix_endpoint_t, uuid, PMIX_STRING),
    FIELD(pmix_endpoint_t, osname, PMIX_STRING),
    FIELD(pmix_endpoint_t, endpt, PMIX_BYTE_OBJECT),
    { 0 }
};
static const struct field proc_stats_fields[] = {
    FIELD(pmix_proc_stats_t, node, PMIX_STRING),
    FIELD(pmix_proc_stats_t, proc, PMIX_PROC),
    FIELD(pmix_proc_stats_t, pid, PMIX_PID),
    FIELD(pmix_proc_stats_t, cmd, PMIX_STRING),
    FIELD(pmix_proc_stats_t, state, TYPE_CHAR),
    FIELD(pmix_proc_stats_t, time, PMIX_TIMEVAL),
    FIELD(pmix_proc_stats_t, percent_cpu, PMIX_FLOAT),
    FIELD(pmix_proc_stats_t, priority, PMIX_INT32),
    FIELD(pmix_proc_stats_t, num_threads, PMIX_UINT16),
    FIELD(pmix_proc_stats_t, pss, PMIX_FLOAT),
    FIELD(pmix_proc_stats_t, vsize, PMIX_FLOAT),
    FIELD(pmix_proc_stats_t, rss, PMIX_FLOAT),
    FIELD(pmix_proc_stats_t, peak_vsize, PMIX_FLOAT),
    FIELD(pmix_proc_stats_t, processor, PMIX_UINT16),
    FIELD(pmix_proc_stats_t, sample_time, PMIX_TIMEVAL),
    { 0 }
};
static const struct field disk_stats_fields[] = {
    FIELD(pmix_disk_stats_t, disk, PMIX_STRING),
    FIELD(pmix_disk_stats_t, num_reads_completed, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, num_reads_merged, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, num_sectors_read, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, milliseconds_reading, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, num_writes_completed, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, num_writes_merged, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, num_sectors_written, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, milliseconds_writing, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, num_ios_in_progress, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, milliseconds_io, PMIX_UINT64),
    FIELD(pmix_disk_stats_t, weighted_milliseconds_io, PMIX_UINT64),
    { 0 }
};
static const struct field net_stats_fields[] = {
    FIELD(pmix_net_stats_t, net_interface, PMIX_STRING),
    FIELD(pmix_net_stats_t, num_bytes_recvd, PMIX_UINT64),
    FIELD(pmix_net_stats_t, num_packets_recvd, PMIX_UINT64),
    FIELD(pmix_net_stats_t, num_recv_errs, PMIX_UINT64),
    FIELD(pmix_net_stats_t, num_bytes_sent, PMIX_UINT64),
    FIELD(pmix_net_stats_t, num_packets_sent, PMIX_UINT64),
    FIELD(pmix_net_stats_t, num_send_errs, PMIX_UINT64),
    { 0 }
};
static const struct field node_stats_fields[] = {
    FIELD(pmix_node_stats_t, node, PMIX_STRING),
    FIELD(pmix_node_stats_t, la, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, la5, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, la15, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, total_mem, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, free_mem, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, buffers, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, cached, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, swap_cached, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, swap_total, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, swap_free, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, mapped, PMIX_FLOAT),
    FIELD(pmix_node_stats_t, sample_time, PMIX_TIMEVAL),
    FIELD_COUNTED(pmix_node_stats_t, diskstats, PMIX_DISK_STATS, ndiskstats, false),
    FIELD_COUNTED(pmix_node_stats_t, netstats, PMIX_NET_STATS, nnetstats, false),
    { 0 }
};

static const struct field answer_fields[] = {
    FIELD_OPTIONAL(struct value_answer, query, PMIX_SIZE),
    FIELD(struct value_answer, key, TYPE_KEY),
    { FIELD_NAMED(value), .type = PMIX_VALUE, .holds = HOLDS_MEMBERS, .optional = true,
      .offset = offsetof(struct value_answer, value) },
    FIELD_OPTIONAL(struct value_answer, flags, TYPE_INFO_FLAGS),
    FIELD_OPTIONAL(struct value_answer, status, PMIX_STATUS),
    FIELD_OPTIONAL(struct value_answer, piece, PMIX_STRING),
    FIELD_OPTIONAL(struct value_answer, more, PMIX_BOOL),
    { 0 }
};

/* --- the rows --------------------------------------------------------------------- */

/* The index is the number, the name the constant's: each macro spells it itself, since an
 * argument that is passed on arrives as its number. */
#define ROW(number, f, p, c_type) \
    [number] = { .name = #number, .form = f, .place = p, .size = sizeof(c_type) }
#define INSIDE(number, f, c_type) \
    [number] = { .name = #number, .form = f, .size = sizeof(c_type) }
#define NAMED(number, f, c_type, w) \
    [number] = { .name = #number, .form = f, .size = sizeof(c_type), .words = w }
#define RECORD(number, p, c_type, all) \
    [number] = { .name = #number, .form = FORM_RECORD, .place = p, .size = sizeof(c_type), \
                 .fields = all }
#define LOCAL(number, f, p, c_type) \
    [number] = { .name = #number, .form = f, .place = p, .size = sizeof(c_type), .local = true }

const struct type type_rows[TYPES] = {
    INSIDE(PMIX_UNDEF, FORM_NONE, char),
    INSIDE(PMIX_BOOL, FORM_BOOL, bool),
    INSIDE(PMIX_BYTE, FORM_UINT, uint8_t),
    INSIDE(PMIX_STRING, FORM_STRING, char *),
    INSIDE(PMIX_SIZE, FORM_UINT, size_t),
    INSIDE(PMIX_PID, FORM_INT, pid_t),
    INSIDE(PMIX_INT, FORM_INT, int),
    INSIDE(PMIX_INT8, FORM_INT, int8_t),
    INSIDE(PMIX_INT16, FORM_INT, int16_t),
    INSIDE(PMIX_INT32, FORM_INT, int32_t),
    INSIDE(PMIX_INT64, FORM_INT, int64_t),
    INSIDE(PMIX_UINT, FORM_UINT, unsigned),
    INSIDE(PMIX_UINT8, FORM_UINT, uint8_t),
    INSIDE(PMIX_UINT16, FORM_UINT, uint16_t),
    INSIDE(PMIX_UINT32, FORM_UINT, uint32_t),
    INSIDE(PMIX_UINT64, FORM_UINT, uint64_t),
    INSIDE(PMIX_FLOAT, FORM_REAL, float),
    INSIDE(PMIX_DOUBLE, FORM_REAL, double),
    RECORD(PMIX_TIMEVAL, PLACE_INSIDE, struct timeval, timeval_fields),
    INSIDE(PMIX_TIME, FORM_INT, time_t),
    NAMED(PMIX_STATUS, FORM_INT, pmix_status_t, words_status),
    ROW(PMIX_VALUE, FORM_VALUE, PLACE_NONE, pmix_value_t),
    RECORD(PMIX_PROC, PLACE_BEHIND, pmix_proc_t, proc_fields),
    RECORD(PMIX_APP, PLACE_NONE, pmix_app_t, app_fields),
    RECORD(PMIX_INFO, PLACE_NONE, pmix_info_t, info_fields),
    RECORD(PMIX_PDATA, PLACE_NONE, pmix_pdata_t, pdata_fields),
    INSIDE(PMIX_BYTE_OBJECT, FORM_BYTES, pmix_byte_object_t),
    LOCAL(PMIX_KVAL, FORM_OPAQUE, PLACE_NONE, char),
    NAMED(PMIX_PERSIST, FORM_UINT, pmix_persistence_t, words_persist),
    LOCAL(PMIX_POINTER, FORM_OPAQUE, PLACE_INSIDE, void *),
    NAMED(PMIX_SCOPE, FORM_UINT, pmix_scope_t, words_scope),
    NAMED(PMIX_DATA_RANGE, FORM_UINT, pmix_data_range_t, words_range),
    LOCAL(PMIX_COMMAND, FORM_UINT, PLACE_INSIDE, uint8_t),
    NAMED(PMIX_INFO_DIRECTIVES, FORM_FLAGS, pmix_info_directives_t, words_flags),
    INSIDE(PMIX_DATA_TYPE, FORM_UINT, pmix_data_type_t),
    NAMED(PMIX_PROC_STATE, FORM_UINT, pmix_proc_state_t, words_proc_state),
    RECORD(PMIX_PROC_INFO, PLACE_BEHIND, pmix_proc_info_t, proc_info_fields),
    ROW(PMIX_DATA_ARRAY, FORM_ARRAY, PLACE_BEHIND, pmix_data_array_t),
    NAMED(PMIX_PROC_RANK, FORM_RANK, pmix_rank_t, words_rank),
    RECORD(PMIX_QUERY, PLACE_NONE, pmix_query_t, query_fields),
    LOCAL(PMIX_COMPRESSED_STRING, FORM_BYTES, PLACE_INSIDE, pmix_byte_object_t),
    NAMED(PMIX_ALLOC_DIRECTIVE, FORM_UINT, pmix_alloc_directive_t, words_alloc),
    NAMED(PMIX_IOF_CHANNEL, FORM_UINT, pmix_iof_channel_t, words_iof),
    RECORD(PMIX_ENVAR, PLACE_INSIDE, pmix_envar_t, envar_fields),
    RECORD(PMIX_COORD, PLACE_BEHIND, pmix_coord_t, coord_fields),
    RECORD(PMIX_REGATTR, PLACE_NONE, pmix_regattr_t, regattr_fields),
    INSIDE(PMIX_REGEX, FORM_BYTES, pmix_byte_object_t),
    NAMED(PMIX_JOB_STATE, FORM_UINT, pmix_job_state_t, words_job_state),
    NAMED(PMIX_LINK_STATE, FORM_UINT, pmix_link_state_t, words_link_state),
    LOCAL(PMIX_PROC_CPUSET, FORM_OPAQUE, PLACE_BEHIND, pmix_cpuset_t),
    RECORD(PMIX_GEOMETRY, PLACE_BEHIND, pmix_geometry_t, geometry_fields),
    RECORD(PMIX_DEVICE_DIST, PLACE_BEHIND, pmix_device_distance_t, distance_fields),
    RECORD(PMIX_ENDPOINT, PLACE_BEHIND, pmix_endpoint_t, endpoint_fields),
    LOCAL(PMIX_TOPO, FORM_OPAQUE, PLACE_BEHIND, pmix_topology_t),
    INSIDE(PMIX_DEVTYPE, FORM_UINT, pmix_device_type_t),
    INSIDE(PMIX_LOCTYPE, FORM_UINT, pmix_locality_t),
    INSIDE(PMIX_COMPRESSED_BYTE_OBJECT, FORM_BYTES, pmix_byte_object_t),
    ROW(PMIX_PROC_NSPACE, FORM_CHARS, PLACE_BEHIND, pmix_nspace_t),
    RECORD(PMIX_PROC_STATS, PLACE_BEHIND, pmix_proc_stats_t, proc_stats_fields),
    RECORD(PMIX_DISK_STATS, PLACE_BEHIND, pmix_disk_stats_t, disk_stats_fields),
    RECORD(PMIX_NET_STATS, PLACE_BEHIND, pmix_net_stats_t, net_stats_fields),
    RECORD(PMIX_NODE_STATS, PLACE_BEHIND, pmix_node_stats_t, node_stats_fields),
    ROW(PMIX_DATA_BUFFER, FORM_BUFFER, PLACE_BEHIND, pmix_data_buffer_t),
    INSIDE(PMIX_STOR_MEDIUM, FORM_UINT, pmix_storage_medium_t),
    INSIDE(PMIX_STOR_ACCESS, FORM_UINT, pmix_storage_accessibility_t),
    INSIDE(PMIX_STOR_PERSIST, FORM_UINT, pmix_storage_persistence_t),
    INSIDE(PMIX_STOR_ACCESS_TYPE, FORM_UINT, pmix_storage_access_type_t),

    [TYPE_KEY] = { .name = "key", .form = FORM_CHARS, .size = sizeof(pmix_key_t) },
    [TYPE_CHAR] = { .name = "char", .form = FORM_CHAR, .size = 1 },
    /* How the sender keeps its infos is nothing to the receiver, who would leak a value that
     * is marked as another's. */
    [TYPE_INFO_FLAGS] = {
        .name = "flags", .form = FORM_FLAGS, .size = sizeof(pmix_info_directives_t),
        .hidden = PMIX_INFO_ARRAY_END | PMIX_INFO_PERSISTENT, .words = words_flags
    },
    [TYPE_ANSWER] = {
        .name = "answer", .form = FORM_RECORD, .place = PLACE_NONE,
        .size = sizeof(struct value_answer), .fields = answer_fields
    },
};

const struct type *type_of(pmix_data_type_t number)
{
    return number < TYPES_OF_PMIX && type_rows[number].name ? &type_rows[number] : NULL;
}

const struct type *type_named(const char *name, size_t len)
{
    for (size_t i = 0; i < TYPES_OF_PMIX; i++) {
        const char *s = type_rows[i].name;

        if (s && strlen(s) == len && !memcmp(s, name, len))
            return &type_rows[i];
    }
    return NULL;
}

pmix_data_type_t type_number(const struct type *t)
{
    return (pmix_data_type_t)(t - type_rows);
}

const char *type_word(const struct type *t, int64_t number)
{
    for (const struct word *w = t->words; w && *w->text; w++)
        if (w->number == number)
            return w->text;
    return NULL;
}
