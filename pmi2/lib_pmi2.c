/* lib_pmi2.c - the functions of pmi2.h: checks of arguments, then one call of the
 * client each.
 *
 * The interface names no connection, so there is one for the process; it and the
 * thread's last error are the only variables here. */
#define PMI2_USE_SLURM_INFO          /* the symbol PMI2_Job_Spawn has Slurm's layout */
#pragma GCC visibility push(default)
#include "pmi2/pmi2.h"
#pragma GCC visibility pop

#include "pmi2/client.h"
#include "wire/utf8.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(PMI2_keyval_t) == sizeof(struct client_info), "one layout");
_Static_assert(offsetof(PMI2_keyval_t, val) == offsetof(struct client_info, val),
               "one layout");
_Static_assert(sizeof(void *) != 8 || sizeof(struct MPID_Info) == 40, "Slurm's ABI");
_Static_assert(sizeof(void *) != 8 || sizeof(PMI2_Connect_comm_t) == 32, "Slurm's ABI");
_Static_assert((int)ERR_OTHER == PMI2_ERR_OTHER && (int)ERR_NOMEM == PMI2_ERR_NOMEM,
               "codes of wire/err.h are those of pmi2.h");

static struct client the = CLIENT_INIT(the);
static _Thread_local char last_error[sizeof ((struct err *)0)->text];

/* ---------------------------------------------------------------- helpers */

/* The code to return for rc; what e says is kept for PMI2_Error_message. */
static int result(int rc, const struct err *e)
{
    if (rc == 0)
        return PMI2_SUCCESS;
    memcpy(last_error, e->text, sizeof last_error);
    return e->code ? (int)e->code : PMI2_ERR_OTHER;
}

static int bad_arg(const char *what)
{
    struct err e;

    return result(err_set(&e, ERR_INVALID_ARG, "%s", what), &e);
}

/* Text of a buffer, also of an empty one. */
static const char *text_of(const struct buf *b)
{
    return b->len ? buf_bytes(b) : "";
}

/* Copy as much as fits and a NUL; size 0: nothing. */
static void copy_cut(char *to, size_t size, const struct buf *from)
{
    size_t n = from->len < size ? from->len : size - 1;

    if (!size)
        return;
    memcpy(to, text_of(from), n);
    to[n] = '\0';
}

/* Copy all with NUL, or fail and leave an empty text. */
static int copy_whole(char *to, int size, const struct buf *from, struct err *e)
{
    if ((size_t)size > from->len) {
        copy_cut(to, (size_t)size, from);
        return 0;
    }
    if (size > 0)
        *to = '\0';
    return err_set(e, ERR_NOMEM, "a value of %zu bytes and NUL, a buffer of %d",
                   from->len, size);
}

static void set(int *to, int value)
{
    if (to)
        *to = value;
}

/* ------------------------------------------------------- init and finalize */

int PMI2_Init_version(int *spawned, int *size, int *rank, int *appnum, int *version,
                      int *subversion)
{
    struct err e;
    int rc, cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    rc = client_open(&the, &e);
    pthread_setcancelstate(cancel, NULL);
    set(version, the.version);
    set(subversion, the.subversion);
    if (rc < 0)
        return result(rc, &e);
    set(spawned, the.spawned);
    set(size, the.size);
    set(rank, the.rank);
    set(appnum, the.appnum);
    return PMI2_SUCCESS;
}

int PMI2_Init(int *spawned, int *size, int *rank, int *appnum)
{
    return PMI2_Init_version(spawned, size, rank, appnum, NULL, NULL);
}

int PMI2_Finalize(void)
{
    struct err e;
    int rc, cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    rc = client_close(&the, &e);
    pthread_setcancelstate(cancel, NULL);
    return result(rc, &e);
}

static bool ready(enum client_state s)
{
    return s == CLIENT_UP || s == CLIENT_SINGLE || s == CLIENT_BROKEN;
}

int PMI2_Initialized(void)
{
    return ready(client_state(&the)) && the.size > 0;
}

int PMI2_Set_threaded(int is_threaded)
{
    (void)is_threaded;
    return PMI2_SUCCESS;
}

/* ------------------------------------------------------------------ abort */

/* At most PMI_MAX_MSG_STRING bytes of text, cut between characters; what is not
 * UTF-8 is escaped, for a server would refuse it. */
static void abort_text(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    if (utf8_valid(text, len))
        buf_add(out, text, len);
    else
        buf_escaped(out, text, len);
    if (out->failed || out->len <= PMI_MAX_MSG_STRING)
        return;
    len = PMI_MAX_MSG_STRING;
    while (len && (buf_bytes(out)[len] & 0xC0) == 0x80)
        len--;
    out->len = len;
    buf_bytes(out)[len] = '\0';
}

/* Every line of text behind our rank, in one write. */
static void print_abort(const char *text)
{
    struct buf out = BUF_INIT;
    size_t n;

    for (; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        buf_printf(&out, "[rank %d] abort: ", the.rank);
        buf_add(&out, text, n);
        buf_char(&out, '\n');
    }
    for (size_t at = 0; at < out.len; at += n) {
        ssize_t w = write(STDERR_FILENO, buf_bytes(&out) + at, out.len - at);

        if (w <= 0)
            break;
        n = (size_t)w;
    }
    buf_clear(&out);
}

int PMI2_Abort(int flag, const char msg[])
{
    struct buf text = BUF_INIT;

    if (msg)
        abort_text(&text, msg);
    if (!client_abort(&the, flag != 0, 0, text_of(&text)))
        print_abort(text_of(&text));
    buf_clear(&text);
    exit(1);
}

/* ------------------------------------------------------------------- jobs */

int PMI2_Job_GetId(char jobid[], int jobid_size)
{
    struct buf id = BUF_INIT;
    struct err e;
    int rc;

    if (!jobid || jobid_size < 0)
        return bad_arg("PMI2_Job_GetId: no buffer");
    rc = client_job_id(&the, &id, &e);
    if (rc == 0)
        rc = copy_whole(jobid, jobid_size, &id, &e);
    buf_clear(&id);
    return result(rc, &e);
}

/* What PMI2_Init told, for as long as PMI is initialised. */
static int told(int *out, const int *what)
{
    struct err e;

    if (!out)
        return bad_arg("no place for the result");
    if (!PMI2_Initialized())
        return result(err_set(&e, ERR_INIT, "PMI is not initialised"), &e);
    *out = *what;
    return PMI2_SUCCESS;
}

int PMI2_Job_GetRank(int *rank)
{
    return told(rank, &the.rank);
}

int PMI2_Info_GetSize(int *size)
{
    return told(size, &the.size);
}

int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t *conn)
{
    struct client_channel ch;
    struct err e;

    if (conn)
        ch = (struct client_channel){ conn->read, conn->write, conn->ctx, conn->isMaster };
    return result(client_connect(&the, jobid, conn ? &ch : NULL, &e), &e);
}

int PMI2_Job_Disconnect(const char jobid[])
{
    struct err e;
    int rc = client_disconnect(&the, jobid, &e);

    return result(rc, &e);
}

static int spawn(const struct client_spawn *s, char jobid[], int size, int errors[])
{
    struct buf id = BUF_INIT;
    struct err e;
    int rc;

    if (size < 0)
        return bad_arg("PMI2_Job_Spawn: negative jobIdSize");
    rc = client_spawn(&the, s, &id, errors, &e);
    if (rc == 0 && jobid && size)
        rc = copy_whole(jobid, size, &id, &e);
    buf_clear(&id);
    return result(rc, &e);
}

int PMI2_Job_Spawn_kv(int count, const char *cmds[], int argcs[], const char **argvs[],
                      const int maxprocs[], const int info_keyval_sizes[],
                      const PMI2_keyval_t *info_keyval_vectors[], int preput_keyval_size,
                      const PMI2_keyval_t preput_keyval_vector[], char jobId[],
                      int jobIdSize, int errors[])
{
    struct client_spawn s = {
        count, cmds, argcs, argvs, maxprocs, info_keyval_sizes,
        (const struct client_info **)(const void *)info_keyval_vectors,
        preput_keyval_size,
        (const struct client_info *)(const void *)preput_keyval_vector,
    };

    return spawn(&s, jobId, jobIdSize, errors);
}

/* Slurm's infos as ours: `pairs` and `vectors` have the room. */
static void convert(const int sizes[], const struct MPID_Info *infos[], int count,
                    struct client_info *pairs, const struct client_info **vectors)
{
    for (int i = 0; i < count; i++) {
        vectors[i] = pairs;
        for (int j = 0; infos[i] && j < sizes[i]; j++)
            *pairs++ = (struct client_info){ infos[i][j].key, infos[i][j].value };
    }
}

static void convert_preput(const struct MPID_Info *preput[], int n,
                           struct client_info *pairs)
{
    for (int i = 0; i < n; i++)
        if (preput[i])
            pairs[i] = (struct client_info){ preput[i]->key, preput[i]->value };
}

/* How many pairs there are in all; -1 if a count makes no sense. */
static long count_pairs(const int sizes[], const struct MPID_Info *infos[], int count)
{
    long n = 0;

    if (count < 0 || count > LIMIT_PAIRS)
        return -1;
    if (!sizes || !infos)
        return 0;
    for (int i = 0; i < count; i++) {
        if (infos[i] && (sizes[i] < 0 || sizes[i] > LIMIT_PAIRS))
            return -1;
        n += infos[i] ? sizes[i] : 0;
    }
    return n;
}

int PMI2_Job_Spawn(int count, const char *cmds[], int argcs[], const char **argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const struct MPID_Info *info_keyval_vectors[], int preput_keyval_size,
                   const struct MPID_Info *preput_keyval_vector[], char jobId[],
                   int jobIdSize, int errors[])
{
    int npre = preput_keyval_vector ? preput_keyval_size : 0;
    long pairs = count_pairs(info_keyval_sizes, info_keyval_vectors, count);
    struct client_info *info = NULL, *pre = NULL;
    const struct client_info **vectors = NULL;
    int rc = PMI2_ERR_NOMEM;

    if (pairs < 0 || npre < 0 || npre > LIMIT_PAIRS)
        return bad_arg("PMI2_Job_Spawn: a count makes no sense");
    info = calloc((size_t)pairs + 1, sizeof *info);
    pre = calloc((size_t)npre + 1, sizeof *pre);
    vectors = calloc((size_t)count + 1, sizeof *vectors);
    if (info && pre && vectors) {
        struct client_spawn s = { count, cmds, argcs, argvs, maxprocs,
                                  pairs ? info_keyval_sizes : NULL, vectors, npre, pre };

        if (pairs)
            convert(info_keyval_sizes, info_keyval_vectors, count, info, vectors);
        convert_preput(preput_keyval_vector, npre, pre);
        rc = spawn(&s, jobId, jobIdSize, errors);
    }
    free(info);
    free(pre);
    free(vectors);
    return rc;
}

/* ---------------------------------------------------------------- key-value */

int PMI2_KVS_Put(const char key[], const char value[])
{
    struct err e;
    int rc = client_put(&the, key, value, &e);

    return result(rc, &e);
}

int PMI2_KVS_Put_read_only(const char key[], const char value[])
{
    struct err e;
    int rc = client_put_read_only(&the, key, value, &e);

    return result(rc, &e);
}

int PMI2_KVS_Fence(void)
{
    struct err e;
    int rc = client_fence(&the, &e);

    return result(rc, &e);
}

/* The length to report for a value of len bytes and a buffer of max. */
static int told_length(size_t len, int max)
{
    int n = len > INT_MAX ? INT_MAX : (int)len;

    return max && n >= max ? -n : n;
}

int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[],
                 int maxvalue, int *vallen)
{
    struct buf out = BUF_INIT;
    bool found = false;
    struct err e;
    int rc;

    if (maxvalue < 0 || (maxvalue && !value) || !vallen)
        return bad_arg("PMI2_KVS_Get: no buffer, or no place for the length");
    rc = client_get(&the, jobid, src_pmi_id, key, &out, &found, &e);
    if (rc == 0 && !found)
        rc = err_set(&e, ERR_OTHER, "kvs-get: no key '%s'", key);
    *vallen = rc == 0 ? told_length(out.len, maxvalue) : 0;
    if (rc == 0)
        copy_cut(value, (size_t)maxvalue, &out);
    buf_clear(&out);
    return result(rc, &e);
}

int PMIX_Ring(const char value[], int *rank, int *ranks, char left[], char right[],
              int maxvalue)
{
    struct buf l = BUF_INIT, r = BUF_INIT;
    struct err e;
    int rc, pos;

    if (!rank || !ranks || !left || !right || maxvalue < 1)
        return bad_arg("PMIX_Ring: an argument is missing");
    rc = client_ring(&the, value, &pos, &l, &r, &e);
    if (rc == 0)
        rc = copy_whole(left, maxvalue, &l, &e);
    if (rc == 0)
        rc = copy_whole(right, maxvalue, &r, &e);
    if (rc == 0) {
        *rank = pos;
        *ranks = the.size;
    }
    buf_clear(&l);
    buf_clear(&r);
    return result(rc, &e);
}

/* --------------------------------------------------------------- attributes */

static int get_attr(bool node, const char *name, char *value, int size, int *found,
                    bool wait)
{
    struct buf out = BUF_INIT;
    bool have = false;
    struct err e;
    int rc;

    if (!value || size < 1 || !found)
        return bad_arg("no buffer, or no place for found");
    rc = client_get_attr(&the, node, name, wait, &out, &have, &e);
    *found = have;
    if (rc == 0 && have)
        rc = copy_whole(value, size, &out, &e);
    buf_clear(&out);
    return result(rc, &e);
}

/* A comma list of integers, blanks around them allowed, into array; *n: how many
 * there are, those that did not fit included. */
static int parse_ints(const char *s, int array[], int max, int *n, struct err *e)
{
    const char *text = s;
    char *end;

    for (*n = 0;; s = end + 1) {
        long v = strtol(s, &end, 10);

        end += strspn(end, " ");
        if (end == s || v < INT_MIN || v > INT_MAX || (*end && *end != ','))
            return err_set(e, ERR_INVALID_VAL, "'%.80s' is not a list of integers", text);
        if (*n < max)
            array[*n] = (int)v;
        ++*n;
        if (!*end)
            break;
    }
    return *n <= max ? 0 : err_set(e, ERR_NOMEM, "%d integers, an array of %d", *n, max);
}

static int get_ints(bool node, const char *name, int array[], int arraylen, int *outlen,
                    int *found, bool wait)
{
    struct buf out = BUF_INIT;
    bool have = false;
    struct err e;
    int rc;

    if (!array || arraylen < 0 || !outlen || !found)
        return bad_arg("no array, or no place for its length or found");
    rc = client_get_attr(&the, node, name, wait, &out, &have, &e);
    *found = have;
    *outlen = 0;
    if (rc == 0 && have)
        rc = parse_ints(text_of(&out), array, arraylen, outlen, &e);
    buf_clear(&out);
    return result(rc, &e);
}

int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found,
                          int waitfor)
{
    return get_attr(true, name, value, valuelen, found, waitfor != 0);
}

int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found)
{
    return get_attr(false, name, value, valuelen, found, false);
}

int PMI2_Info_GetNodeAttrIntArray_wait(const char name[], int array[], int arraylen,
                                       int *outlen, int *found, int waitfor)
{
    return get_ints(true, name, array, arraylen, outlen, found, waitfor != 0);
}

int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen,
                                  int *outlen, int *found)
{
    return get_ints(true, name, array, arraylen, outlen, found, false);
}

int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen,
                                 int *outlen, int *found)
{
    return get_ints(false, name, array, arraylen, outlen, found, false);
}

int PMI2_Info_PutNodeAttr(const char name[], const char value[])
{
    struct err e;
    int rc = client_put_attr(&the, name, value, &e);

    return result(rc, &e);
}

/* -------------------------------------------------------------------- names */

int PMI2_Nameserv_publish_kv(const char service_name[], int size, const PMI2_keyval_t info[],
                             const char port[])
{
    struct err e;
    int rc = client_publish(&the, service_name, size,
                            (const struct client_info *)(const void *)info, port, &e);

    return result(rc, &e);
}

int PMI2_Nameserv_lookup_kv(const char service_name[], int size, const PMI2_keyval_t info[],
                            char port[], int portLen)
{
    struct buf out = BUF_INIT;
    struct err e;
    int rc;

    if (!port || portLen < 1)
        return bad_arg("PMI2_Nameserv_lookup: no buffer");
    rc = client_lookup(&the, service_name, size,
                       (const struct client_info *)(const void *)info, &out, &e);
    if (rc == 0)
        rc = copy_whole(port, portLen, &out, &e);
    buf_clear(&out);
    return result(rc, &e);
}

/* Whose layout info_ptr has is not known, nor its length. */
int PMI2_Nameserv_publish(const char service_name[], const PMI2_info_t *info_ptr,
                          const char port[])
{
    (void)info_ptr;
    return PMI2_Nameserv_publish_kv(service_name, 0, NULL, port);
}

int PMI2_Nameserv_lookup(const char service_name[], const PMI2_info_t *info_ptr,
                         char port[], int portLen)
{
    (void)info_ptr;
    return PMI2_Nameserv_lookup_kv(service_name, 0, NULL, port, portLen);
}

int PMI2_Nameserv_unpublish(const char service_name[], const PMI2_info_t *info_ptr)
{
    struct err e;
    int rc = client_unpublish(&the, service_name, &e);

    (void)info_ptr;
    return result(rc, &e);
}

/* ------------------------------------------------------------------- errors */

const char *PMI2_Error_text(int code)
{
    static const char *const texts[] = {
        [PMI2_SUCCESS] = "success",
        [PMI2_ERR_INIT] = "PMI is not initialised",
        [PMI2_ERR_NOMEM] = "out of memory, or the buffer is too small",
        [PMI2_ERR_INVALID_ARG] = "invalid argument",
        [PMI2_ERR_INVALID_KEY] = "invalid key",
        [PMI2_ERR_INVALID_KEY_LENGTH] = "key too long",
        [PMI2_ERR_INVALID_VAL] = "invalid value",
        [PMI2_ERR_INVALID_VAL_LENGTH] = "value too long",
        [PMI2_ERR_INVALID_LENGTH] = "invalid length",
        [PMI2_ERR_INVALID_NUM_ARGS] = "invalid number of arguments",
        [PMI2_ERR_INVALID_ARGS] = "invalid arguments",
        [PMI2_ERR_INVALID_NUM_PARSED] = "invalid number of parsed arguments",
        [PMI2_ERR_INVALID_KEYVALP] = "invalid key-value pair",
        [PMI2_ERR_INVALID_SIZE] = "invalid size",
        [PMI2_ERR_OTHER] = "the request failed",
    };

    if (code == PMI2_FAIL)
        return "failure";
    if (code < 0 || (size_t)code >= sizeof texts / sizeof *texts)
        return "unknown error code";
    return texts[code];
}

const char *PMI2_Error_message(void)
{
    return last_error;
}
