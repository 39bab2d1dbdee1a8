/* test_cmd_kvs.c - pmi2/cmd_kvs: put, get, get by index, limits, the spaces. */
#include "test/unit/fake_host.h"

#include "wire/limits.h"

#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16
#define X256 X64 X64 X64 X64
#define X1024 X256 X256 X256 X256

static const struct story stories[] = {
    /* --- PMI-1 --- */
    { "put and get", .steps = { "0+1", "0> cmd=put kvsname=job0 key=k value=v\n",
        "0< cmd=put_result rc=0\n", "0> cmd=get kvsname=job0 key=k\n",
        "0< cmd=get_result rc=0 value=v\n" } },
    { "a later put replaces", .steps = { "0+1", "0> cmd=put kvsname=job0 key=k value=v\n",
        "0> cmd=put kvsname=job0 key=k value=w\n", "0> cmd=get kvsname=job0 key=k\n",
        "0< cmd=put_result rc=0\ncmd=put_result rc=0\ncmd=get_result rc=0 value=w\n" } },
    { "value takes the rest of the line, value comes last (R20)", .steps = { "0+1",
        "0> cmd=put kvsname=job0 key=k value=a b=c\\d  e\n", "0< cmd=put_result rc=0\n",
        "0> cmd=get kvsname=job0 key=k\n", "0< cmd=get_result rc=0 value=a b=c\\d  e\n" } },
    { "keys in any order, unknown ones ignored", .steps = { "0+1",
        "0> cmd=put key=k what=ever kvsname=job0 value=v\n", "0< cmd=put_result rc=0\n",
        "0> cmd=get key=k kvsname=job0\n", "0< cmd=get_result rc=0 value=v\n" } },
    { "missing key (R8, R21)", .steps = { "0+1", "0> cmd=get kvsname=job0 key=k\n",
        "0< cmd=get_result rc=1 msg=key_not_found\n" } },
    { "no kvsname is its own job", .steps = { "0+1", "0> cmd=put key=k value=v\n",
        "0< cmd=put_result rc=0\n", "0> cmd=get key=k\n", "0< cmd=get_result rc=0 value=v\n" } },
    { "foreign kvsname", .steps = { "0+1", "0> cmd=put kvsname=other key=k value=v\n",
        "0< cmd=put_result rc=3 msg=other_is_not_this_job\n",
        "0> cmd=get kvsname=other key=k\n",
        "0< cmd=get_result rc=3 msg=there_is_no_job_other_here\n",
        "0> cmd=getbyidx kvsname=other idx=0\n",
        "0< cmd=getbyidx_results rc=3 msg=other_is_not_this_job\n" } },
    { "put without a key", .steps = { "0+1", "0> cmd=put kvsname=job0 value=v\n",
        "0< cmd=put_result rc=3 msg=put:_no_key\n" } },
    { "put without a value", .steps = { "0+1", "0> cmd=put kvsname=job0 key=k\n",
        "0< cmd=put_result rc=3 msg=put:_no_value\n" } },
    { "get without a key", .steps = { "0+1", "0> cmd=get kvsname=job0\n",
        "0< cmd=get_result rc=3 msg=get:_no_key\n" } },
    { "an empty pair is taken and not stored (Q18)", .steps = { "0+1",
        "0> cmd=put kvsname=job0 key= value=\n", "0< cmd=put_result rc=0\n",
        "0> cmd=getbyidx kvsname=job0 idx=0\n",
        "0< cmd=getbyidx_results rc=1 msg=key_not_found reason=no_more_keyvals\n" } },
    { "an empty value (Q16)", .steps = { "0+1", "0> cmd=put kvsname=job0 key=k value=\n",
        "0< cmd=put_result rc=0\n", "0> cmd=get kvsname=job0 key=k\n",
        "0< cmd=get_result rc=0 value=\n" } },
    { "a key of 64 bytes", .steps = { "0+1", "0> cmd=put key=" X64 " value=v\n",
        "0< cmd=put_result rc=0\n", "0> cmd=get key=" X64 "\n",
        "0< cmd=get_result rc=0 value=v\n" } },
    { "a key of 65 bytes", .steps = { "0+1", "0> cmd=put key=x" X64 " value=v\n",
        "0< cmd=put_result rc=5 msg=put:_key_is_65_bytes,_at_most_64\n",
        "0> cmd=get key=x" X64 "\n",
        "0< cmd=get_result rc=5 msg=get:_key_is_65_bytes,_at_most_64\n" } },
    { "a value that is not UTF-8", .steps = { "0+1", "0> cmd=put key=k value=\xff\xfe\n",
        "0< cmd=put_result rc=6 msg=put:_value_is_not_UTF-8\n", "0> cmd=get key=k\n",
        "0< cmd=get_result rc=1 msg=key_not_found\n" } },
    { "a key that is not UTF-8", .steps = { "0+1", "0> cmd=put key=\xc3 value=v\n",
        "0< cmd=put_result rc=6 msg=put:_key_is_not_UTF-8\n" } },
    { "UTF-8", .steps = { "0+1", "0> cmd=put key=k\xc3\xa4se value=gr\xc3\xbcn\n",
        "0< cmd=put_result rc=0\n", "0> cmd=get key=k\xc3\xa4se\n",
        "0< cmd=get_result rc=0 value=gr\xc3\xbcn\n" } },
    { "reserved keys are read-only", .steps = { "0+1", "0> cmd=put key=PMI_x value=v\n",
        "0< cmd=put_result rc=4 msg=key_PMI_x_is_read-only\n" } },
    { "PMI_process_mapping", .size = 4, .steps = { "0+1",
        "0> cmd=get kvsname=job0 key=PMI_process_mapping\n",
        "0< cmd=get_result rc=0 value=(vector,(0,1,4))\n" } },
    { "unknown PMI_ key", .steps = { "0+1", "0> cmd=get kvsname=job0 key=PMI_unheard_of\n",
        "0< cmd=get_result rc=1 msg=key_not_found\n" } },
    { "PMI_dead_processes by get", .size = 4, .steps = { "0+1", "1+1", "3+2",
        "0> cmd=get key=PMI_dead_processes\n", "0< cmd=get_result rc=1 msg=key_not_found\n",
        "3x", "1x", "2x", "0> cmd=get key=PMI_dead_processes\n",
        "0< cmd=get_result rc=0 value=1,3\n" } },
    { "by index", .steps = { "0+1", "0> cmd=put key=a value=1\n", "0> cmd=put key=b value=2\n",
        "0> cmd=put key=a value=3\n",
        "0< cmd=put_result rc=0\ncmd=put_result rc=0\ncmd=put_result rc=0\n",
        "0> cmd=getbyidx kvsname=job0 idx=0\n",
        "0< cmd=getbyidx_results rc=0 nextidx=1 key=a val=3\n",
        "0> cmd=getbyidx kvsname=job0 idx=1\n",
        "0< cmd=getbyidx_results rc=0 nextidx=2 key=b val=2\n",
        "0> cmd=getbyidx kvsname=job0 idx=2\n",
        "0< cmd=getbyidx_results rc=1 msg=key_not_found reason=no_more_keyvals\n",
        "0> cmd=getbyidx kvsname=job0 idx=-1\n",
        "0< cmd=getbyidx_results rc=6 msg=getbyidx:_idx_-1_is_not_within_0..2147483647\n",
        "0> cmd=getbyidx kvsname=job0\n",
        "0< cmd=getbyidx_results rc=3 msg=getbyidx:_no_idx\n" } },
    { "a value with a blank by index", .steps = { "0+1", "0> cmd=put key=a value=1 2\n",
        "0< cmd=put_result rc=0\n", "0> cmd=getbyidx kvsname=job0 idx=0\n",
        "0< cmd=getbyidx_results rc=6 "
        "msg=getbyidx_results:_PMI-1_cannot_carry_a_blank_in_val\n" } },
    { "no further spaces", .steps = { "0+1", "0> cmd=create_kvs\n",
        "0< cmd=newkvs rc=14 msg=a_job_has_one_key-value_space;_no_other_can_be_made\n",
        "0> cmd=destroy_kvs kvsname=job0\n",
        "0< cmd=kvs_destroyed rc=14 msg=a_job_has_one_key-value_space;_no_other_can_be_made\n" } },
    { "a value of 1024 bytes", .steps = { "0+1", "0> cmd=put key=k value=" X1024 "\n",
        "0< cmd=put_result rc=0\n", "0> cmd=get key=k\n",
        "0< cmd=get_result rc=0 value=" X1024 "\n" } },
    { "a longer one is an error for an old client, and not cut", .size = 2, .steps = {
        "0+1", "1+2", "1} cmd=kvs-put;key=k;value=x" X1024 ";", "1{ cmd=kvs-put-response;rc=0;",
        "0> cmd=get key=k\n",
        "0< cmd=get_result rc=7 msg=value_of_1025_bytes,_this_client_can_take_1024\n",
        "1} cmd=kvs-get;key=k;", "1{ cmd=kvs-get-response;rc=0;found=TRUE;value=x" X1024 ";" } },
    { "a client that puts one takes one", .size = 2, .steps = { "0+1", "1+1",
        "1> cmd=put key=k value=x" X1024 "\n", "1< cmd=put_result rc=0\n",
        "0> cmd=put key=j value=x" X1024 "\n", "0< cmd=put_result rc=0\n",
        "0> cmd=get key=k\n", "0< cmd=get_result rc=0 value=x" X1024 "\n" } },

    /* --- PMI-2 --- */
    { "put and get, PMI-2 (R1, R6, R7)", .steps = { "0+2", "0} cmd=kvs-put;key=k;value=v;",
        "0{ cmd=kvs-put-response;rc=0;", "0} cmd=kvs-get;jobid=job0;srcid=0;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=v;" } },
    { "missing key, PMI-2 (R8, R13)", .steps = { "0+2", "0} cmd=kvs-get;key=-NONEXIST-KEY;",
        "0{ cmd=kvs-get-response;rc=0;found=FALSE;" } },
    { "empty jobid is its own (Q5)", .steps = { "0+2", "0} cmd=kvs-get;jobid=;srcid=0;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=FALSE;" } },
    { "foreign jobid", .steps = { "0+2", "0} cmd=kvs-get;jobid=other;srcid=0;key=k;",
        "0{ cmd=kvs-get-response;rc=3;errmsg=there is no job other here;" } },
    { "srcid is a hint (Q6)", .size = 2, .steps = { "0+2", "0} cmd=kvs-put;key=k;value=v;",
        "0{ cmd=kvs-put-response;rc=0;", "0} cmd=kvs-get;jobid=job0;srcid=-1;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=v;",
        "0} cmd=kvs-get;jobid=job0;srcid=77;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=v;",
        "0} cmd=kvs-get;jobid=job0;srcid=junk;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=v;" } },
    { "';' in a value (Q13, R15)", .steps = { "0+2", "0} cmd=kvs-put;key=k;value=a;;b;;;;=c\n;",
        "0{ cmd=kvs-put-response;rc=0;", "0} cmd=kvs-get;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b;;;;=c\n;" } },
    { "an empty value, PMI-2 (Q16)", .steps = { "0+2", "0} cmd=kvs-put;key=k;value=;",
        "0{ cmd=kvs-put-response;rc=0;", "0} cmd=kvs-get;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=;" } },
    { "put without a value, PMI-2", .steps = { "0+2", "0} cmd=kvs-put;key=k;",
        "0{ cmd=kvs-put-response;rc=3;errmsg=kvs-put: no value;" } },
    { "put without a key, PMI-2", .steps = { "0+2", "0} cmd=kvs-put;value=k;",
        "0{ cmd=kvs-put-response;rc=3;errmsg=kvs-put: no key;" } },
    { "get without a key, PMI-2", .steps = { "0+2", "0} cmd=kvs-get;",
        "0{ cmd=kvs-get-response;rc=3;errmsg=kvs-get: no key;" } },
    { "a key of 65 bytes, PMI-2", .steps = { "0+2", "0} cmd=kvs-put;key=x" X64 ";value=v;",
        "0{ cmd=kvs-put-response;rc=5;errmsg=kvs-put: key is 65 bytes, at most 64;" } },
    { "not UTF-8, PMI-2", .steps = { "0+2", "0} cmd=kvs-put;key=k;value=\xf0\x80;",
        "0{ cmd=kvs-put-response;rc=6;errmsg=kvs-put: value is not UTF-8;" } },
    { "reserved, PMI-2", .steps = { "0+2", "0} cmd=kvs-put;key=PMI_x;value=v;",
        "0{ cmd=kvs-put-response;rc=4;errmsg=key PMI_x is read-only;" } },
    { "PMI_dead_processes by kvs-get", .size = 2, .steps = { "0+2", "1+2", "1x",
        "0} cmd=kvs-get;key=PMI_dead_processes;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=1;" } },
    { "a longer value than an old PMI-2 client can take", .size = 2, .steps = { "0+2",
        "1> cmd=init pmi_version=2 pmi_subversion=0\n",
        "1< cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n",
        "1} cmd=fullinit;extensions=;",
        "1{ cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=0;"
        "extensions=thrid,abort-text,read-only,kvs-copy;debugged=FALSE;pmiverbose=FALSE;",
        "1} cmd=kvs-put;key=k;value=x" X1024 ";", "1{ cmd=kvs-put-response;rc=0;",
        "0} cmd=kvs-get;thrid=4;key=k;", "0{ cmd=kvs-get-response;thrid=4;rc=7;"
        "errmsg=value of 1025 bytes, this client can take 1024;",
        "1} cmd=kvs-get;key=k;", "1{ cmd=kvs-get-response;rc=0;found=TRUE;value=x" X1024 ";" } },
    { "jobs do not see each other's values", .size2 = 1, .steps = { "0+1", "A+1",
        "0> cmd=put key=k value=0\n", "0< cmd=put_result rc=0\n", "A> cmd=get key=k\n",
        "A< cmd=get_result rc=1 msg=key_not_found\n", "A> cmd=get kvsname=job0 key=k\n",
        "A< cmd=get_result rc=3 msg=job_job0_is_not_connected_to_this_one\n" } },
};

/* What fits a frame is kept and comes back whole; one byte more is refused. */
static void test_longest(void **state)
{
    struct fake *f = malloc(sizeof *f);
    struct buf step = BUF_INIT;

    (void)state;
    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = 2 }));
    fake_step(f, "0+2", SIZE_MAX);
    fake_step(f, "1+2", SIZE_MAX);
    for (int over = 0; over < 2; over++) {
        buf_reset(&step);
        buf_str(&step, "0} cmd=kvs-put;key=k;value=");
        for (int i = 0; i < LIMIT_VALUE + over; i++)
            buf_char(&step, (char)('a' + i % 26));
        buf_char(&step, ';');
        fake_step(f, buf_bytes(&step), 1000);
        if (over)
            fake_step(f, "0{ cmd=kvs-put-response;rc=7;errmsg=kvs-put: value is 65281 bytes, "
                      "at most 65280;", SIZE_MAX);
        else
            fake_step(f, "0{ cmd=kvs-put-response;rc=0;", SIZE_MAX);
    }
    fake_step(f, "0} cmd=kvs-get;key=k;", SIZE_MAX);
    assert_int_equal(f->link[0].sent.len, 6 + strlen("cmd=kvs-get-response;rc=0;found=TRUE;value=;")
                     + LIMIT_VALUE);
    buf_consume(&f->link[0].sent, f->link[0].sent.len);
    assert_true(job_kvs_bytes(f->job[0]) > LIMIT_VALUE);

    /* The same, when ';' doubles its length on the wire. */
    buf_reset(&step);
    buf_str(&step, "0} cmd=kvs-put;key=s;value=");
    for (int i = 0; i < LIMIT_VALUE / 2 - 10; i++)
        buf_str(&step, ";;");
    buf_char(&step, ';');
    fake_step(f, buf_bytes(&step), SIZE_MAX);
    fake_step(f, "0{ cmd=kvs-put-response;rc=0;", SIZE_MAX);
    fake_step(f, "0} cmd=kvs-get;key=s;", SIZE_MAX);
    assert_non_null(strstr(buf_bytes(&f->link[0].sent), "found=TRUE;value=;;"));
    buf_consume(&f->link[0].sent, f->link[0].sent.len);
    buf_clear(&step);
    fake_close(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest more[] = { cmocka_unit_test(test_longest) };

    return stories_run("cmd_kvs", stories, N_OF(stories), more, N_OF(more));
}
