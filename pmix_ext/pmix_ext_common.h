/* pmix_ext_common.h - the types and numbers of the PMIx standard, as libpmix 4.2.2 has
 * them: every size, offset and value below is that library's, so that structs may be
 * handed between code compiled with its header and code compiled with this one.  A unit
 * test holds the two together.  Do not include both in one file: they define the same
 * names.
 *
 * Programs include pmix_ext.h (or pmix.h, pmix_tool.h, which lead to it). */
#ifndef PMIX_EXT_COMMON_H
#define PMIX_EXT_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define PMIX_VERSION_MAJOR 4L
#define PMIX_VERSION_MINOR 2L
#define PMIX_VERSION_RELEASE 2L
#define PMIX_NUMERIC_VERSION 0x00040202

#define PMIX_HAVE_VISIBILITY 1
#define PMIX_EXPORT __attribute__((__visibility__("default")))

/* --- names and ranks --------------------------------------------------------- */

#define PMIX_MAX_NSLEN  255 /* bytes of a job's name, without the NUL */
#define PMIX_MAX_KEYLEN 511 /* bytes of a key, without the NUL */

typedef char pmix_nspace_t[PMIX_MAX_NSLEN + 1];
typedef char pmix_key_t[PMIX_MAX_KEYLEN + 1];
typedef uint32_t pmix_rank_t;

#define PMIX_RANK_UNDEF       UINT32_MAX       /* not known, or no rank in particular */
#define PMIX_RANK_WILDCARD    (UINT32_MAX - 1) /* every rank of the job */
#define PMIX_RANK_LOCAL_NODE  (UINT32_MAX - 2) /* every rank on this node */
#define PMIX_RANK_INVALID     (UINT32_MAX - 3)
#define PMIX_RANK_LOCAL_PEERS (UINT32_MAX - 4)  /* this job's ranks on this node */
#define PMIX_RANK_VALID       (UINT32_MAX - 50) /* real ranks are below */
#define PMIX_RANK_IS_VALID(r) ((r) < PMIX_RANK_VALID)

#define PMIX_APP_WILDCARD UINT32_MAX

/* --- statuses and events ----------------------------------------------------- */

typedef int pmix_status_t;

/* What a call answers. */
#define PMIX_SUCCESS                                  0
#define PMIX_ERROR                                    (-1)
#define PMIX_ERR_PROC_RESTART                         (-4)
#define PMIX_ERR_PROC_CHECKPOINT                      (-5)
#define PMIX_ERR_PROC_MIGRATE                         (-6)
#define PMIX_ERR_EXISTS                               (-11)
#define PMIX_ERR_INVALID_CRED                         (-12)
#define PMIX_ERR_WOULD_BLOCK                          (-15)
#define PMIX_ERR_UNKNOWN_DATA_TYPE                    (-16)
#define PMIX_ERR_TYPE_MISMATCH                        (-18)
#define PMIX_ERR_UNPACK_INADEQUATE_SPACE              (-19)
#define PMIX_ERR_UNPACK_FAILURE                       (-20)
#define PMIX_ERR_PACK_FAILURE                         (-21)
#define PMIX_ERR_NO_PERMISSIONS                       (-23)
#define PMIX_ERR_TIMEOUT                              (-24)
#define PMIX_ERR_UNREACH                              (-25)
#define PMIX_ERR_BAD_PARAM                            (-27)
#define PMIX_ERR_RESOURCE_BUSY                        (-28)
#define PMIX_ERR_OUT_OF_RESOURCE                      (-29)
#define PMIX_ERR_INIT                                 (-31)
#define PMIX_ERR_NOMEM                                (-32)
#define PMIX_ERR_NOT_FOUND                            (-46)
#define PMIX_ERR_NOT_SUPPORTED                        (-47)
#define PMIX_ERR_COMM_FAILURE                         (-49)
#define PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER       (-50)
#define PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES       (-51)
#define PMIX_ERR_PARTIAL_SUCCESS                      (-52)
#define PMIX_ERR_DUPLICATE_KEY                        (-53)
#define PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED            (-59)
#define PMIX_ERR_EMPTY                                (-60)
#define PMIX_ERR_LOST_CONNECTION                      (-61)
#define PMIX_ERR_EXISTS_OUTSIDE_SCOPE                 (-62)
#define PMIX_QUERY_PARTIAL_SUCCESS                    (-104)
#define PMIX_ERR_EVENT_REGISTRATION                   (-144)
#define PMIX_OPERATION_IN_PROGRESS                    (-156)
#define PMIX_OPERATION_SUCCEEDED                      (-157)
#define PMIX_ERR_INVALID_OPERATION                    (-158)
#define PMIX_ERR_REPEAT_ATTR_REGISTRATION             (-171)
#define PMIX_ERR_IOF_FAILURE                          (-172)
#define PMIX_ERR_IOF_COMPLETE                         (-173)

/* Why a job failed; also sent as events. */
#define PMIX_ERR_JOB_APP_NOT_EXECUTABLE               (-177)
#define PMIX_ERR_JOB_NO_EXE_SPECIFIED                 (-178)
#define PMIX_ERR_JOB_FAILED_TO_MAP                    (-179)
#define PMIX_ERR_JOB_CANCELED                         (-180)
#define PMIX_ERR_JOB_FAILED_TO_LAUNCH                 (-181)
#define PMIX_ERR_JOB_ABORTED                          (-182)
#define PMIX_ERR_JOB_KILLED_BY_CMD                    (-183)
#define PMIX_ERR_JOB_ABORTED_BY_SIG                   (-184)
#define PMIX_ERR_JOB_TERM_WO_SYNC                     (-185)
#define PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED            (-186)
#define PMIX_ERR_JOB_NON_ZERO_TERM                    (-187)
#define PMIX_ERR_JOB_ALLOC_FAILED                     (-188)
#define PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT             (-189)
#define PMIX_ERR_JOB_EXE_NOT_FOUND                    (-190)
#define PMIX_ERR_JOB_WDIR_NOT_FOUND                   (-233)
#define PMIX_ERR_JOB_INSUFFICIENT_RESOURCES           (-234)
#define PMIX_ERR_JOB_SYS_OP_FAILED                    (-235)

/* How a process ended; also sent as events. */
#define PMIX_ERR_PROC_REQUESTED_ABORT                 (-8)
#define PMIX_ERR_PROC_TERM_WO_SYNC                    (-200)
#define PMIX_ERR_PROC_KILLED_BY_CMD                   (-400)
#define PMIX_ERR_PROC_FAILED_TO_START                 (-401)
#define PMIX_ERR_PROC_ABORTED_BY_SIG                  (-402)
#define PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED           (-403)
#define PMIX_ERR_EXIT_NONZERO_TERM                    (-404)

/* Events. */
#define PMIX_DEBUGGER_RELEASE                         (-3)
#define PMIX_PROCESS_SET_DEFINE                       (-55)
#define PMIX_PROCESS_SET_DELETE                       (-56)
#define PMIX_READY_FOR_DEBUG                          (-58)
#define PMIX_JCTRL_CHECKPOINT                         (-106)
#define PMIX_JCTRL_CHECKPOINT_COMPLETE                (-107)
#define PMIX_JCTRL_PREEMPT_ALERT                      (-108)
#define PMIX_MONITOR_HEARTBEAT_ALERT                  (-109)
#define PMIX_MONITOR_FILE_ALERT                       (-110)
#define PMIX_PROC_TERMINATED                          (-111)
#define PMIX_FABRIC_UPDATE_ENDPOINTS                  (-113)
#define PMIX_EVENT_JOB_END                            (-145)
#define PMIX_MODEL_DECLARED                           (-147)
#define PMIX_MODEL_RESOURCES                          (-151)
#define PMIX_OPENMP_PARALLEL_ENTERED                  (-152)
#define PMIX_OPENMP_PARALLEL_EXITED                   (-153)
#define PMIX_LAUNCHER_READY                           (-155)
#define PMIX_GROUP_INVITED                            (-159)
#define PMIX_GROUP_LEFT                               (-160)
#define PMIX_GROUP_INVITE_ACCEPTED                    (-161)
#define PMIX_GROUP_INVITE_DECLINED                    (-162)
#define PMIX_GROUP_INVITE_FAILED                      (-163)
#define PMIX_GROUP_MEMBERSHIP_UPDATE                  (-164)
#define PMIX_GROUP_CONSTRUCT_ABORT                    (-165)
#define PMIX_GROUP_CONSTRUCT_COMPLETE                 (-166)
#define PMIX_GROUP_LEADER_SELECTED                    (-167)
#define PMIX_GROUP_LEADER_FAILED                      (-168)
#define PMIX_GROUP_CONTEXT_ID_ASSIGNED                (-169)
#define PMIX_GROUP_MEMBER_FAILED                      (-170)
#define PMIX_LAUNCH_COMPLETE                          (-174)
#define PMIX_FABRIC_UPDATED                           (-175)
#define PMIX_FABRIC_UPDATE_PENDING                    (-176)
#define PMIX_EVENT_JOB_START                          (-191)
#define PMIX_EVENT_SESSION_START                      (-192)
#define PMIX_EVENT_SESSION_END                        (-193)
#define PMIX_EVENT_PROC_TERMINATED                    (-201)

/* Events of the system: the codes from SYS_BASE down to SYS_OTHER. */
#define PMIX_EVENT_SYS_BASE                           (-230)
#define PMIX_EVENT_NODE_DOWN                          (-231)
#define PMIX_EVENT_NODE_OFFLINE                       (-232)
#define PMIX_EVENT_SYS_OTHER                          (-330)

#define PMIX_SYSTEM_EVENT(a) ((a) <= PMIX_EVENT_SYS_BASE && (a) >= PMIX_EVENT_SYS_OTHER)

/* What an event handler answers to whoever called it. */
#define PMIX_EVENT_NO_ACTION_TAKEN                    (-331)
#define PMIX_EVENT_PARTIAL_ACTION_TAKEN               (-332)
#define PMIX_EVENT_ACTION_DEFERRED                    (-333)
#define PMIX_EVENT_ACTION_COMPLETE                    (-334)

/* Codes of others are below. */
#define PMIX_EXTERNAL_ERR_BASE                        (-3000)

/* Ours are between the standard's and those: events that were for this process were dropped, as it did not read; the info
 * PMIX_EXT_MISSED (PMIX_UINT64) says how many. */
#define PMIX_EXT_EVENTS_MISSED                        (-2901)
#define PMIX_EXT_MISSED                               "events.missed"

/* Ours, of the launcher (PROTOCOL.md): a job has its name, before any process of it exists; and
 * ranks that waited for a debugger go on. */
#define PMIX_EXT_JOB_CREATED                          (-2902)
#define PMIX_EXT_JOB_RELEASED                         (-2903)

/* Names of earlier versions. */
#define PMIX_ERR_SILENT                               (-2)
#define PMIX_ERR_DEBUGGER_RELEASE                     (-3)
#define PMIX_ERR_PROC_ABORTED                         (-7)
#define PMIX_ERR_PROC_ABORTING                        (-9)
#define PMIX_ERR_SERVER_FAILED_REQUEST                (-10)
#define PMIX_EXISTS                                   (-11)
#define PMIX_ERR_HANDSHAKE_FAILED                     (-13)
#define PMIX_ERR_READY_FOR_HANDSHAKE                  (-14)
#define PMIX_ERR_PROC_ENTRY_NOT_FOUND                 (-17)
#define PMIX_ERR_PACK_MISMATCH                        (-22)
#define PMIX_ERR_IN_ERRNO                             (-26)
#define PMIX_ERR_DATA_VALUE_NOT_FOUND                 (-30)
#define PMIX_ERR_INVALID_ARG                          (-33)
#define PMIX_ERR_INVALID_KEY                          (-34)
#define PMIX_ERR_INVALID_KEY_LENGTH                   (-35)
#define PMIX_ERR_INVALID_VAL                          (-36)
#define PMIX_ERR_INVALID_VAL_LENGTH                   (-37)
#define PMIX_ERR_INVALID_LENGTH                       (-38)
#define PMIX_ERR_INVALID_NUM_ARGS                     (-39)
#define PMIX_ERR_INVALID_ARGS                         (-40)
#define PMIX_ERR_INVALID_NUM_PARSED                   (-41)
#define PMIX_ERR_INVALID_KEYVALP                      (-42)
#define PMIX_ERR_INVALID_SIZE                         (-43)
#define PMIX_ERR_INVALID_NAMESPACE                    (-44)
#define PMIX_ERR_SERVER_NOT_AVAIL                     (-45)
#define PMIX_ERR_NOT_IMPLEMENTED                      (-48)
#define PMIX_DEBUG_WAITING_FOR_NOTIFY                 (-58)
#define PMIX_ERR_FATAL                                (-63)
#define PMIX_ERR_NOT_AVAILABLE                        (-64)
#define PMIX_ERR_VALUE_OUT_OF_BOUNDS                  (-65)
#define PMIX_ERR_FILE_OPEN_FAILURE                    (-67)
#define PMIX_ERR_FILE_READ_FAILURE                    (-68)
#define PMIX_ERR_FILE_WRITE_FAILURE                   (-69)
#define PMIX_ERR_SYS_LIMITS_PIPES                     (-70)
#define PMIX_ERR_SYS_LIMITS_CHILDREN                  (-71)
#define PMIX_ERR_PIPE_SETUP_FAILURE                   (-72)
#define PMIX_ERR_EXE_NOT_ACCESSIBLE                   (-73)
#define PMIX_ERR_JOB_WDIR_NOT_ACCESSIBLE              (-74)
#define PMIX_ERR_SYS_LIMITS_FILES                     (-75)
#define PMIX_ERR_LOST_CONNECTION_TO_SERVER            (-101)
#define PMIX_ERR_LOST_PEER_CONNECTION                 (-102)
#define PMIX_ERR_LOST_CONNECTION_TO_CLIENT            (-103)
#define PMIX_NOTIFY_ALLOC_COMPLETE                    (-105)
#define PMIX_ERR_INVALID_TERMINATION                  (-112)
#define PMIX_ERR_JOB_TERMINATED                       (-145)
#define PMIX_ERR_UPDATE_ENDPOINTS                     (-146)
#define PMIX_GDS_ACTION_COMPLETE                      (-148)
#define PMIX_PROC_HAS_CONNECTED                       (-149)
#define PMIX_CONNECT_REQUESTED                        (-150)
#define PMIX_ERR_NODE_DOWN                            (-231)
#define PMIX_ERR_NODE_OFFLINE                         (-232)
#define PMIX_ERR_SYS_BASE                             PMIX_EVENT_SYS_BASE
#define PMIX_ERR_SYS_OTHER                            PMIX_EVENT_SYS_OTHER

/* --- types of data ----------------------------------------------------------- */

typedef uint16_t pmix_data_type_t;

#define PMIX_UNDEF                  0
#define PMIX_BOOL                   1
#define PMIX_BYTE                   2
#define PMIX_STRING                 3
#define PMIX_SIZE                   4
#define PMIX_PID                    5
#define PMIX_INT                    6
#define PMIX_INT8                   7
#define PMIX_INT16                  8
#define PMIX_INT32                  9
#define PMIX_INT64                  10
#define PMIX_UINT                   11
#define PMIX_UINT8                  12
#define PMIX_UINT16                 13
#define PMIX_UINT32                 14
#define PMIX_UINT64                 15
#define PMIX_FLOAT                  16
#define PMIX_DOUBLE                 17
#define PMIX_TIMEVAL                18
#define PMIX_TIME                   19
#define PMIX_STATUS                 20
#define PMIX_VALUE                  21
#define PMIX_PROC                   22
#define PMIX_APP                    23
#define PMIX_INFO                   24
#define PMIX_PDATA                  25
#define PMIX_BUFFER                 26 /* retired */
#define PMIX_BYTE_OBJECT            27
#define PMIX_KVAL                   28
#define PMIX_PERSIST                30
#define PMIX_POINTER                31
#define PMIX_SCOPE                  32
#define PMIX_DATA_RANGE             33
#define PMIX_COMMAND                34
#define PMIX_INFO_DIRECTIVES        35
#define PMIX_DATA_TYPE              36
#define PMIX_PROC_STATE             37
#define PMIX_PROC_INFO              38
#define PMIX_DATA_ARRAY             39
#define PMIX_PROC_RANK              40
#define PMIX_QUERY                  41
#define PMIX_COMPRESSED_STRING      42
#define PMIX_ALLOC_DIRECTIVE        43
#define PMIX_IOF_CHANNEL            45
#define PMIX_ENVAR                  46
#define PMIX_COORD                  47
#define PMIX_REGATTR                48
#define PMIX_REGEX                  49
#define PMIX_JOB_STATE              50
#define PMIX_LINK_STATE             51
#define PMIX_PROC_CPUSET            52
#define PMIX_GEOMETRY               53
#define PMIX_DEVICE_DIST            54
#define PMIX_ENDPOINT               55
#define PMIX_TOPO                   56
#define PMIX_DEVTYPE                57
#define PMIX_LOCTYPE                58
#define PMIX_COMPRESSED_BYTE_OBJECT 59
#define PMIX_PROC_NSPACE            60
#define PMIX_PROC_STATS             61
#define PMIX_DISK_STATS             62
#define PMIX_NET_STATS              63
#define PMIX_NODE_STATS             64
#define PMIX_DATA_BUFFER            65
#define PMIX_STOR_MEDIUM            66
#define PMIX_STOR_ACCESS            67
#define PMIX_STOR_PERSIST           68
#define PMIX_STOR_ACCESS_TYPE       69
#define PMIX_DATA_TYPE_MAX          500 /* first number of others */

/* --- small types and their values -------------------------------------------- */

/* What a process is doing.  Up to UNTERMINATED it is alive, from ERROR on it failed. */
typedef uint8_t pmix_proc_state_t;
#define PMIX_PROC_STATE_UNDEF                 0
#define PMIX_PROC_STATE_PREPPED               1
#define PMIX_PROC_STATE_LAUNCH_UNDERWAY       2
#define PMIX_PROC_STATE_RESTART               3
#define PMIX_PROC_STATE_TERMINATE             4
#define PMIX_PROC_STATE_RUNNING               5
#define PMIX_PROC_STATE_CONNECTED             6
#define PMIX_EXT_PROC_STATE_HELD              14 /* ours: it waits for a debugger to let it go on */
#define PMIX_PROC_STATE_UNTERMINATED          15
#define PMIX_PROC_STATE_TERMINATED            20
#define PMIX_PROC_STATE_ERROR                 50
#define PMIX_PROC_STATE_KILLED_BY_CMD         (PMIX_PROC_STATE_ERROR + 1)
#define PMIX_PROC_STATE_ABORTED               (PMIX_PROC_STATE_ERROR + 2)
#define PMIX_PROC_STATE_FAILED_TO_START       (PMIX_PROC_STATE_ERROR + 3)
#define PMIX_PROC_STATE_ABORTED_BY_SIG        (PMIX_PROC_STATE_ERROR + 4)
#define PMIX_PROC_STATE_TERM_WO_SYNC          (PMIX_PROC_STATE_ERROR + 5)
#define PMIX_PROC_STATE_COMM_FAILED           (PMIX_PROC_STATE_ERROR + 6)
#define PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED (PMIX_PROC_STATE_ERROR + 7)
#define PMIX_PROC_STATE_CALLED_ABORT          (PMIX_PROC_STATE_ERROR + 8)
#define PMIX_PROC_STATE_HEARTBEAT_FAILED      (PMIX_PROC_STATE_ERROR + 9)
#define PMIX_PROC_STATE_MIGRATING             (PMIX_PROC_STATE_ERROR + 10)
#define PMIX_PROC_STATE_CANNOT_RESTART        (PMIX_PROC_STATE_ERROR + 11)
#define PMIX_PROC_STATE_TERM_NON_ZERO         (PMIX_PROC_STATE_ERROR + 12)
#define PMIX_PROC_STATE_FAILED_TO_LAUNCH      (PMIX_PROC_STATE_ERROR + 13)

typedef uint8_t pmix_job_state_t;
#define PMIX_JOB_STATE_UNDEF                 0
#define PMIX_JOB_STATE_PREPPED               1 /* earlier name of the next */
#define PMIX_JOB_STATE_AWAITING_ALLOC        1
#define PMIX_JOB_STATE_LAUNCH_UNDERWAY       2
#define PMIX_JOB_STATE_RUNNING               3
#define PMIX_JOB_STATE_SUSPENDED             4
#define PMIX_JOB_STATE_CONNECTED             5
#define PMIX_JOB_STATE_UNTERMINATED          15
#define PMIX_JOB_STATE_TERMINATED            20
#define PMIX_JOB_STATE_TERMINATED_WITH_ERROR 50

/* Who may get a value that is put. */
typedef uint8_t pmix_scope_t;
#define PMIX_SCOPE_UNDEF 0
#define PMIX_LOCAL       1 /* ranks on this node */
#define PMIX_REMOTE      2 /* ranks on other nodes */
#define PMIX_GLOBAL      3
#define PMIX_INTERNAL    4 /* this process alone */

/* Who may look up what is published, and who is sent an event. */
typedef uint8_t pmix_data_range_t;
#define PMIX_RANGE_UNDEF      0
#define PMIX_RANGE_RM         1 /* the resource manager alone */
#define PMIX_RANGE_LOCAL      2 /* this node */
#define PMIX_RANGE_NAMESPACE  3 /* this job */
#define PMIX_RANGE_SESSION    4 /* this allocation */
#define PMIX_RANGE_GLOBAL     5
#define PMIX_RANGE_CUSTOM     6 /* those an info names */
#define PMIX_RANGE_PROC_LOCAL 7 /* this process alone */
#define PMIX_RANGE_INVALID    UINT8_MAX

/* How long what is published stays. */
typedef uint8_t pmix_persistence_t;
#define PMIX_PERSIST_INDEF      0 /* until it is unpublished */
#define PMIX_PERSIST_FIRST_READ 1
#define PMIX_PERSIST_PROC       2 /* as long as its publisher */
#define PMIX_PERSIST_APP        3
#define PMIX_PERSIST_SESSION    4
#define PMIX_PERSIST_INVALID    UINT8_MAX

/* Flags of an info. */
typedef uint32_t pmix_info_directives_t;
#define PMIX_INFO_REQD           0x00000001 /* honour it or fail */
#define PMIX_INFO_ARRAY_END      0x00000002 /* the last of its array */
#define PMIX_INFO_REQD_PROCESSED 0x00000004 /* a required one that was honoured */
#define PMIX_INFO_QUALIFIER      0x00000008 /* qualifies the value beside it */
#define PMIX_INFO_PERSISTENT     0x00000010 /* its value is another's: not freed with it */
#define PMIX_INFO_DIR_RESERVED   0xffff0000 /* of others */

typedef uint8_t pmix_alloc_directive_t;
#define PMIX_ALLOC_NEW      1
#define PMIX_ALLOC_EXTEND   2
#define PMIX_ALLOC_RELEASE  3
#define PMIX_ALLOC_REAQUIRE 4   /* spelt so in the standard */
#define PMIX_ALLOC_EXTERNAL 128 /* first number of others */

/* Bits: a process's streams. */
typedef uint16_t pmix_iof_channel_t;
#define PMIX_FWD_NO_CHANNELS     0x0000
#define PMIX_FWD_STDIN_CHANNEL   0x0001
#define PMIX_FWD_STDOUT_CHANNEL  0x0002
#define PMIX_FWD_STDERR_CHANNEL  0x0004
#define PMIX_FWD_STDDIAG_CHANNEL 0x0008
#define PMIX_FWD_ALL_CHANNELS    0x00ff

typedef uint8_t pmix_link_state_t;
#define PMIX_LINK_STATE_UNKNOWN 0
#define PMIX_LINK_DOWN          1
#define PMIX_LINK_UP            2

typedef uint8_t pmix_coord_view_t;
#define PMIX_COORD_VIEW_UNDEF    0x00
#define PMIX_COORD_LOGICAL_VIEW  0x01
#define PMIX_COORD_PHYSICAL_VIEW 0x02

typedef uint8_t pmix_bind_envelope_t;
#define PMIX_CPUBIND_PROCESS 0
#define PMIX_CPUBIND_THREAD  1

/* Bits: what two processes share. */
typedef uint16_t pmix_locality_t;
#define PMIX_LOCALITY_UNKNOWN        0x0000
#define PMIX_LOCALITY_SHARE_HWTHREAD 0x0001
#define PMIX_LOCALITY_SHARE_CORE     0x0002
#define PMIX_LOCALITY_SHARE_L1CACHE  0x0004
#define PMIX_LOCALITY_SHARE_L2CACHE  0x0008
#define PMIX_LOCALITY_SHARE_L3CACHE  0x0010
#define PMIX_LOCALITY_SHARE_PACKAGE  0x0020
#define PMIX_LOCALITY_SHARE_NUMA     0x0040
#define PMIX_LOCALITY_SHARE_NODE     0x4000
#define PMIX_LOCALITY_NONLOCAL       0x8000

typedef uint64_t pmix_device_type_t;
#define PMIX_DEVTYPE_UNKNOWN     0x00
#define PMIX_DEVTYPE_BLOCK       0x01
#define PMIX_DEVTYPE_GPU         0x02
#define PMIX_DEVTYPE_NETWORK     0x04
#define PMIX_DEVTYPE_OPENFABRICS 0x08
#define PMIX_DEVTYPE_DMA         0x10
#define PMIX_DEVTYPE_COPROC      0x20

typedef uint64_t pmix_storage_medium_t;
#define PMIX_STORAGE_MEDIUM_UNKNOWN 0x0000000000000001
#define PMIX_STORAGE_MEDIUM_TAPE    0x0000000000000002
#define PMIX_STORAGE_MEDIUM_HDD     0x0000000000000004
#define PMIX_STORAGE_MEDIUM_SSD     0x0000000000000008
#define PMIX_STORAGE_MEDIUM_NVME    0x0000000000000010
#define PMIX_STORAGE_MEDIUM_PMEM    0x0000000000000020
#define PMIX_STORAGE_MEDIUM_RAM     0x0000000000000040

typedef uint64_t pmix_storage_accessibility_t;
#define PMIX_STORAGE_ACCESSIBILITY_NODE    0x0000000000000001
#define PMIX_STORAGE_ACCESSIBILITY_SESSION 0x0000000000000002
#define PMIX_STORAGE_ACCESSIBILITY_JOB     0x0000000000000004
#define PMIX_STORAGE_ACCESSIBILITY_RACK    0x0000000000000008
#define PMIX_STORAGE_ACCESSIBILITY_CLUSTER 0x0000000000000010
#define PMIX_STORAGE_ACCESSIBILITY_REMOTE  0x0000000000000020

typedef uint64_t pmix_storage_persistence_t;
#define PMIX_STORAGE_PERSISTENCE_TEMPORARY 0x0000000000000001
#define PMIX_STORAGE_PERSISTENCE_NODE      0x0000000000000002
#define PMIX_STORAGE_PERSISTENCE_SESSION   0x0000000000000004
#define PMIX_STORAGE_PERSISTENCE_JOB       0x0000000000000008
#define PMIX_STORAGE_PERSISTENCE_SCRATCH   0x0000000000000010
#define PMIX_STORAGE_PERSISTENCE_PROJECT   0x0000000000000020
#define PMIX_STORAGE_PERSISTENCE_ARCHIVE   0x0000000000000040

typedef uint16_t pmix_storage_access_type_t;
#define PMIX_STORAGE_ACCESS_RD   0x0001
#define PMIX_STORAGE_ACCESS_WR   0x0002
#define PMIX_STORAGE_ACCESS_RDWR 0x0003

typedef enum {
    PMIX_EQUAL = 0,
    PMIX_VALUE1_GREATER = 1,
    PMIX_VALUE2_GREATER = 2,
    PMIX_VALUE_TYPE_DIFFERENT = 3,
    PMIX_VALUE_INCOMPATIBLE_OBJECTS = 4,
    PMIX_VALUE_COMPARISON_NOT_AVAIL = 5
} pmix_value_cmp_t;

typedef enum { PMIX_GROUP_DECLINE = 0, PMIX_GROUP_ACCEPT = 1 } pmix_group_opt_t;
typedef enum { PMIX_GROUP_CONSTRUCT = 0, PMIX_GROUP_DESTRUCT = 1 } pmix_group_operation_t;
/* True is 0: not a bool. */
typedef enum { PMIX_BOOL_TRUE = 0, PMIX_BOOL_FALSE = 1, PMIX_NON_BOOL = 2 } pmix_boolean_t;
typedef enum {
    PMIX_FABRIC_REQUEST_INFO = 0,
    PMIX_FABRIC_UPDATE_INFO = 1
} pmix_fabric_operation_t;

/* --- structs ------------------------------------------------------------------ */

typedef struct pmix_proc {
    pmix_nspace_t nspace;
    pmix_rank_t rank;
} pmix_proc_t;

typedef struct pmix_proc_info {
    pmix_proc_t proc;
    char *hostname;
    char *executable_name;
    pid_t pid;
    int exit_code;
    pmix_proc_state_t state;
} pmix_proc_info_t;

typedef struct pmix_byte_object {
    char *bytes;
    size_t size;
} pmix_byte_object_t;

/* size elements of one type, in one block of their C type. */
typedef struct pmix_data_array {
    pmix_data_type_t type;
    size_t size;
    void *array;
} pmix_data_array_t;

/* Packed data: of no use but to the PMIx_Data_ functions. */
typedef struct pmix_data_buffer {
    char *base_ptr;
    char *pack_ptr;
    char *unpack_ptr;
    size_t bytes_allocated;
    size_t bytes_used;
} pmix_data_buffer_t;

typedef struct {
    char *envar;
    char *value;
    char separator;
} pmix_envar_t;

typedef struct pmix_coord {
    pmix_coord_view_t view;
    uint32_t *coord;
    size_t dims;
} pmix_coord_t;

typedef struct {
    char *source; /* who made the bitmap, such as "hwloc" */
    void *bitmap;
} pmix_cpuset_t;

typedef struct {
    char *source;
    void *topology;
} pmix_topology_t;

typedef struct pmix_geometry {
    size_t fabric;
    char *uuid;
    char *osname;
    pmix_coord_t *coordinates;
    size_t ncoords;
} pmix_geometry_t;

typedef struct pmix_device_distance {
    char *uuid;
    char *osname;
    pmix_device_type_t type;
    uint16_t mindist;
    uint16_t maxdist;
} pmix_device_distance_t;

typedef struct pmix_endpoint {
    char *uuid;
    char *osname;
    pmix_byte_object_t endpt;
} pmix_endpoint_t;

typedef struct pmix_proc_stats {
    char *node;
    pmix_proc_t proc;
    pid_t pid;
    char *cmd;
    char state;
    struct timeval time;
    float percent_cpu;
    int32_t priority;
    uint16_t num_threads;
    float pss; /* this and the next three: megabytes */
    float vsize;
    float rss;
    float peak_vsize;
    uint16_t processor;
    struct timeval sample_time;
} pmix_proc_stats_t;

typedef struct {
    char *disk;
    uint64_t num_reads_completed;
    uint64_t num_reads_merged;
    uint64_t num_sectors_read;
    uint64_t milliseconds_reading;
    uint64_t num_writes_completed;
    uint64_t num_writes_merged;
    uint64_t num_sectors_written;
    uint64_t milliseconds_writing;
    uint64_t num_ios_in_progress;
    uint64_t milliseconds_io;
    uint64_t weighted_milliseconds_io;
} pmix_disk_stats_t;

typedef struct {
    char *net_interface;
    uint64_t num_bytes_recvd;
    uint64_t num_packets_recvd;
    uint64_t num_recv_errs;
    uint64_t num_bytes_sent;
    uint64_t num_packets_sent;
    uint64_t num_send_errs;
} pmix_net_stats_t;

typedef struct {
    char *node;
    float la; /* load of the last 1, 5 and 15 minutes */
    float la5;
    float la15;
    float total_mem; /* this and the next seven: megabytes */
    float free_mem;
    float buffers;
    float cached;
    float swap_cached;
    float swap_total;
    float swap_free;
    float mapped;
    struct timeval sample_time;
    pmix_disk_stats_t *diskstats;
    size_t ndiskstats;
    pmix_net_stats_t *netstats;
    size_t nnetstats;
} pmix_node_stats_t;

/* A value: its type says which member of data is meant. */
typedef struct pmix_value {
    pmix_data_type_t type;
    union {
        bool flag;
        uint8_t byte;
        char *string;
        size_t size;
        pid_t pid;
        int integer;
        int8_t int8;
        int16_t int16;
        int32_t int32;
        int64_t int64;
        unsigned int uint;
        uint8_t uint8;
        uint16_t uint16;
        uint32_t uint32;
        uint64_t uint64;
        float fval;
        double dval;
        struct timeval tv;
        time_t time;
        pmix_status_t status;
        pmix_rank_t rank;
        pmix_nspace_t *nspace;
        pmix_proc_t *proc;
        pmix_byte_object_t bo;
        pmix_persistence_t persist;
        pmix_scope_t scope;
        pmix_data_range_t range;
        pmix_proc_state_t state;
        pmix_proc_info_t *pinfo;
        pmix_data_array_t *darray;
        void *ptr;
        pmix_alloc_directive_t adir;
        pmix_envar_t envar;
        pmix_coord_t *coord;
        pmix_link_state_t linkstate;
        pmix_job_state_t jstate;
        pmix_topology_t *topo;
        pmix_cpuset_t *cpuset;
        pmix_locality_t locality;
        pmix_geometry_t *geometry;
        pmix_device_type_t devtype;
        pmix_device_distance_t *devdist;
        pmix_endpoint_t *endpoint;
        pmix_data_buffer_t *dbuf;
        pmix_proc_stats_t *pstats;
        pmix_disk_stats_t *dkstats;
        pmix_net_stats_t *netstats;
        pmix_node_stats_t *ndstats;
    } data;
} pmix_value_t;

typedef struct pmix_info {
    pmix_key_t key;
    pmix_info_directives_t flags;
    pmix_value_t value;
} pmix_info_t;

typedef struct pmix_pdata {
    pmix_proc_t proc;
    pmix_key_t key;
    pmix_value_t value;
} pmix_pdata_t;

/* argv, env and keys end with NULL. */
typedef struct pmix_app {
    char *cmd;
    char **argv;
    char **env;
    char *cwd;
    int maxprocs;
    pmix_info_t *info;
    size_t ninfo;
} pmix_app_t;

typedef struct pmix_query {
    char **keys;
    pmix_info_t *qualifiers;
    size_t nqual;
} pmix_query_t;

typedef struct pmix_regattr_t {
    char *name;
    pmix_key_t string;
    pmix_data_type_t type;
    char **description;
} pmix_regattr_t;

typedef struct pmix_fabric_s {
    char *name;
    size_t index;
    pmix_info_t *info;
    size_t ninfo;
    void *module;
} pmix_fabric_t;

#endif
