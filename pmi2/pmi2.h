/* pmi2.h - the PMI-2 client interface of mpiexec_lite's libpmi2.
 *
 * A process started by a PMI-2 launcher learns here who it is, exchanges short
 * texts with the other processes of its job, and starts or finds other jobs.
 * A process started without one is a job of its own, of one process.
 *
 * Two headers of this name exist, Slurm's and MPICH's.  Programs written to
 * either compile with this one, and binaries linked with Slurm's libpmi2.so.0
 * run with ours.  They differ in the type of info arguments:
 *
 *   default                 MPICH's: PMI2_keyval_t, arrays of structs.
 *                           PMI2_Job_Spawn then means PMI2_Job_Spawn_kv.
 *   PMI2_USE_SLURM_INFO     defined before this header: Slurm's, struct MPID_Info.
 *                           PMI2_Job_Spawn is then the symbol of that name.
 *
 * So the symbol PMI2_Job_Spawn has Slurm's layout whatever the header says; who
 * looks functions up with dlsym asks for the one whose layout he uses.
 *
 * Common to all functions
 *   Result      PMI2_SUCCESS (0), or one of PMI2_ERR_* below; nothing is written to
 *               output arguments then, unless the function says so.
 *               PMI2_Error_text names the code, PMI2_Error_message tells what
 *               happened.  An MPI library maps them to its own codes.
 *   Text        UTF-8, ends with NUL.  Sizes of buffers are in bytes and count the
 *               NUL; lengths and maxima of text are in bytes and do not.
 *   Ownership   arguments are the caller's and may be reused after the call; the
 *               library keeps no pointer.
 *   Threads     all functions may be called by any number of threads at once and
 *               block only the calling thread.  (With a launcher that is not
 *               mpiexec_lite requests take turns.)  None may be called from a signal
 *               handler, or in a child after fork unless it calls exec.  No call is a
 *               cancellation point.
 *   Order       PMI2_Init first; only PMI2_Initialized, PMI2_Init_version,
 *               PMI2_Set_threaded, PMI2_Abort and the two PMI2_Error functions
 *               may come before it.  Others return PMI2_ERR_INIT.
 *   Failure     when the connection to the launcher ends or what comes over it
 *               makes no sense, the calls under way and all later ones return
 *               PMI2_ERR_OTHER at once.
 *
 * Sources: "PMI v2 API" draft, its section names are given at each function;
 * libpmi2(3) lists where the references differ and what was chosen. */
#ifndef PMI2_H_INCLUDED
#define PMI2_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface (draft, "Header File").  A program may include PMI-1's
 * pmi.h first, which has its own. */
#ifndef PMI_VERSION
#define PMI_VERSION 2
#endif
#ifndef PMI_SUBVERSION
#define PMI_SUBVERSION 0
#endif

#define PMI2_MAX_KEYLEN    64        /* bytes of a key */
#define PMI2_MAX_VALLEN    1024      /* bytes of a value that every launcher takes;
                                        mpiexec_lite takes 65280, ';' counting twice */
#define PMI2_MAX_ATTRVALUE 1024      /* the same for attributes */
#define PMI2_ID_NULL       (-1)      /* no hint who put a key */

#ifndef PMI_MAX_MSG_STRING
#define PMI_MAX_MSG_STRING 1024      /* bytes of the text of PMI2_Abort */
#endif

#define PMI2_SUCCESS                0
#define PMI2_FAIL                   (-1)
#define PMI2_ERR_INIT               1    /* not initialised, or finalised */
#define PMI2_ERR_NOMEM              2    /* no memory, or a buffer is too small */
#define PMI2_ERR_INVALID_ARG        3
#define PMI2_ERR_INVALID_KEY        4    /* empty, not UTF-8, or not to be written */
#define PMI2_ERR_INVALID_KEY_LENGTH 5    /* over PMI2_MAX_KEYLEN */
#define PMI2_ERR_INVALID_VAL        6    /* missing, or not UTF-8 */
#define PMI2_ERR_INVALID_VAL_LENGTH 7    /* more than the launcher takes */
#define PMI2_ERR_INVALID_LENGTH     8    /* a size is negative, or a message too long */
#define PMI2_ERR_INVALID_NUM_ARGS   9
#define PMI2_ERR_INVALID_ARGS       10
#define PMI2_ERR_INVALID_NUM_PARSED 11   /* 11 to 13 are not used by this library */
#define PMI2_ERR_INVALID_KEYVALP    12
#define PMI2_ERR_INVALID_SIZE       13
#define PMI2_ERR_OTHER              14   /* anything else; see PMI2_Error_message */

/* MPICH's info: `size` of them lie side by side in an array.  Borrowed. */
typedef struct PMI2_keyval {
    const char *key;
    const char *val;
} PMI2_keyval_t;

#ifdef PMI2_USE_SLURM_INFO
/* Slurm's info (40 bytes where pointers have 8).  Only key and value are read;
 * vectors are indexed, next is not followed. */
typedef struct MPID_Info {
    int               handle;
    int               pobj_mutex;
    int               ref_count;
    struct MPID_Info *next;
    char             *key;
    char             *value;
} MPID_Info;
typedef struct MPID_Info PMI2_info_t;
#else
typedef PMI2_keyval_t PMI2_info_t;
#endif

/* How to reach the leader of a job one connects to (draft, "Creating and Connecting to
 * Processes"), where the launcher does not know that job: see PMI2_Job_Connect. */
typedef struct PMI2_Connect_comm {
    int (*read)(void *buf, int maxlen, void *ctx);      /* as read(2): bytes, 0: the end */
    int (*write)(const void *buf, int len, void *ctx);
    void *ctx;
#ifdef __GNUC__
    __extension__            /* an unnamed union, also before C11 */
#endif
    union {
        int isMaster;        /* Slurm's name and the draft's; 1: we are the master, who
                                begins; 0: the other is; -1: not decided */
        int isMain;          /* MPICH's */
    };
} PMI2_Connect_comm_t;

/* ---- draft, "Initializing, Finalizing, and Aborting PMI" ---- */

/* Connect to the launcher.  *spawned: 1 if PMI2_Job_Spawn started this job, else 0;
 * *size: processes of the job, 1 and up; *rank: ours, 0 to *size - 1; *appnum: which
 * command of the launch or spawn we are, from 0 (Slurm's server says -1).  Each
 * may be NULL.  Without PMI_FD and PMI_PORT in the environment: 0, 1, 0, 0, no
 * connection; calls that need a launcher start one (libpmi2(3)).  Called again before
 * PMI2_Finalize: the same answers; after a failure or PMI2_Finalize: an error. */
int PMI2_Init(int *spawned, int *size, int *rank, int *appnum);

/* The draft's PMI2_Init with six arguments: also tells the launcher's PMI version,
 * 2 and 0 as a rule.  These two are set as well when the launcher refuses PMI-2
 * but says what it speaks (PMI2_ERR_OTHER); 0 and 0 if it did not. */
int PMI2_Init_version(int *spawned, int *size, int *rank, int *appnum, int *version,
                      int *subversion);

/* Take leave of the launcher and close the connection.  Local: does not wait for
 * other processes, and publishes no keys that a fence has not.  Calls of other
 * threads fail with PMI2_ERR_INIT. */
int PMI2_Finalize(void);

/* 1 between a successful PMI2_Init and PMI2_Finalize, else 0. */
int PMI2_Initialized(void);

/* Have msg shown on stderr (by a launcher that does it, else printed here, each of
 * its lines after "[rank R] abort: "), tell the
 * launcher, and exit(1).  flag: not 0 ends the whole job, 0 only this process.
 * msg: may be NULL; what exceeds PMI_MAX_MSG_STRING bytes is cut.  Never returns.
 * The job's status is then the launcher's business: mpiexec_lite's is 1. */
int PMI2_Abort(int flag, const char msg[]);

/* MPICH 4.0's; this library is always thread-safe.  PMI2_SUCCESS. */
int PMI2_Set_threaded(int is_threaded);

/* ---- draft, "Creating and Connecting to Processes" ---- */

/* Start maxprocs[i] processes of cmds[i] for each i below count, all in one new job.
 * argcs[i]: number of strings in argvs[i], which lacks the command's own name; argcs
 * NULL: each argvs[i] ends with NULL.  argvs and each argvs[i] may be NULL.
 * info_keyval_sizes[i]: elements of info_keyval_vectors[i], of which element j is
 * info_keyval_vectors[i][j]; both may be NULL.  preput: pairs that the new job's
 * key-value space holds from the start; under Slurm's layout an array of pointers,
 * under MPICH's an array of structs.
 * jobId: receives the new job's id, jobIdSize bytes are there; NULL or 0: not wanted.
 * errors: NULL, or one int for each process asked for, the sum of maxprocs; 0 or
 * a code.  It is filled on failure, too, when the launcher was asked. */
int PMI2_Job_Spawn_kv(int count, const char *cmds[], int argcs[], const char **argvs[],
                      const int maxprocs[], const int info_keyval_sizes[],
                      const PMI2_keyval_t *info_keyval_vectors[], int preput_keyval_size,
                      const PMI2_keyval_t preput_keyval_vector[], char jobId[],
                      int jobIdSize, int errors[]);
#ifdef PMI2_USE_SLURM_INFO
int PMI2_Job_Spawn(int count, const char *cmds[], int argcs[], const char **argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const struct MPID_Info *info_keyval_vectors[], int preput_keyval_size,
                   const struct MPID_Info *preput_keyval_vector[], char jobId[],
                   int jobIdSize, int errors[]);
#else
#define PMI2_Job_Spawn PMI2_Job_Spawn_kv
#endif

/* The job's id, the same in all its processes and no other job's; 256 bytes hold
 * every launcher's.  PMI2_ERR_NOMEM if jobid_size bytes do not.  Without a
 * launcher, and if one is started later, "singleton_", the process id, and a number. */
int PMI2_Job_GetId(char jobid[], int jobid_size);

/* Slurm's: the rank that PMI2_Init told. */
int PMI2_Job_GetRank(int *rank);

/* Slurm's: the size of the job that PMI2_Init told.  (Slurm's header says "on the
 * node"; its library returns the job's size, and so does this one.) */
int PMI2_Info_GetSize(int *size);

/* Connect to, and disconnect from, the job with that id, for the sake of
 * PMI2_KVS_Get; for all processes of both jobs, which one process of each has to call.
 *
 * conn is used only where the launcher does not know the other job, nor how to reach its
 * launcher; NULL: that is an error then.  Over it the processes exchange what their jobs
 * have put and fenced so far.  It is a stream of bytes: read and write return how many
 * they have done, read exactly what they have been told, and 0 (read) or less is its end.
 * It belongs to the caller again afterwards; nothing beyond the exchange is read.  With
 * isMaster -1 on both sides the job whose id comes first, as strcmp has it, begins. */
int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t *conn);
int PMI2_Job_Disconnect(const char jobid[]);

/* ---- draft, "Exchanging information" ---- */

/* Put a pair into the job's key-value space.  key: 1 to PMI2_MAX_KEYLEN bytes; keys
 * that begin with "PMI_" are the launcher's.  Others are sure to see it after the
 * next PMI2_KVS_Fence, and may before.  Put again, the later value holds. */
int PMI2_KVS_Put(const char key[], const char value[]);

/* The same (the draft's wish for read-only hints, "Other Missing Pieces"), and the pair
 * never changes: the key is put once, by whom ever.  PMI2_ERR_INVALID_KEY: it was put
 * before, or is put again by either function.  Where two nodes put it before they hear
 * of each other, both succeed at first, one of the two holds for all, and the fence of
 * the other process returns PMI2_ERR_INVALID_KEY, once, after it has done its work.  To
 * a launcher that is not mpiexec_lite it is a plain put. */
int PMI2_KVS_Put_read_only(const char key[], const char value[]);

/* Wait until every process of the job is in its fence; all puts before it are then
 * seen by all.  PMI2_ERR_OTHER under -disable-auto-cleanup: processes have ended, which
 * PMI2_Error_message names; each of the others hears so once, and from the next fence on
 * they are not waited for. */
int PMI2_KVS_Fence(void);

/* Get a value.  jobid: a connected job's id, or NULL: our own job.  src_pmi_id: the
 * rank that put the key, as a hint, or PMI2_ID_NULL.  maxvalue: bytes at value.
 * *vallen: the value's length, if it is less than maxvalue.  Otherwise its
 * negative, still with PMI2_SUCCESS: value holds the first maxvalue - 1 bytes and a
 * NUL, and 1 - *vallen bytes would have been enough.  maxvalue 0 (value may be
 * NULL): nothing is written, *vallen is the length, not negative.
 * No such key: PMI2_ERR_OTHER, *vallen 0. */
int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[],
                 int maxvalue, int *vallen);

/* Slurm's: tell value to both neighbours in a ring of the job's processes.  *rank: our
 * place in the ring, *ranks: its length; left, right: the values of those before and
 * behind us, maxvalue bytes are there each.  Collective.  Alone, the neighbours are
 * ourselves.  PMI2_ERR_NOMEM: a value does not fit. */
#define HAVE_PMIX_RING 1
int PMIX_Ring(const char value[], int *rank, int *ranks, char left[], char right[],
              int maxvalue);

/* ---- draft, "Information about the node or job" ---- */

/* An attribute of this process's node.  *found: 1, or 0 if it has no such value, and
 * after errors but PMI2_ERR_NOMEM.  value: valuelen bytes; PMI2_MAX_ATTRVALUE + 1 are
 * enough for the predefined ones up to some 280 local ranks.  waitfor not 0: wait
 * until a process of this job on this node puts it; alone without a launcher, or when
 * the others on this node have ended, that is PMI2_ERR_OTHER.  PMI2_ERR_NOMEM: it does
 * not fit; value is empty.  mpiexec_lite knows: localRanksCount, localRanks, and
 * cartCoords if it was told. */
int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found,
                          int waitfor);

/* The same for a comma list of integers.  arraylen: elements of array; *outlen: how
 * many it got.  PMI2_ERR_NOMEM: there are more; the first arraylen are there, *outlen
 * is how many there would be.  PMI2_ERR_INVALID_VAL: not a list of integers. */
int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen,
                                  int *outlen, int *found);
/* The draft's function of the former name: with waitfor. */
int PMI2_Info_GetNodeAttrIntArray_wait(const char name[], int array[], int arraylen,
                                       int *outlen, int *found, int waitfor);

/* Give this node an attribute, for the processes of this job on it.  Limits as for
 * PMI2_KVS_Put.  Those who wait for it return. */
int PMI2_Info_PutNodeAttr(const char name[], const char value[]);

/* An attribute of the job; arguments as above.  mpiexec_lite(1), ATTRIBUTES, lists what
 * it knows.  Without a launcher nothing is found.  mpiexec_lite has put universeSize,
 * PMI_process_mapping, localRanks and localRanksCount into the environment: these are
 * taken from there, without a request, here and by PMI2_Info_GetNodeAttr. */
int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found);
int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen,
                                 int *outlen, int *found);

/* ---- draft, "Name Publishing" ---- */

/* Publish a port under a name, find it from any job of the same launcher, or of others
 * that use the same pmi2_server(1), take it back.  Names and ports: 1 to 1024 bytes.
 * info_ptr: not read, may be NULL.  Unknown names: PMI2_ERR_OTHER; publishing a name that
 * is taken: an error.  port of lookup: portLen bytes; PMI2_ERR_NOMEM if it does not fit. */
int PMI2_Nameserv_publish(const char service_name[], const PMI2_info_t *info_ptr,
                          const char port[]);
int PMI2_Nameserv_lookup(const char service_name[], const PMI2_info_t *info_ptr,
                         char port[], int portLen);
int PMI2_Nameserv_unpublish(const char service_name[], const PMI2_info_t *info_ptr);
/* The same with info pairs, `size` of them, 0 to 4; info may be NULL if it is 0.
 * pmi2_server(1), Names, has the keys that mpiexec_lite knows: range and persistence of a
 * published name; wait and timeout of a lookup, which then blocks. */
int PMI2_Nameserv_publish_kv(const char service_name[], int size, const PMI2_keyval_t info[],
                             const char port[]);
int PMI2_Nameserv_lookup_kv(const char service_name[], int size, const PMI2_keyval_t info[],
                            char port[], int portLen);

/* ---- errors (draft, "Other Missing Pieces") ---- */

/* What a code means, in a few words of English.  A constant; never NULL. */
const char *PMI2_Error_text(int code);

/* What the last call of this thread that failed had to say, the launcher's words
 * included; "" if none failed.  At most 239 bytes.  Belongs to the thread: valid until
 * its next call that fails, or its end. */
const char *PMI2_Error_message(void);

#ifdef __cplusplus
}
#endif

#endif
