/* test_cmd_spawn.c - pmi2/cmd_spawn: both spellings of spawn, and connecting jobs,
 * are understood, answered once and refused; the program goes on. */
#include "test/unit/fake_host.h"

#define BLOCK(total, nth) "mcmd=spawn\nnprocs=1\nexecname=./child\ntotspawns=" total \
    "\nspawnssofar=" nth "\nargcnt=2\narg1=first arg\narg2=ends in endcmd\npreput_num=1\n" \
    "preput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$p a=b\ninfo_num=0\nendcmd\n"
#define REFUSED_1 "cmd=spawn_result rc=14 " \
    "msg=starting_further_processes_is_not_supported_by_this_launcher\n"
#define REFUSED_2(t) "cmd=spawn-response;" t "rc=14;" \
    "errmsg=starting further processes is not supported by this launcher;"

static const struct story stories[] = {
    { "one block", .steps = { "0+1", "0> " BLOCK("1", "1"), "0< " REFUSED_1,
        "0> cmd=get_appnum\n", "0< cmd=appnum rc=0 appnum=0\n" } },
    { "two blocks have one answer (Q12)", .steps = { "0+1", "0> " BLOCK("2", "1"), "0=",
        "0> " BLOCK("2", "2"), "0< " REFUSED_1 } },
    { "two blocks in one write", .steps = { "0+1", "0> " BLOCK("2", "1") BLOCK("2", "2")
        "cmd=get_appnum\n", "0< " REFUSED_1, "0< cmd=appnum rc=0 appnum=0\n" } },
    { "a block without counts, empty argument", .steps = { "0+1",
        "0> mcmd=spawn\nexecname=x\narg1=\nendcmd\n", "0< " REFUSED_1 } },
    { "spawn before init", .steps = { "0> " BLOCK("1", "1"),
        "0< cmd=spawn_result rc=1 msg=spawn:_not_before_init\n" } },
    { "counts that are none", .steps = { "0+1",
        "0> mcmd=spawn\ntotspawns=many\nendcmd\n",
        "0< cmd=spawn_result rc=6 msg=spawn:_totspawns_many_is_not_a_number\n" } },
    { "infonum for info_num, info before arguments (Q11, Q12)", .steps = { "0+1",
        "0> mcmd=spawn\npreput_num=0\ninfonum=1\ninfo_key_0=wdir\ninfo_val_0=/\nnprocs=1\n"
        "execname=x\ntotspawns=1\nspawnssofar=1\nargcnt=1\narg1=a\nendcmd\n",
        "0< " REFUSED_1 } },
    { "a message per command, as the wiki has it (Q9)", .steps = { "0+2",
        "0} cmd=spawn-cmd;cmd=./child;maxprocs=1;",
        "0{ cmd=spawn-cmd-response;rc=14;errmsg=unknown_command;" } },
    { "argv from 1 (Q10); a failure has no jobid and no error list (R12)", .steps = { "0+2",
        "0} cmd=spawn;ncmds=1;subcmd=./child;maxprocs=1;argc=2;argv1=a;argv2=b;",
        "0{ " REFUSED_2("") } },
    { "PMI-2 (R11, R22)", .steps = { "0+2", "0} cmd=spawn;thrid=3;ncmds=2;preputcount=1;"
        "ppkey0=PARENT_ROOT_PORT_NAME;ppval0=tag#0$p;subcmd=./child;maxprocs=2;argc=2;"
        "argv0=child arg;argv1=b=2;infokeycount=1;infokey0=mykey;infoval0=my val;"
        "subcmd=./child;maxprocs=1;argc=0;infokeycount=0;", "0{ " REFUSED_2("thrid=3;"),
        "0} cmd=job-getid;", "0{ cmd=job-getid-response;rc=0;jobid=job0;" } },
    { "PMI-2 with more pairs than a message keeps in place", .steps = { "0+2",
        "0} cmd=spawn;ncmds=1;subcmd=a;argc=20;argv0=0;argv1=1;argv2=2;argv3=3;argv4=4;argv5=5;"
        "argv6=6;argv7=7;argv8=8;argv9=9;argv10=a;argv11=b;argv12=c;argv13=d;argv14=e;"
        "argv15=f;argv16=g;argv17=h;argv18=i;argv19=j;infokeycount=0;", "0{ " REFUSED_2("") } },
    { "job-connect (R14)", .steps = { "0+2", "0} cmd=job-connect;jobid=other;",
        "0{ cmd=job-connect-response;rc=14;errmsg=connecting jobs is not supported by this "
        "launcher;kvscopy=FALSE;", "%connecting jobs is not supported" } },
    { "job-disconnect", .steps = { "0+2", "0} cmd=job-disconnect;jobid=other;",
        "0{ cmd=job-disconnect-response;rc=14;errmsg=connecting jobs is not supported by this "
        "launcher;" } },
};

int main(void)
{
    return stories_run("cmd_spawn", stories, N_OF(stories), NULL, 0);
}
