/* opts_table.h - inside of opts: the option table and what its setters work on.
 *
 * Included by opts*.c and their test only. */
#ifndef MPIEXEC_LITE_OPTS_TABLE_H
#define MPIEXEC_LITE_OPTS_TABLE_H

#include "mpiexec_lite/hosts.h"
#include "mpiexec_lite/opts.h"
#include "wire/buf.h"

struct allocation_kind;
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
    OPTIONS_MAX = 300        /* most rows */
};

/* Where a row's setter puts it: a field of the plan, or of the block. */
#define JOB(field) .at = offsetof(struct plan, field)
#define BLOCK(field) .flags = OPTION_LOCAL, .at = offsetof(struct app, field)
#define BLOCK_REPEAT(field) \
    .flags = OPTION_LOCAL | OPTION_REPEAT, .at = offsetof(struct app, field)

struct option {
    const char  *names[OPTION_NAMES + 1];    /* the first is its name, then aliases */
    const char  *arg;        /* placeholder of its value; NULL: a switch.  With a blank
                                in it, "NAME VALUE": two words, or one "NAME=VALUE";
                                in brackets, "[=N]": only behind '=', and it may lack */
    enum section section;
    unsigned     flags;      /* OR of OPTION_ */
    const char  *with;       /* counts as a repetition of the option of this name */
    option_fn   *set;
    size_t       at;         /* for set: offset in struct app if LOCAL, else in plan */
    int          value;      /* for set: a constant */
    const char  *text;       /* the same */
    void       (*print)(FILE *out);  /* for opts_set_print */
    const char  *help;       /* one or two sentences, for -h */
    const char  *more;       /* NULL, or what the manual and "-opt -h" add */
};
extern const struct option opts_table[], opts_compat[];
extern const size_t opts_count, opts_compat_count;

/* Options of other launchers that are known, and refused. */
struct refusal {
    const char *names;       /* separated by blanks */
    const char *why;         /* it is not done */
    const char *instead;     /* what to do; NULL: nothing */
};
extern const struct refusal opts_refused[];
extern const size_t opts_refused_count;

/* Both tables as one: how many rows, each, and the number of one. */
size_t opts_rows(void);
const struct option *opts_row(size_t i);
size_t opts_number_of(const struct option *o);
/* The row with this name, of len bytes, in any case; or NULL. */
const struct option *opts_find(const char *name, size_t len);
/* Which of its names that is. */
const char *opts_name_of(const struct option *o, const char *name, size_t len);
const struct refusal *opts_find_refusal(const char *name, size_t len);
bool opts_value_is_optional(const struct option *o);

/* "-n, -np, -c" into text. */
void opts_names(const struct option *o, char *text, size_t size);
void opts_print_version(FILE *out);
void opts_print_man_variables(FILE *out);
void opts_print_man_refused(FILE *out);
void opts_print_one(FILE *out, const struct option *o);      /* for "-opt -h" */

/* The state of one opts_parse. */
struct reader {
    struct plan  *plan;
    struct app   *app;       /* borrowed from plan: the block being read */
    char *const  *envp;
    char        **word, **end;       /* words still to be read */
    bool          in_file;   /* they come from the configuration file */

    struct said  *said;      /* borrowed: where settings are noted; NULL: nowhere */
    const char   *file;      /* the one that is being read, for said; NULL: none */
    int           line;      /* of it */
    const char   *variable;  /* of our environment, which is being read */
    const struct option *option;     /* that is being carried out */
    const char   *written;   /* as which name, of the table; NULL: nobody wrote it */

    /* Which row has made a setting of the job, or of this block; NULL: none.  The
     * index is the number of the row that stands for the setting. */
    const struct option *job[OPTIONS_MAX], *block[OPTIONS_MAX];
    bool          job_in_file[OPTIONS_MAX];      /* job[i] was made there */
    const char   *foreign_count;     /* the word -N or -c of this block; NULL: none */

    char         *configfile;        /* owned; NULL: none */
    struct hosts  hosts;     /* of -hosts or -f; later also of -host */
    int           ppn;       /* 0: not given */
    int           order;     /* -order-nodes: 1 up, -1 down */
    bool          no_configfile;     /* -noconf */
    bool          timestamps;        /* --timestamp-output */
    bool          launcher_named;    /* a variable names a launcher */
    bool          strange_launcher;  /* HYDRA_LAUNCHER is none of ours */
    int           cpus_per_rank;     /* -map-by ...:PE=N; 0: not given */
    bool          skip_launch_node;
    bool          no_autofork;       /* this host is started as the others are */
    bool          usize_system;      /* -usize SYSTEM */
    bool          no_rmk;            /* -rmk user: no resource manager counts */
    const struct allocation_kind *rmk;       /* the one that does; NULL: none */

    const struct option *help_of;    /* "-opt -h": stop and print that */
    void        (*print)(FILE *out); /* stop and print this */
};

/* Setters, opts_set.c.  "at" and "value" are the row's. */
option_fn opts_set_value;    /* int at = value */
option_fn opts_set_switch;   /* bool at = value */
option_fn opts_set_inquiry;  /* int at = value, on the command line only */
option_fn opts_set_timeline; /* the name of a file, by whose end it is known what it is */
option_fn opts_set_text;     /* copy of the word at; not empty */
option_fn opts_set_pattern;  /* the same, checked by pattern_check */
option_fn opts_set_rank_label;
option_fn opts_set_count;    /* int at = 1, 2 ... */
option_fn opts_set_rank, opts_set_number;        /* int at = 0, 1 ... */
option_fn opts_set_hold;
option_fn opts_set_bytes;    /* size_t at */
option_fn opts_set_seconds;  /* double at; 0 only if value says so */
option_fn opts_set_env, opts_set_env_file, opts_set_env_names;   /* struct env_rules at */
option_fn opts_set_export;
option_fn opts_set_inherit;  /* inherit of struct env_rules at = value */
option_fn opts_set_stdin, opts_set_usize, opts_set_verbose, opts_set_configfile;
option_fn opts_set_pset, opts_set_ppn, opts_set_hosts, opts_set_hostfile, opts_set_order;
option_fn opts_set_skip_launch_node, opts_set_launcher, opts_set_nameserver;
option_fn opts_set_single_fd, opts_set_rmk, opts_set_alloc, opts_set_no_configfile;
option_fn opts_set_words;    /* those of the word, to struct strlist at; at least one */
option_fn opts_add_text;     /* a copy of the word to struct strlist at; not empty */
option_fn opts_set_providers_root;
option_fn opts_set_errhandler;   /* adds a variable */
option_fn opts_set_as;       /* what the row `with` sets, with the row's text or the value */
option_fn opts_set_ignored;  /* nothing; text: NULL, or the reason, which is a warning */
option_fn opts_set_print;    /* stop and print by the row's print */

/* opts_debug.c: setters; the debuggers that are known by name, NULL at the end; and the words
 * behind --debug, which was just taken: those that name one and its ranks go into arg. */
option_fn opts_set_gdb, opts_set_tool, opts_set_debug;
extern const char *const opts_debuggers[];
void opts_take_debugger(struct reader *r, char *arg[2]);

/* Setters, opts_map.c; of those without a value the text is in the name, behind `value`
 * characters. */
option_fn opts_set_bind, opts_set_map, opts_set_cpus_per_rank, opts_set_per_socket;
option_fn opts_set_numbering, opts_set_memory, opts_set_cpu_list, opts_set_gpus;
option_fn opts_set_topolib, opts_set_oversubscription;

/* Remember a warning.  0, or -1 and ERR_NOMEM. */
int opts_warn(struct reader *r, struct err *e, const char *fmt, ...) PRINTF(3, 4);

/* Options of other launchers, opts_set_compat.c. */
option_fn opts_set_timestamps, opts_set_export_list, opts_set_kill_on_bad_exit;
option_fn opts_set_output, opts_set_srun_pattern, opts_set_srun_input, opts_set_output_folder;
option_fn opts_set_display, opts_set_cpu_bind;

/* All words have been read: the plan gets what depends on several of them, and what the
 * environment says, and is checked; opts_settle.c.  0, or -1 and e. */
int opts_settle(struct reader *r, struct err *e);

/* Variables that stand for options, opts_env.c: a row for each of those names, of which
 * the first that is set counts. */
struct variable {
    const char *names[OPTION_NAMES + 3];
    /* name: the one that is set; text is not empty.  0, or -1 and e without the name. */
    int       (*set)(struct reader *r, const struct variable *v, const char *name,
                     const char *text, struct err *e);
    const char *option;      /* for set: as this one, unless it was given */
    const char *off;         /* for set: and as this one, if it is a boolean and false */
    const char *help;        /* for the manual */
};
extern const struct variable opts_variables[];
extern const size_t opts_variables_count;
/* What the environment sets where the command line did not.  0, or -1 and e. */
int opts_set_from_environment(struct reader *r, struct err *e);
bool opts_has(const struct reader *r, const char *name);   /* a job-wide one was given */

/* Once hosts are known: what was said of mapping fits together, opts_map.c.  0, or -1 and
 * e. */
int opts_settle_map(struct reader *r, struct err *e);

/* All of text is a decimal number in min..max: *out is it.  Else false. */
bool opts_number(const char *text, long min, long max, long *out);

int opts_count_of(const char *text, int *out, struct err *e);       /* 1, 2 ... */
int opts_copy(char **to, const char *text, struct err *e);          /* frees what was there */
/* Add name=value to set, unless the launcher sets that variable itself. */
int opts_add_variable(struct reader *r, struct strlist *set, const char *name, size_t len,
                      const char *value, struct err *e);
int opts_choose_rmk(struct reader *r, const char *name, struct err *e);  /* -rmk NAME */
int opts_seconds_of(const char *text, double *out, struct err *e);  /* may be negative */
int opts_boolean(const char *text);      /* 1, 0; -1: neither */
/* Add copies of all strings.  0, or -1 and ERR_NOMEM. */
int opts_append(struct strlist *to, const struct strlist *from, struct err *e);
/* Make the setting of o with these words, unless it must not: see opts.c.  0, or -1 and e. */
int opts_apply(struct reader *r, const struct option *o, char *const *arg, struct err *e);
/* The number of what o sets, which several rows may; below OPTIONS_MAX. */
size_t opts_setting_of(const struct option *o);

/* Note for --explain what is said where the reader is, opts_note.c; nothing where nobody asks.
 * 0, or -1 and ERR_NOMEM. */
/* An option.  Hosts that are added from now on are named by it. */
int opts_note(struct reader *r, const struct option *o, char *const *arg, struct err *e);
/* A variable of our environment; o: the option that it stands for, or NULL. */
int opts_note_ours(struct reader *r, const char *name, const struct option *o,
                   const char *text, struct err *e);
/* A variable of the ranks, of the block or (of_job) of all. */
int opts_note_variable(struct reader *r, bool of_job, const char *entry, struct err *e);

/* Hosts that are added from now on are named by the option of this key (NULL: by none). */
void opts_hosts_named_by(struct reader *r, const char *key, int app);

/* Text files, opts_file.c. */

/* The file of -file, opts_jobfile.c: what the block's own words have not said.  0, or -1
 * and e. */
int opts_read_jobfile(struct reader *r, struct err *e);

/* The configuration file that is read where none is named, malloc'ed; NULL: none, or
 * (e is set) no memory.  sysconfdir: of the system. */
char *opts_usual_configfile(char *const *envp, const char *sysconfdir, struct err *e);

/* All of a file, not empty of its last zero byte.  0, or -1 and e. */
int opts_file_read(const char *path, struct buf *text, struct err *e);
/* The same of an open file, which is closed (-1: errno says why it is not), with zero bytes in it, and
 * none behind it. */
int opts_file_take(int fd, const char *name, struct buf *text, struct err *e);

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
