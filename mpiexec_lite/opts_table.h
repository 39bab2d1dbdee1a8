/* opts_table.h - inside of opts: the option table and what its setters work on.
 *
 * Included by opts*.c and their test only. */
#ifndef MPIEXEC_LITE_OPTS_TABLE_H
#define MPIEXEC_LITE_OPTS_TABLE_H

#include "mpiexec_lite/hosts.h"
#include "mpiexec_lite/opts.h"
#include "wire/buf.h"

struct option;
struct reader;

/* Carry out an option.  arg[0], arg[1]: its words, NULL where it has none; they
 * do not outlive the call.  0, or -1 and e without the option's name. */
typedef int option_fn(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e);

enum section {
    SECTION_PROGRAMS, SECTION_ENV, SECTION_IO, SECTION_END, SECTION_HOSTS, SECTION_MAP,
    SECTION_LAUNCH, SECTION_PMI, SECTION_INFO, SECTION_COMPAT,
    SECTIONS,                /* as a section: hidden, not for people */
};
extern const char *const opts_section_title[SECTIONS];

enum {
    OPTION_LOCAL = 1,        /* binds to the block it stands in; others to the job */
    OPTION_REPEAT = 2,       /* may be given several times */
    OPTION_NAMES = 6,        /* most names of one option, and a NULL */
    OPTIONS_MAX = 250        /* most rows */
};

struct option {
    const char  *names[OPTION_NAMES + 1];    /* the first is its name, then aliases */
    const char  *arg;        /* placeholder of its value; NULL: a switch.  With a blank
                                in it, "NAME VALUE": two words, or one "NAME=VALUE" */
    enum section section;
    unsigned     flags;      /* OR of OPTION_ */
    const char  *with;       /* counts as a repetition of the option of this name */
    option_fn   *set;
    size_t       at;         /* for set: offset in struct app if LOCAL, else in plan */
    int          value;      /* for set: a constant */
    void       (*print)(FILE *out);  /* for opts_set_print */
    const char  *help;       /* one or two sentences, for -h */
    const char  *more;       /* NULL, or what the manual and "-opt -h" add */
};
extern const struct option opts_table[];
extern const size_t opts_count;

/* Options of other launchers that are known here and do nothing yet; NULL last. */
extern const char *const opts_unsupported[];

/* The row with this name, of len bytes, in any case; or NULL. */
const struct option *opts_find(const char *name, size_t len);
bool opts_is_unsupported(const char *name, size_t len);

/* "-n, -np, -c" into text. */
void opts_names(const struct option *o, char *text, size_t size);
void opts_print_version(FILE *out);
void opts_print_one(FILE *out, const struct option *o);      /* for "-opt -h" */

/* The state of one opts_parse. */
struct reader {
    struct plan  *plan;
    struct app   *app;       /* borrowed from plan: the block being read */
    char *const  *envp;
    char        **word, **end;       /* words still to be read */
    bool          in_file;   /* they come from the configuration file */

    /* Which row has made a setting of the job, or of this block; NULL: none.  The
     * index is the number of the row that stands for the setting. */
    const struct option *job[OPTIONS_MAX], *block[OPTIONS_MAX];
    bool          job_in_file[OPTIONS_MAX];      /* job[i] was made there */

    char         *configfile;        /* owned; NULL: none */
    struct hosts  hosts;     /* of -hosts or -f; later also of -host */
    int           ppn;       /* 0: not given */
    int           order;     /* -order-nodes: 1 up, -1 down */
    int           cpus_per_rank;     /* -map-by ...:PE=N; 0: not given */
    bool          skip_launch_node;
    bool          no_autofork;       /* this host is started as the others are */
    bool          usize_system;      /* -usize SYSTEM */

    const struct option *help_of;    /* "-opt -h": stop and print that */
    void        (*print)(FILE *out); /* stop and print this */
};

/* Setters, opts_set.c.  "at" and "value" are the row's. */
option_fn opts_set_value;    /* int at = value */
option_fn opts_set_switch;   /* bool at = value */
option_fn opts_set_text;     /* copy of the word at; not empty */
option_fn opts_set_pattern;  /* the same, checked by pattern_check */
option_fn opts_set_rank_label;
option_fn opts_set_count;    /* int at = 1, 2 ... */
option_fn opts_set_rank, opts_set_number;        /* int at = 0, 1 ... */
option_fn opts_set_bytes;    /* size_t at */
option_fn opts_set_seconds;  /* double at; 0 only if value says so */
option_fn opts_set_env, opts_set_env_names, opts_set_export;     /* struct env_rules at */
option_fn opts_set_inherit;  /* inherit of struct env_rules at = value */
option_fn opts_set_stdin, opts_set_usize, opts_set_verbose, opts_set_configfile;
option_fn opts_set_pset, opts_set_ppn, opts_set_hosts, opts_set_hostfile, opts_set_order;
option_fn opts_set_skip_launch_node, opts_set_launcher, opts_set_nameserver;
option_fn opts_set_single_fd;
option_fn opts_set_ignored;  /* nothing; value: whether to warn */
option_fn opts_set_print;    /* stop and print by the row's print */

/* Setters, opts_map.c; of those without a value the text is in the name, behind `value`
 * characters. */
option_fn opts_set_bind, opts_set_map, opts_set_cpus_per_rank, opts_set_per_socket;
option_fn opts_set_numbering, opts_set_memory, opts_set_cpu_list, opts_set_gpus;
option_fn opts_set_topolib, opts_set_oversubscription;

/* Remember a warning.  0, or -1 and ERR_NOMEM. */
int opts_warn(struct reader *r, struct err *e, const char *fmt, ...) PRINTF(3, 4);

/* What the environment sets where the command line did not, and what only the
 * whole command line can tell.  0, or -1 and e. */
int opts_set_from_environment(struct reader *r, struct err *e);
bool opts_has(const struct reader *r, const char *name);   /* a job-wide one was given */

int opts_set_map_from_environment(struct reader *r, struct err *e);      /* opts_map.c */
/* Once hosts are known: what was said of mapping fits together.  0, or -1 and e. */
int opts_settle_map(struct reader *r, struct err *e);
/* A variable as a boolean, `usual` if it is not set; -1 and e: it is none. */
int opts_boolean(struct reader *r, const char *name, int usual, struct err *e);

/* All of text is a decimal number in min..max: *out is it.  Else false. */
bool opts_number(const char *text, long min, long max, long *out);

/* Text files, opts_file.c. */

/* All of a file, not empty of its last zero byte.  0, or -1 and e. */
int opts_file_read(const char *path, struct buf *text, struct err *e);

/* Split the next line (with its continuations) into words as a shell would;
 * *text and *line, which counts from 1, move on.  A ':' that was quoted comes as
 * "\:".  1; 0: no line is left; -1 and e.  words is emptied first. */
int opts_file_next_line(const char **text, int *line, struct strlist *words,
                        struct err *e);

/* Hosts, opts_hosts.c. */
int opts_read_hostfile(struct reader *r, const char *path, struct err *e);
/* Once all options are known: the plan gets its hosts, every block its nodes and its
 * number of processes (which may be too many).  0, or -1 and e. */
int opts_settle_hosts(struct reader *r, struct err *e);

#endif
