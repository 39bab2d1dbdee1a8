/* test_cmd_spawn.c - pmi2/cmd_spawn and linked: spawn in both spellings, from the
 * command to what the host is asked and from its answer to the reply; connected jobs and
 * what they see of each other.  Over several servers: test_peer.c. */
#include "test/unit/fake_host.h"

#include "test/unit/fake_memory.h"

#define BLOCK(total, nth) "mcmd=spawn\nnprocs=1\nexecname=./child\ntotspawns=" total \
    "\nspawnssofar=" nth "\nargcnt=2\narg1=first arg\narg2=ends in endcmd\npreput_num=1\n" \
    "preput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$p a=b\ninfo_num=0\nendcmd\n"
#define ASKED " 1 ./child [first arg] [ends in endcmd]"
#define APPNUM(n) "cmd=appnum rc=0 appnum=" n "\n"
#define NOT_SUPPORTED_1 "cmd=spawn_result rc=14 " \
    "msg=starting_further_processes_is_not_supported_by_this_launcher\n"
#define NOT_SUPPORTED_2(t) "cmd=spawn-response;" t \
    "rc=14;errmsg=starting further processes is not supported by this launcher;nerrs=0;"
#define WRONG_1(msg) "cmd=spawn_result rc=10 msg=" msg "\n"
#define WRONG_2(msg) "cmd=spawn-response;rc=10;errmsg=" msg ";nerrs=0;"
/* A spawn of n processes from that rank, noted. */
#define SPAWN_1(r, n) r "> mcmd=spawn\nnprocs=" n "\nexecname=c\nendcmd\n"
#define SPAWN_2(r, n) r "} cmd=spawn;ncmds=1;subcmd=c;maxprocs=" n ";argc=0;infokeycount=0;"
#define MADE_1(id) "cmd=spawn_result rc=0 jobid=" id "\n"
#define MADE_2(id) "cmd=spawn-response;rc=0;jobid=" id ";nerrs=0;"
#define GET_OF(r, id, k) r "} cmd=kvs-get;jobid=" id ";key=" k ";"
#define GOT(r, v) r "{ cmd=kvs-get-response;rc=0;found=TRUE;value=" v ";"
#define MISS(r) r "{ cmd=kvs-get-response;rc=0;found=FALSE;"
#define APART(r, id) r "{ cmd=kvs-get-response;rc=3;errmsg=job " id " is not connected to this one;"
#define NO_JOB(r, id) r "{ cmd=kvs-get-response;rc=3;errmsg=there is no job " id " here;"
#define PUT(r, k, v) r "} cmd=kvs-put;key=" k ";value=" v ";", r "{ cmd=kvs-put-response;rc=0;"
#define CONNECT(r, id) r "} cmd=job-connect;jobid=" id ";", \
    r "{ cmd=job-connect-response;rc=0;kvscopy=FALSE;"
#define DISCONNECT(r, id) r "} cmd=job-disconnect;jobid=" id ";", \
    r "{ cmd=job-disconnect-response;rc=0;"
#define ZEROS_10 ",0,0,0,0,0,0,0,0,0,0"
#define ZEROS_100 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 \
    ZEROS_10 ZEROS_10

static const struct story stories[] = {
    /* --- PMI-1 --- */
    { "one block", .steps = { "0+1", "0> " BLOCK("1", "1"), "?spawn 0:" ASKED, "0=",
        "0W spawn", "*done job1", "0< " MADE_1("job1"), "0> cmd=get_appnum\n",
        "0< " APPNUM("0") } },
    { "what comes behind it waits for its turn", .steps = { "0+1",
        "0> " BLOCK("1", "1") "cmd=get_appnum\n", "?spawn 0:" ASKED, "0=", "*done job1",
        "0< " MADE_1("job1"), "0< " APPNUM("0") } },
    { "two blocks have one answer (Q12)", .steps = { "0+1", "0> " BLOCK("2", "1"), "0=",
        "0> " BLOCK("2", "2"), "?spawn 0:" ASKED " :" ASKED, "*done job1",
        "0< " MADE_1("job1") } },
    { "two blocks in one write, refused", .steps = { "0+1", "0> " BLOCK("2", "1") BLOCK("2", "2"),
        "?spawn 0:" ASKED " :" ASKED, "*refused 0 no slots = none", "0< cmd=spawn_result rc=14 "
        "msg=no_slots___none\n" } },
    { "a block without counts, empty argument", .steps = { "0+1",
        "0> mcmd=spawn\nexecname=x\narg1=\nnprocs=3\nendcmd\n", "?spawn 0: 3 x []",
        "*done job1", "0< " MADE_1("job1") } },
    { "arguments that look like lines of a block", .steps = { "0+1",
        "0> mcmd=spawn\nnprocs=1\nexecname=x\narg1=endcmd\narg2=a=b;c\\d\narg3=x endcmd\nendcmd\n",
        "?spawn 0: 1 x [endcmd] [a=b;c\\d] [x endcmd]", "*done job1", "0< " MADE_1("job1") } },
    { "spawn before init", .steps = { "0> " BLOCK("1", "1"),
        "0< cmd=spawn_result rc=1 msg=spawn:_not_before_init\n" } },
    { "counts that are none", .steps = { "0+1",
        "0> mcmd=spawn\ntotspawns=many\nendcmd\n",
        "0< cmd=spawn_result rc=6 msg=spawn:_totspawns_many_is_not_a_number\n" } },
    { "infonum for info_num, info before arguments (Q11, Q12)", .steps = { "0+1",
        "0> mcmd=spawn\npreput_num=0\ninfonum=1\ninfo_key_0=wdir\ninfo_val_0=/\nnprocs=1\n"
        "execname=x\ntotspawns=1\nspawnssofar=1\nargcnt=1\narg1=a\nendcmd\n",
        "?spawn 0: 1 x [a] {wdir=/}", "*done job1", "0< " MADE_1("job1") } },
    { "what is wrong with a block is said with the last one", .steps = { "0+1",
        "0> mcmd=spawn\nnprocs=1\ntotspawns=2\nspawnssofar=1\nendcmd\n", "0=",
        "0> " BLOCK("2", "2"), "0< " WRONG_1("command_1_has_no_program"),
        "0> " BLOCK("1", "1"), "?spawn 0:" ASKED, "*done job1", "0< " MADE_1("job1") } },
    { "blocks out of order", .steps = { "0+1", "0> " BLOCK("3", "1") BLOCK("3", "3"),
        "0< " WRONG_1("block_3_of_3_comes_as_number_2") } },
    { "the last block alone", .steps = { "0+1", "0> " BLOCK("2", "2"),
        "0< " WRONG_1("block_2_of_2_comes_as_number_1") } },
    { "it begins anew", .steps = { "0+1", "0> " BLOCK("3", "1") BLOCK("3", "2") BLOCK("1", "1"),
        "?spawn 0:" ASKED, "*done job1", "0< " MADE_1("job1") } },
    { "the connection ends between two blocks", .size = 2, .steps = { "0+1", "1+1",
        "0> " BLOCK("2", "1"), "0.", SPAWN_1("1", "1"), "?spawn 1: 1 c", "*done job1",
        "1< " MADE_1("job1") } },
    { "blocks of two ranks at once", .size = 2, .steps = { "0+1", "1+1", "0> " BLOCK("2", "1"),
        "1> " BLOCK("2", "1"), "1> " BLOCK("2", "2"), "?spawn 1:" ASKED " :" ASKED,
        "*done job1", "1< " MADE_1("job1"), "0=", "0> " BLOCK("2", "2"),
        "?spawn 0:" ASKED " :" ASKED, "*done job2", "0< " MADE_1("job2") } },
    { "older clients send the pairs with every block: the first counts", .steps = { "0+1",
        "0> mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\npreput_num=1\n"
        "preput_key_0=k\npreput_val_0=one\nendcmd\n"
        "mcmd=spawn\nnprocs=1\nexecname=b\ntotspawns=2\nspawnssofar=2\npreput_num=1\n"
        "preput_key_0=k\npreput_val_0=two\nendcmd\n", "?spawn 0: 1 a : 1 b", "*done job1",
        "0< " MADE_1("job1"), "A+1", "A> cmd=get kvsname=job1 key=k\n",
        "A< cmd=get_result rc=0 value=one\n" } },

    /* --- PMI-2 --- */
    { "a message per command, as the wiki has it (Q9)", .steps = { "0+2",
        "0} cmd=spawn-cmd;cmd=./child;maxprocs=1;",
        "0{ cmd=spawn-cmd-response;rc=14;errmsg=unknown_command;" } },
    { "PMI-2 (R11, R22)", .steps = { "0+2", "0} cmd=spawn;thrid=3;ncmds=2;preputcount=1;"
        "ppkey0=PARENT_ROOT_PORT_NAME;ppval0=tag#0$p;subcmd=./child;maxprocs=2;argc=2;"
        "argv0=child arg;argv1=b=2;infokeycount=1;infokey0=mykey;infoval0=my val;"
        "subcmd=./child;maxprocs=1;argc=0;infokeycount=0;",
        "?spawn 0: 2 ./child [child arg] [b=2] {mykey=my val} : 1 ./child", "0=",
        "0} cmd=job-getid;", "0{ cmd=job-getid-response;rc=0;jobid=job0;", "*done job1",
        "0{ cmd=spawn-response;thrid=3;rc=0;jobid=job1;nerrs=0;" } },
    { "PMI-2 with more pairs than a message keeps in place", .steps = { "0+2",
        "0} cmd=spawn;ncmds=1;subcmd=a;maxprocs=1;argc=20;argv0=0;argv1=1;argv2=2;argv3=3;"
        "argv4=4;argv5=5;argv6=6;argv7=7;argv8=8;argv9=9;argv10=a;argv11=b;argv12=c;argv13=d;"
        "argv14=e;argv15=f;argv16=g;argv17=h;argv18=i;argv19=j;infokeycount=0;",
        "?spawn 0: 1 a [0] [1] [2] [3] [4] [5] [6] [7] [8] [9] [a] [b] [c] [d] [e] [f] [g] [h] "
        "[i] [j]", "*done job1", "0{ " MADE_2("job1") } },
    { "PMI-2: what is wrong is said, and nothing asked", .steps = { "0+2",
        "0} cmd=spawn;ncmds=2;subcmd=a;maxprocs=1;",
        "0{ " WRONG_2("2 commands were announced, 1 came"),
        "0} cmd=spawn;ncmds=1;", "0{ " WRONG_2("1 commands were announced, 0 came"),
        "0} cmd=spawn;subcmd=a;maxprocs=1;argc=1;",
        "0{ " WRONG_2("command 1: 1 arguments were announced, 0 came"),
        "0} cmd=job-getid;", "0{ cmd=job-getid-response;rc=0;jobid=job0;" } },
    { "a pair that no rank could put", .steps = { "0+2",
        "0} cmd=spawn;preputcount=1;ppkey0=PMI_process_mapping;ppval0=x;subcmd=a;maxprocs=1;",
        "0{ cmd=spawn-response;rc=4;errmsg=key PMI_process_mapping is read-only;nerrs=0;" } },

    /* --- the answer --- */
    { "not supported", .no_spawn = true, .size = 2, .steps = { "0+1", "0> " BLOCK("1", "1"),
        "0< " NOT_SUPPORTED_1, "%not supported", "0> " BLOCK("2", "1") BLOCK("2", "2"),
        "0< " NOT_SUPPORTED_1, "1+2", "1} cmd=spawn;thrid=a;ncmds=1;subcmd=a;maxprocs=1;",
        "1{ " NOT_SUPPORTED_2("thrid=a;") } },
    { "a failure has no jobid (R11)", .steps = { "0+2", SPAWN_2("0", "2"), "?spawn 0: 2 c",
        "*refused 0 no such program; none", "0{ cmd=spawn-response;rc=14;"
        "errmsg=no such program;; none;nerrs=0;" } },
    { "a failure with codes", .size = 2, .steps = { "0+2", SPAWN_2("0", "2"), "?spawn 0: 2 c",
        "*refused 2,2 no such program", "0{ cmd=spawn-response;rc=14;"
        "errmsg=no such program;errcodes=2,2;nerrs=0;", "1+1", SPAWN_1("1", "2"),
        "?spawn 1: 2 c", "*refused 2,2 gone",
        "1< cmd=spawn_result rc=14 msg=gone errcodes=2,2\n" } },
    { "codes, one for each process", .size = 2, .steps = { "0+2", SPAWN_2("0", "3"),
        "?spawn 0: 3 c", "*done job1 0,2,0", "0{ cmd=spawn-response;rc=0;jobid=job1;"
        "errcodes=0,2,0;nerrs=0;", "1+1", SPAWN_1("1", "3"), "?spawn 1: 3 c", "*done job2 13",
        "1< cmd=spawn_result rc=0 jobid=job2 errcodes=13,0,0\n" } },
    { "codes that are all 0 are left out", .steps = { "0+1", SPAWN_1("0", "3"), "?spawn 0: 3 c",
        "*done job1 0,0,0", "0< " MADE_1("job1") } },
    { "more codes than an old client can read", .size = 2, .steps = { "0+1", SPAWN_1("0", "600"),
        "?spawn 0: 600 c", "*done job1 2", "0< " MADE_1("job1"), "1+2", SPAWN_2("1", "600"),
        "?spawn 1: 600 c", "*done job2 2", "1{ " MADE_2("job2") } },
    { "as many as it can: 512 are 1023 bytes", .steps = { "0+1", SPAWN_1("0", "512"),
        "?spawn 0: 512 c", "*done job1 2", "0< cmd=spawn_result rc=0 jobid=job1 errcodes=2"
        ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_10 ",0\n" } },
    { "our own library can read them all", .steps = { "0+2w", SPAWN_2("0", "601"),
        "?spawn 0: 601 c", "*done job1 2", "0{ cmd=spawn-response;rc=0;jobid=job1;errcodes=2"
        ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_100 ";nerrs=0;" } },
    { "two at once, the second is done first", .size = 2, .steps = { "0+2", "1+1",
        SPAWN_2("0", "1"), SPAWN_1("1", "2"), "?spawn 0: 1 c", "?spawn 1: 2 c", "*made job1",
        "*done job2", "0=", "1< " MADE_1("job2"), "*done job1", "0{ " MADE_2("job1"),
        "*linked job1 job2" } },
    { "two of one rank, by its threads", .steps = { "0+2",
        "0} cmd=spawn;thrid=a;subcmd=x;maxprocs=1;", "0} cmd=spawn;thrid=b;subcmd=y;maxprocs=1;",
        "?spawn 0: 1 x", "?spawn 0: 1 y", "*made job1", "*refused 0 no",
        "0{ cmd=spawn-response;thrid=b;rc=14;errmsg=no;nerrs=0;", "*done job1",
        "0{ cmd=spawn-response;thrid=a;rc=0;jobid=job1;nerrs=0;" } },
    { "two of one rank without threads are answered in order", .steps = { "0+2",
        SPAWN_2("0", "1"), SPAWN_2("0", "2"), "?spawn 0: 1 c", "?spawn 0: 2 c", "*made job1",
        "*done job2", "0=", "*done job1", "0{ " MADE_2("job1"), "0{ " MADE_2("job2") } },
    { "the one that asks closes before the answer", .size = 2, .steps = { "0+2", "1+2",
        SPAWN_2("0", "1"), "?spawn 0: 1 c", "0.", "*done job1", "*linked job0 job1", "1=" } },
    { "it has ended before the answer", .size = 2, .steps = { "0+2", "1+2", SPAWN_2("0", "1"),
        "?spawn 0: 1 c", "0.", "0x", "*refused 0 no", "1=" } },
    { "all of its job have", .size2 = 1, .steps = { "A+2", SPAWN_2("A", "1"), "?spawn 100: 1 c",
        "A.", "*gone job1", "*done job2", "*apart job0 job2", "A+2", GET_OF("A", "job1", "k"),
        NO_JOB("A", "job1") } },
    { "a spawn of a spawned job", .steps = { "0+2", SPAWN_2("0", "2"), "?spawn 0: 2 c",
        "*done job1", "0{ " MADE_2("job1"), "B+2", SPAWN_2("B", "1"), "?spawn 101: 1 c",
        "*done job2", "B{ " MADE_2("job2"), "*linked job0 job2" } },
    { "the program ends while the host is at it", .steps = { "0+2", SPAWN_2("0", "1"),
        "?spawn 0: 1 c" } },

    /* --- the child --- */
    { "it says whose it is, and sees what was put for it", .steps = { "0+2", "0} cmd=spawn;"
        "preputcount=2;ppkey0=k;ppval0=a;;b c;ppkey1=empty;ppval1=;subcmd=a;maxprocs=2;"
        "subcmd=b;maxprocs=2;", "?spawn 0: 2 a : 2 b", "*made job1",
        "C> cmd=init pmi_version=2 pmi_subversion=0\n",
        "C< cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n",
        "C} cmd=fullinit;pmirank=2;", "C{ cmd=fullinit-response;rc=0;pmi-version=2;"
        "pmi-subversion=0;rank=2;size=4;appnum=1;spawner-jobid=job0;debugged=FALSE;"
        "pmiverbose=FALSE;", "C} cmd=kvs-get;key=k;", GOT("C", "a;;b c"),
        "C} cmd=kvs-get;key=empty;", GOT("C", ""), "0} cmd=kvs-get;thrid=1;key=k;",
        "0{ cmd=kvs-get-response;thrid=1;rc=0;found=FALSE;", "*done job1",
        "0{ " MADE_2("job1") } },
    { "PMI-1: what was put for it", .steps = { "0+1", "0> " BLOCK("1", "1"), "?spawn 0:" ASKED,
        "*done job1", "0< " MADE_1("job1"), "A+1", "A> cmd=get key=PARENT_ROOT_PORT_NAME\n",
        "A< cmd=get_result rc=0 value=tag#0$p a=b\n" } },
    { "a pair that comes twice: the last one", .steps = { "0+2", "0} cmd=spawn;"
        "preputcount=2;ppkey0=k;ppval0=a;ppkey1=k;ppval1=b;subcmd=a;maxprocs=1;",
        "?spawn 0: 1 a", "*done job1", "0{ " MADE_2("job1"), "A+2", "A} cmd=kvs-get;key=k;",
        GOT("A", "b") } },

    /* --- keys of another job --- */
    { "parent and child see each other's keys", .steps = { "0+2", PUT("0", "k", "p"),
        SPAWN_2("0", "1"), "?spawn 0: 1 c", "*done job1", "0{ " MADE_2("job1"), "A+2",
        GET_OF("A", "job0", "k"), GOT("A", "p"), GET_OF("A", "job1", "k"), MISS("A"),
        GET_OF("A", "", "k"), MISS("A"), GET_OF("A", "job0", "x"), MISS("A"),
        PUT("A", "k", "c"), GET_OF("0", "job1", "k"), GOT("0", "c"), GET_OF("0", "job0", "k"),
        GOT("0", "p"), PUT("0", "k", "q"), GET_OF("A", "job0", "k"), GOT("A", "q") } },
    { "the same on PMI-1", .size2 = 1, .steps = { "0+1", "A+2", PUT("A", "k", "v w"),
        CONNECT("A", "job0"), "0> cmd=get kvsname=job1 key=k\n",
        "0< cmd=get_result rc=0 value=v w\n", "0> cmd=get kvsname=job1 key=x\n",
        "0< cmd=get_result rc=1 msg=key_not_found\n" } },
    { "not what belongs to the job itself", .steps = { "0+2", SPAWN_2("0", "1"),
        "?spawn 0: 1 c", "*done job1", "0{ " MADE_2("job1"), "A+2",
        GET_OF("A", "job0", "PMI_process_mapping"), MISS("A") } },
    { "a job that is not connected", .size2 = 1, .steps = { "0+2", "A+2", PUT("0", "k", "v"),
        GET_OF("A", "job0", "k"), APART("A", "job0"), GET_OF("A", "job0", "x"),
        APART("A", "job0") } },
    { "a job that there is not", .steps = { "0+2", GET_OF("0", "job1", "k"),
        NO_JOB("0", "job1"), "0} cmd=job-connect;jobid=job1;", "0{ cmd=job-connect-response;"
        "rc=3;errmsg=there is no job job1 here;kvscopy=FALSE;",
        "0} cmd=job-disconnect;jobid=job1;",
        "0{ cmd=job-disconnect-response;rc=3;errmsg=there is no job job1 here;" } },
    { "a value longer than an old client can take", .size2 = 1, .whole = true, .steps = { "0+2",
        "A+2", "A} cmd=kvs-put;key=k;value=" ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_100 ZEROS_100
        ZEROS_100 ";", "A{ cmd=kvs-put-response;rc=0;", CONNECT("A", "job0"),
        GET_OF("0", "job1", "k"), "0{ cmd=kvs-get-response;rc=7;errmsg=value of 1200 bytes, "
        "this client can take 1024;", } },

    /* --- connecting --- */
    { "job-connect (R14), job-disconnect", .size2 = 1, .steps = { "0+2", "A+2",
        "*apart job0 job1", CONNECT("0", "job1"), "*linked job0 job1", PUT("A", "k", "v"),
        GET_OF("0", "job1", "k"), GOT("0", "v"), DISCONNECT("A", "job0"), "*apart job0 job1",
        GET_OF("0", "job1", "k"), APART("0", "job1"), "A} cmd=job-disconnect;jobid=job0;",
        "A{ cmd=job-disconnect-response;rc=3;errmsg=job job0 is not connected to this one;" } },
    { "connecting again, and with itself, changes nothing", .size2 = 1, .steps = { "0+2", "A+2",
        CONNECT("0", "job1"), CONNECT("0", "job1"), CONNECT("A", "job0"), CONNECT("0", "job0"),
        "*linked job0 job1", DISCONNECT("0", "job1"), "*apart job0 job1",
        "0} cmd=job-disconnect;jobid=job0;", "0{ cmd=job-disconnect-response;rc=3;"
        "errmsg=job job0 is not connected to this one;" } },
    { "job-connect without a name", .steps = { "0+2", "0} cmd=job-connect;",
        "0{ cmd=job-connect-response;rc=3;errmsg=job-connect: no jobid;kvscopy=FALSE;" } },
    { "by way of another job", .size2 = 1, .steps = { "0+2", "A+2", SPAWN_2("0", "1"),
        "?spawn 0: 1 c", "*done job2", "0{ " MADE_2("job2"), "K+2", PUT("K", "k", "v"),
        "*apart job1 job2", GET_OF("A", "job2", "k"), APART("A", "job2"), CONNECT("A", "job0"),
        "*linked job1 job2", GET_OF("A", "job2", "k"), GOT("A", "v"),
        "A} cmd=job-disconnect;jobid=job2;", "A{ cmd=job-disconnect-response;rc=3;"
        "errmsg=job job2 is not connected to this one;", DISCONNECT("0", "job2"),
        "*apart job1 job2", "*linked job0 job1" } },
    { "in a circle", .size2 = 1, .steps = { "0+2", "A+2", SPAWN_2("0", "1"), "?spawn 0: 1 c",
        "*done job2", "0{ " MADE_2("job2"), CONNECT("A", "job0"), CONNECT("A", "job2"),
        DISCONNECT("0", "job2"), "*linked job0 job2", DISCONNECT("0", "job1"),
        "*apart job0 job2", "*linked job1 job2" } },
    { "with a job goes what it joined", .size2 = 1, .steps = { "0+2", "A+2", SPAWN_2("0", "1"),
        "?spawn 0: 1 c", "*done job2", "0{ " MADE_2("job2"), CONNECT("A", "job2"), "K+2",
        "*linked job0 job1", "*gone job2", "*apart job0 job1", GET_OF("0", "job2", "k"),
        NO_JOB("0", "job2"), CONNECT("0", "job1"), "*linked job0 job1" } },
    { "a name that is free again is another job's", .steps = { "0+2", SPAWN_2("0", "1"),
        "?spawn 0: 1 c", "*done job1", "0{ " MADE_2("job1"), "A+2", PUT("A", "k", "v"),
        "*gone job1", SPAWN_2("0", "1"), "?spawn 0: 1 c", "*done job1", "0{ " MADE_2("job1"),
        GET_OF("0", "job1", "k"), MISS("0") } },
};

/* A story with one allocation refused: whatever is answered, nothing breaks and nothing
 * is leaked. */
static void story_without(const struct story *s)
{
    long n = 0;

    for (;; n++) {
        struct fake *f = calloc(1, sizeof *f);
        long live = memory_live;
        bool opened;

        assert_non_null(f);
        memory_after(n);
        opened = fake_open(f, s);
        f->careless = true;
        if (opened)
            story_tell(s, f, SIZE_MAX);
        memory_end();
        fake_close(f);
        assert_int_equal(memory_live, live);
        free(f);
        if (!memory_hit)
            break;
    }
    print_message("  %s: %ld allocations\n", s->name, n);
}

static void test_no_memory(void **state)
{
    (void)state;
    memory_begin();
    for (size_t i = 0; i < N_OF(stories); i++)
        story_without(&stories[i]);
}

/* What the host can ask about a request. */
static void test_wants(void **state)
{
    static const struct story s = { .size = 2, .size2 = 1 };
    static const char line[] = "mcmd=spawn\nnprocs=3\nexecname=c\npreput_num=1\npreput_key_0=k\n"
        "preput_val_0=v\nendcmd\n";
    const struct spawn_request *r;
    struct fake f;

    (void)state;
    assert_true(fake_open(&f, &s));
    fake_init(&f, '1', "1", SIZE_MAX);
    fake_input(&f, '1', line, sizeof line - 1, SIZE_MAX);
    assert_int_equal(f.nspawn, 1);
    r = spawn_wants(f.spawn[0].s);
    assert_int_equal(spawn_size(r), 3);
    assert_int_equal(r->preput.n, 1);
    assert_string_equal(r->preput.v[0].value, "v");
    assert_int_equal(spawn_rank(f.spawn[0].s), 1);
    assert_ptr_equal(spawn_parent(f.spawn[0].s), f.job[0]);
    fake_act(&f, "gone job1");
    assert_ptr_equal(spawn_parent(f.spawn[0].s), f.job[0]);
    fake_act(&f, "gone job0");
    assert_null(spawn_parent(f.spawn[0].s));
    fake_act(&f, "refused 0 no");
    fake_close(&f);
}

int main(void)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test(test_wants), cmocka_unit_test(test_no_memory),
    };

    return stories_run("cmd_spawn", stories, N_OF(stories), more, N_OF(more));
}
