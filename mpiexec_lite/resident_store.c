/* resident_store.c - see resident_store.h */
#include "mpiexec_lite/resident_store.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

enum { STORE_FORMAT = 1 };       /* user_version; to be raised with every change of it */

struct store {
    sqlite3      *db;            /* owned, as are the statements */
    sqlite3_stmt *add, *remove;
    bool          open;          /* a transaction is */
    bool          failed;        /* and one of its statements has; why says how */
    char          why[160];
};

/* --- where ------------------------------------------------------------- */

/* File systems of other machines: two of our servers may use the same file there, and
 * its locks are not to be relied on. */
static const struct { unsigned long magic; const char *name; } far[] = {
    { NFS_SUPER_MAGIC, "NFS" }, { SMB_SUPER_MAGIC, "SMB" }, { 0xff534d42, "CIFS" },
    { 0xfe534d42, "SMB" }, { AFS_SUPER_MAGIC, "AFS" }, { 0x6b414653, "AFS" },
    { CODA_SUPER_MAGIC, "Coda" }, { 0x00c36400, "Ceph" }, { 0x0bd00bd0, "Lustre" },
    { 0x47504653, "GPFS" }, { 0x19830326, "BeeGFS" }, { 0x7461636f, "OCFS2" },
    { 0x01161970, "GFS2" }, { V9FS_MAGIC, "9P" }, { 0xaad7aaea, "PanFS" },
};

static int check_file_system(const char *folder, struct err *e)
{
    struct statfs fs;

    if (statfs(folder, &fs) < 0)
        return err_set(e, ERR_OTHER, "%.180s: %s", folder, strerror(errno));
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        if ((unsigned long)fs.f_type == far[i].magic)
            return err_set(e, ERR_OTHER, "%.150s is on %s: a folder of this machine is needed "
                           "(--state)", folder, far[i].name);
    return 0;
}

/* --- statements -------------------------------------------------------- */

static int fail(struct store *s, const char *what, struct err *e)
{
    return err_set(e, ERR_OTHER, "%s: %.150s", what, sqlite3_errmsg(s->db));
}

static int run(struct store *s, const char *sql, struct err *e)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0 : fail(s, "cannot use the file of names", e);
}

static int read_number(struct store *s, const char *sql, long long *n, struct err *e)
{
    sqlite3_stmt *q = NULL;
    bool ok = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK &&
              sqlite3_step(q) == SQLITE_ROW;

    if (ok)
        *n = sqlite3_column_int64(q, 0);
    else
        fail(s, "cannot read the file of names", e);
    sqlite3_finalize(q);
    return ok ? 0 : -1;
}

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS names ("
    " serial INTEGER PRIMARY KEY, owner INTEGER NOT NULL, job TEXT NOT NULL,"
    " name TEXT NOT NULL, port TEXT NOT NULL, range INTEGER NOT NULL,"
    " persistence INTEGER NOT NULL, since INTEGER NOT NULL)";

/* Whoever else has the file open has it for as long as he runs. */
static int prepare(struct store *s, struct err *e)
{
    long long format;
    char text[64];

    sqlite3_busy_timeout(s->db, 1000);
    if (run(s, "PRAGMA locking_mode=EXCLUSIVE", e) < 0 ||
        run(s, "PRAGMA journal_mode=WAL", e) < 0 || run(s, "PRAGMA synchronous=FULL", e) < 0 ||
        run(s, "PRAGMA journal_size_limit=1048576", e) < 0 ||
        read_number(s, "PRAGMA user_version", &format, e) < 0)
        return -1;
    if (format > STORE_FORMAT)
        return err_set(e, ERR_OTHER, "the file of names is of a later version");
    snprintf(text, sizeof text, "PRAGMA user_version=%d", STORE_FORMAT);
    if (run(s, schema, e) < 0 || run(s, text, e) < 0)
        return -1;
    if (sqlite3_prepare_v2(s->db, "INSERT INTO names VALUES(?,?,?,?,?,?,?,?)", -1, &s->add,
                           NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(s->db, "DELETE FROM names WHERE serial=?", -1, &s->remove, NULL) !=
            SQLITE_OK)
        return fail(s, "cannot use the file of names", e);
    return 0;
}

struct store *store_open(const char *folder, struct err *e)
{
    struct store *s = calloc(1, sizeof *s);
    char path[PATH_MAX];
    int rc;

    if (!s || snprintf(path, sizeof path, "%s/names.db", folder) >= (int)sizeof path) {
        err_set(e, ERR_NOMEM, "no memory for the store of names");
        free(s);
        return NULL;
    }
    rc = check_file_system(folder, e);
    if (rc == 0 && sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                   SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
        rc = fail(s, "cannot open the file of names", e);
    if (rc < 0 || prepare(s, e) < 0) {
        err_context(e, "%.60s", path);
        store_close(s);
        return NULL;
    }
    return s;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->add);
    sqlite3_finalize(s->remove);
    sqlite3_close(s->db);
    free(s);
}

/* --- loading ----------------------------------------------------------- */

static const char *text_at(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);

    return text ? text : "";
}

static struct reg_name name_of(sqlite3_stmt *q)
{
    int range = sqlite3_column_int(q, 5), persistence = sqlite3_column_int(q, 6);

    return (struct reg_name){
        .serial = sqlite3_column_int64(q, 0), .owner = (uid_t)sqlite3_column_int64(q, 1),
        .job = text_at(q, 2), .name = text_at(q, 3), .port = text_at(q, 4),
        .range = range < 0 || range > RANGE_NODE ? RANGE_JOB : (enum name_range)range,
        .persistence = persistence < 0 || persistence > PERSIST_INDEFINITE
                           ? PERSIST_JOB : (enum name_persistence)persistence,
        .since = sqlite3_column_int64(q, 7),
    };
}

int store_load(struct store *s, int (*each)(void *user, const struct reg_name *n), void *user,
               struct err *e)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, "SELECT * FROM names ORDER BY serial", -1, &q, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        struct reg_name n;

        rc = sqlite3_step(q);
        if (rc != SQLITE_ROW)
            break;
        n = name_of(q);
        if (each(user, &n) < 0) {
            sqlite3_finalize(q);
            return err_set(e, ERR_NOMEM, "no memory for the names");
        }
    }
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : fail(s, "cannot read the file of names", e);
}

/* --- changes ----------------------------------------------------------- */

static void note_failure(struct store *s)
{
    if (!s->failed)
        snprintf(s->why, sizeof s->why, "%s", sqlite3_errmsg(s->db));
    s->failed = true;
}

static void begin(struct store *s)
{
    if (!s->open && sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        note_failure(s);
    s->open = true;
}

static void step(struct store *s, sqlite3_stmt *q)
{
    if (!s->failed && sqlite3_step(q) != SQLITE_DONE)
        note_failure(s);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
}

void store_add(struct store *s, const struct reg_name *n)
{
    sqlite3_stmt *q = s->add;

    begin(s);
    sqlite3_bind_int64(q, 1, n->serial);
    sqlite3_bind_int64(q, 2, (long long)n->owner);
    sqlite3_bind_text(q, 3, n->job, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 4, n->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 5, n->port, -1, SQLITE_STATIC);
    sqlite3_bind_int(q, 6, (int)n->range);
    sqlite3_bind_int(q, 7, (int)n->persistence);
    sqlite3_bind_int64(q, 8, n->since);
    step(s, q);
}

void store_remove(struct store *s, long long serial)
{
    begin(s);
    sqlite3_bind_int64(s->remove, 1, serial);
    step(s, s->remove);
}

bool store_is_clean(const struct store *s)
{
    return !s->open;
}

int store_commit(struct store *s, struct err *e)
{
    bool good;

    if (!s->open)
        return 0;
    if (!s->failed && sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        note_failure(s);
    good = !s->failed;
    if (!good) {
        err_set(e, ERR_OTHER, "cannot be stored: %.150s", s->why);
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
    s->open = s->failed = false;
    return good ? 0 : -1;
}
