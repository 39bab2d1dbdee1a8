/* test_cmd_init.c - pmi2/cmd_init: what a rank learns about itself, finalize and
 * abort.  (Version negotiation and identification: test_server.c.) */
#include "test/unit/fake_host.h"

static const struct story stories[] = {
    { "maxes", .steps = { "0+1", "0> cmd=get_maxes\n",
        "0< cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024\n" } },
    { "appnum of rank 2 (R5)", .size = 3, .steps = { "2+1", "2> cmd=get_appnum\n",
        "2< cmd=appnum rc=0 appnum=1\n" } },
    { "universe size", .universe = 12, .steps = { "0+1", "0> cmd=get_universe_size\n",
        "0< cmd=universe_size rc=0 size=12\n" } },
    { "universe size not known", .steps = { "0+1", "0> cmd=get_universe_size\n",
        "0< cmd=universe_size rc=0 size=-1\n" } },
    { "kvsname, as often as one likes", .steps = { "0+1", "0> cmd=get_my_kvsname\n",
        "0> cmd=get_my_kvsname\n", "0< cmd=my_kvsname rc=0 kvsname=job0\n",
        "0< cmd=my_kvsname rc=0 kvsname=job0\n" } },
    { "job id, PMI-2", .size2 = 1, .steps = { "A+2", "A} cmd=job-getid;",
        "A{ cmd=job-getid-response;rc=0;jobid=job1;" } },
    { "all of fullinit-response (R2, R3, R4)", .size = 4, .steps = {
        "3> cmd=init pmi_version=2 pmi_subversion=0\n",
        "3< cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n",
        "3} cmd=fullinit;pmirank=3;threaded=FALSE;", "3{ cmd=fullinit-response;rc=0;"
        "pmi-version=2;pmi-subversion=0;rank=3;size=4;appnum=1;debugged=FALSE;"
        "pmiverbose=FALSE;", "?initialized 3" } },
    { "threaded is a word (Q3)", .steps = { "0> cmd=init pmi_version=2 pmi_subversion=0\n",
        "0< cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n",
        "0} cmd=fullinit;threaded=maybe;", "0{ cmd=fullinit-response;rc=6;errmsg=fullinit: "
        "threaded=maybe is neither TRUE nor FALSE;pmi-version=2;pmi-subversion=0;debugged=FALSE;pmiverbose=FALSE;" } },
    { "finalize", .steps = { "0+1", "?initialized 0", "0> cmd=finalize\n",
        "0< cmd=finalize_ack rc=0\n", "?finalized 0" } },
    { "finalize, PMI-2", .steps = { "0+2", "0} cmd=finalize;", "0{ cmd=finalize-response;rc=0;",
        "?finalized 0" } },

    /* --- abort: every spelling (Q4, Q19) --- */
    { "abort, bare", .steps = { "0+1", "0> cmd=abort\n", "?abort 0 world 1", "0=" } },
    { "abort exitcode", .steps = { "0+1", "0> cmd=abort exitcode=7\n", "?abort 0 world 7" } },
    { "abort exitcode=0", .steps = { "0+1", "0> cmd=abort exitcode=0\n", "?abort 0 world 0" } },
    { "abort exitcode=-1 with a message of words", .steps = { "0+1",
        "0> cmd=abort exitcode=-1 message=PMI_Init failed = so\n",
        "?abort 0 world -1 PMI_Init failed = so" } },
    { "abort exit_code, error_msg", .steps = { "0+1",
        "0> cmd=abort exit_code=3 error_msg=old words\n", "?abort 0 world 3 old words" } },
    { "abort, PMI-2", .size = 2, .steps = { "1+2", "1} cmd=abort;isworld=TRUE;msg=h1;; no;",
        "?abort 1 world 1 h1; no", "1=" } },
    { "abort of itself", .size = 2, .steps = { "1+2", "1} cmd=abort;isworld=FALSE;msg=;",
        "?abort 1 self 1" } },
    { "abort with exitcode and message", .steps = { "0+2",
        "0} cmd=abort;exitcode=-1;message=bye now;", "?abort 0 world -1 bye now" } },
    { "abort before init", .steps = { "0> cmd=abort exitcode=2\n", "?abort 0 world 2" } },
    { "abort before fullinit", .steps = { "0> cmd=init pmi_version=2 pmi_subversion=0\n",
        "0< cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n",
        "0} cmd=abort;isworld=TRUE;msg=m;", "?abort 0 world 1 m" } },
    { "abort after finalize", .steps = { "0+1", "0> cmd=finalize\n",
        "0< cmd=finalize_ack rc=0\n", "0> cmd=abort exitcode=9\n", "?abort 0 world 9" } },
    { "abort with words that are not UTF-8", .steps = { "0+2",
        "0} cmd=abort;msg=\xff\xfe;", "?abort 0 world 1 \xff\xfe" } },

    /* --- abort: what cannot be understood counts as absent --- */
    { "abort with a code that is no number", .steps = { "0+1", "0> cmd=abort exitcode=x\n",
        "?abort 0 world 1", "0=" } },
    { "abort with a code that is too large", .steps = { "0+2",
        "0} cmd=abort;exitcode=99999999999;msg=m;", "?abort 0 world 1 m", "0=" } },
    { "abort with a code that is no number, and a text", .steps = { "0+1",
        "0> cmd=abort exitcode=x message=some words\n", "?abort 0 world 1 some words" } },
    { "abort of neither world nor itself", .steps = { "0+2",
        "0} cmd=abort;isworld=maybe;exitcode=3;msg=m;", "?abort 0 world 3 m", "0=" } },
};

/* The text is cut at its limit. */
static void test_long_abort(void **state)
{
    struct buf step = BUF_INIT;
    struct fake *f = malloc(sizeof *f);

    (void)state;
    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = 1 }));
    fake_step(f, "0+2", SIZE_MAX);
    buf_str(&step, "0} cmd=abort;msg=");
    for (int i = 0; i < 3000; i++)
        buf_char(&step, 'x');
    buf_char(&step, ';');
    fake_step(f, buf_bytes(&step), SIZE_MAX);
    buf_clear(&step);
    fake_event(f, "initialized 0");
    assert_int_equal(f->events.len, strlen("abort 0 world 1 \n") + 1024);
    fake_close(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest more[] = { cmocka_unit_test(test_long_abort) };

    return stories_run("cmd_init", stories, N_OF(stories), more, N_OF(more));
}
