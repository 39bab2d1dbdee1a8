/* test_cmd_info.c - pmi2/cmd_info: attributes of job and node, the waiting get. */
#include "test/unit/fake_host.h"

#define FOUND(v) "0{ cmd=info-getjobattr-response;rc=0;found=TRUE;value=" v ";"
#define MISSED "0{ cmd=info-getjobattr-response;rc=0;found=FALSE;"
#define GET(k) "0} cmd=info-getjobattr;key=" k ";"
#define NODE(k) "0} cmd=info-getnodeattr;key=" k ";"
#define N_FOUND(v) "0{ cmd=info-getnodeattr-response;rc=0;found=TRUE;value=" v ";"
#define N_MISSED "0{ cmd=info-getnodeattr-response;rc=0;found=FALSE;"
#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16
#define X1024 X64 X64 X64 X64 X64 X64 X64 X64 X64 X64 X64 X64 X64 X64 X64 X64

static const struct mapping_block two_nodes = { 0, 2, 2 };

static const struct story stories[] = {
    { "job attributes of one rank", .universe = 5, .steps = { "0+2",
        GET("PMI_process_mapping"), FOUND("(vector,(0,1,1))"), GET("universeSize"), FOUND("5"),
        GET("hasNameServ"), FOUND("TRUE"), GET("localRanks"), FOUND("0"),
        GET("localRanksCount"), FOUND("1"), GET("physTopology"), FOUND("complete"),
        GET("isHeterogeneous"), FOUND("FALSE"), GET("PMI_dead_processes"), MISSED } },
    { "mapping of blocks", .size = 4, .map = &two_nodes, .steps = { "0+2",
        GET("PMI_process_mapping"), FOUND("(vector,(0,2,2))"),
        GET("physTopology"), FOUND("hierarchical"), GET("physTopologyLevels"),
        FOUND("complete,complete") } },
    { "local ranks of four", .size = 4, .steps = { "0+2", GET("localRanks"), FOUND("0,1,2,3"),
        GET("localRanksCount"), FOUND("4"), NODE("localRanks"), N_FOUND("0,1,2,3"),
        NODE("localRanksCount"), N_FOUND("4") } },
    { "what is not known", .steps = { "0+2", GET("universeSize"), MISSED, GET("cartDims"),
        MISSED, GET("mpi_reserved_ports"), MISSED, GET("physTopologyLevels"), MISSED,
        NODE("cartCoords"), N_MISSED, NODE("memPoolType"), N_MISSED, GET(""), MISSED } },
    { "coordinates that are not known may be put", .steps = { "0+2",
        "0} cmd=info-putnodeattr;key=cartCoords;value=1,2;",
        "0{ cmd=info-putnodeattr-response;rc=0;", NODE("cartCoords"), N_FOUND("1,2") } },
    { "what the host finds out: two wait, a third need not", .size = 2, .steps = { "0+2", "1+1",
        GET("PMI_hwloc_xmlfile"), "0=", "?find PMI_hwloc_xmlfile",
        "1> cmd=get key=PMI_hwloc_xmlfile\n", "1=", "*told job0 /x/y", FOUND("/x/y"),
        "1< cmd=get_result rc=0 value=/x/y\n", GET("PMI_hwloc_xmlfile"), FOUND("/x/y") } },
    { "what the host does not find out", .steps = { "0+2", GET("PMI_hwloc_xmlfile"),
        "?find PMI_hwloc_xmlfile", "*told job0", MISSED, GET("PMI_hwloc_xmlfile"), MISSED } },
    { "who waits for the host ends", .size = 2, .steps = { "0+2", GET("PMI_hwloc_xmlfile"),
        "?find PMI_hwloc_xmlfile", "0.", "0x", "*told job0 /x/y" } },
    { "no name service", .options = { .no_names = true }, .steps = { "0+2",
        GET("hasNameServ"), FOUND("FALSE") } },
    { "dead processes: died inside PMI only", .size = 4, .steps = { "0+2", "1+2", "2+1",
        "2> cmd=finalize\n", "2< cmd=finalize_ack rc=0\n", "1x", "2x", "3x",
        GET("PMI_dead_processes"), FOUND("1"), GET("PMI_alive_processes"), FOUND("0") } },
    { "all are alive", .size = 3, .steps = { "0+2", GET("PMI_alive_processes"), FOUND("0,1,2"),
        GET("PMI_dead_processes"), MISSED } },
    { "those that live are to hear of it", .size = 2, .options = { .fault_tolerant = true },
      .steps = { "0+2", "1+2", "1x", "*flush job0", "?died", GET("PMI_dead_processes"),
        FOUND("1") } },
    { "job attribute without a key", .steps = { "0+2", "0} cmd=info-getjobattr;",
        "0{ cmd=info-getjobattr-response;rc=3;errmsg=info-getjobattr: no key;" } },
    { "job attribute, key too long", .steps = { "0+2", GET("x" X64),
        "0{ cmd=info-getjobattr-response;rc=5;errmsg=info-getjobattr: key is 65 bytes, at most "
        "64;" } },

    { "node attribute: put and get", .size = 2, .steps = { "0+2", "1+2",
        "1} cmd=info-putnodeattr;key=a;value=x;;y;", "1{ cmd=info-putnodeattr-response;rc=0;",
        NODE("a"), N_FOUND("x;;y") } },
    { "node attribute: a later put replaces", .steps = { "0+2",
        "0} cmd=info-putnodeattr;key=a;value=1;", "0{ cmd=info-putnodeattr-response;rc=0;",
        "0} cmd=info-putnodeattr;key=a;value=2;", "0{ cmd=info-putnodeattr-response;rc=0;",
        NODE("a"), N_FOUND("2") } },
    { "node attributes and values are two spaces", .steps = { "0+2",
        "0} cmd=info-putnodeattr;key=a;value=1;", "0{ cmd=info-putnodeattr-response;rc=0;",
        "0} cmd=kvs-get;key=a;", "0{ cmd=kvs-get-response;rc=0;found=FALSE;",
        "0} cmd=kvs-put;key=b;value=1;", "0{ cmd=kvs-put-response;rc=0;", NODE("b"),
        N_MISSED } },
    { "wait: absent, FALSE, false, 0, no (Q7)", .steps = { "0+2", NODE("a"), N_MISSED,
        NODE("a;wait=FALSE"), N_MISSED, NODE("a;wait=false"), N_MISSED, NODE("a;wait=0"),
        N_MISSED, NODE("a;wait=No"), N_MISSED } },
    { "wait: TRUE, true, 1, yes (Q7)", .size = 2, .steps = { "0+2", "1+2",
        NODE("a;wait=TRUE"), NODE("a;wait=true"), NODE("a;wait=1"), NODE("a;wait=Yes"), "0=",
        "0Winfo-getnodeattr", "1} cmd=info-putnodeattr;key=b;value=w;",
        "1{ cmd=info-putnodeattr-response;rc=0;", "0=",
        "1} cmd=info-putnodeattr;key=a;value=v;", "1{ cmd=info-putnodeattr-response;rc=0;",
        N_FOUND("v"), N_FOUND("v"), N_FOUND("v"), N_FOUND("v"), "0W" } },
    { "wait: neither", .steps = { "0+2", NODE("a;wait=perhaps"),
        "0{ cmd=info-getnodeattr-response;rc=6;errmsg=info-getnodeattr: wait=perhaps is neither "
        "TRUE nor FALSE;" } },
    { "wait for what is there", .steps = { "0+2", "0} cmd=info-putnodeattr;key=a;value=1;",
        "0{ cmd=info-putnodeattr-response;rc=0;", NODE("a;wait=TRUE"), N_FOUND("1") } },
    { "a process that is alone waits in vain", .steps = { "0+2", NODE("a;wait=TRUE"),
        "0{ cmd=info-getnodeattr-response;rc=14;errmsg=no other rank is on this host;" } },
    { "all others have ended: who waits hears so, and who would", .size = 3, .steps = {
        "0+2", "1+2", "2+2", NODE("a;wait=TRUE"), "1x", "0=", "2x",
        "0{ cmd=info-getnodeattr-response;rc=14;errmsg=every other rank has ended;",
        NODE("b;wait=TRUE"),
        "0{ cmd=info-getnodeattr-response;rc=14;errmsg=every other rank has ended;" } },
    { "a thread waits for what another puts", .steps = { "0+2",
        "0} cmd=info-getnodeattr;thrid=1;key=a;wait=TRUE;",
        "0} cmd=info-putnodeattr;thrid=2;key=a;value=v;",
        "0{ cmd=info-getnodeattr-response;thrid=1;rc=0;found=TRUE;value=v;",
        "0{ cmd=info-putnodeattr-response;thrid=2;rc=0;" } },
    { "waiters of another job stay", .size = 2, .size2 = 1, .steps = { "0+2", "A+2",
        NODE("a;wait=TRUE"), "A} cmd=info-putnodeattr;key=a;value=1;",
        "A{ cmd=info-putnodeattr-response;rc=0;", "0=",
        "A} cmd=info-getnodeattr;key=a;",
        "A{ cmd=info-getnodeattr-response;rc=0;found=TRUE;value=1;" } },
    { "a woken client that cannot take the value", .size = 2, .steps = { "0+2", "1+2",
        NODE("a;wait=TRUE"), "1} cmd=info-putnodeattr;key=a;value=x" X1024 ";",
        "1{ cmd=info-putnodeattr-response;rc=0;", "0{ cmd=info-getnodeattr-response;rc=7;"
        "errmsg=value of 1025 bytes, this client can take 1024;" } },
    { "read-only node attributes", .steps = { "0+2",
        "0} cmd=info-putnodeattr;key=PMI_x;value=1;",
        "0{ cmd=info-putnodeattr-response;rc=4;errmsg=attribute PMI_x is read-only;",
        "0} cmd=info-putnodeattr;key=localRanks;value=1;",
        "0{ cmd=info-putnodeattr-response;rc=4;errmsg=attribute localRanks is read-only;",
        "0} cmd=info-putnodeattr;key=localRanksCount;value=1;",
        "0{ cmd=info-putnodeattr-response;rc=4;errmsg=attribute localRanksCount is read-only;" } },
    { "put without key or value", .steps = { "0+2", "0} cmd=info-putnodeattr;value=1;",
        "0{ cmd=info-putnodeattr-response;rc=3;errmsg=info-putnodeattr: no key;",
        "0} cmd=info-putnodeattr;key=a;",
        "0{ cmd=info-putnodeattr-response;rc=3;errmsg=info-putnodeattr: no value;" } },
    { "get without a key", .steps = { "0+2", "0} cmd=info-getnodeattr;wait=TRUE;",
        "0{ cmd=info-getnodeattr-response;rc=3;errmsg=info-getnodeattr: no key;" } },
    { "not UTF-8", .steps = { "0+2", "0} cmd=info-putnodeattr;key=a;value=\x80;",
        "0{ cmd=info-putnodeattr-response;rc=6;errmsg=info-putnodeattr: value is not UTF-8;" } },
};

static const struct {
    const char *name;
    int         blocks;
    bool        v1, v2;      /* told to PMI-1, to PMI-2 */
    bool        cyclic;
} mappings[] = {
    { "short", 10, true, true, false },
    { "too long for MPICH's PMI-1", 110, false, true, false },
    { "too long for an old client", 130, false, false, false },
    { "repeats, so that one period is enough", 130, true, true, true },
};

/* A mapping is whole or not there: PMI-1 of MPICH 4.0 crashes on long ones. */
static void test_mapping(void **state)
{
    struct mapping_block blocks[200];
    int appnums[2] = { 0, 0 };

    (void)state;
    for (size_t i = 0; i < N_OF(mappings); i++) {
        for (int k = 0; k < 200; k++)
            blocks[k] = (struct mapping_block){ k % 10, 1, mappings[i].cyclic ? 1 : 1 + (k > 105) };
        struct fake *f = malloc(sizeof *f);
        struct job_spec spec = { .id = "big", .size = 2, .appnums = appnums, .map = blocks,
                                 .map_blocks = (size_t)mappings[i].blocks };
        const char *reply;

        print_message("  %s\n", mappings[i].name);
        assert_non_null(f);
        assert_true(fake_open(f, &(struct story){ .size = 1 }));
        f->job[1] = server_add_job(f->server, &spec, NULL);
        assert_non_null(f->job[1]);
        fake_step(f, "A+1", SIZE_MAX);
        fake_step(f, "B+2", SIZE_MAX);
        fake_step(f, "A> cmd=get key=PMI_process_mapping\n", SIZE_MAX);
        reply = buf_bytes(&f->link[10].sent);
        assert_non_null(strstr(reply, mappings[i].v1 ? "rc=0 value=(vector,(0,1,1),(1,1,1)" :
                               "rc=1 msg=key_not_found"));
        fake_step(f, "B} cmd=info-getjobattr;key=PMI_process_mapping;", SIZE_MAX);
        reply = buf_bytes(&f->link[11].sent);
        assert_non_null(strstr(reply, mappings[i].v2 ? "found=TRUE;value=(vector," :
                               "rc=0;found=FALSE;"));
        fake_close(f);
        free(f);
    }
}

/* What the host says when it makes the job. */
static void test_given(void **state)
{
    static const struct { const char *key, *want; bool node; } rows[] = {
        { "cartDims", "4,2", false }, { "physTopology", "hierarchical", false },
        { "physTopologyLevels", "cartesian,complete", false }, { "cartCoords", "3,1", true },
        { "isHeterogeneous", "TRUE", false },
    };
    int appnums[4] = { 0 };
    struct job_spec spec = { .id = "big", .size = 4, .appnums = appnums, .map = &two_nodes,
                             .map_blocks = 1, .cart_dims = "4,2", .cart_coords = "3,1",
                             .in_env = true };
    struct fake *f = malloc(sizeof *f);
    char step[200], want[200];

    (void)state;
    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = 1 }));
    f->job[1] = server_add_job(f->server, &spec, NULL);
    assert_non_null(f->job[1]);
    job_set_mixed(f->job[1]);
    fake_step(f, "A> cmd=init pmi_version=2 pmi_subversion=0\n", SIZE_MAX);
    fake_step(f, "A} cmd=fullinit;pmirank=0;extensions=1;", SIZE_MAX);
    assert_non_null(strstr(buf_bytes(&f->link[10].sent), ",constants;"));
    for (size_t i = 0; i < N_OF(rows); i++) {
        snprintf(step, sizeof step, "A} cmd=info-get%sattr;key=%s;",
                 rows[i].node ? "node" : "job", rows[i].key);
        snprintf(want, sizeof want, ";found=TRUE;value=%s;", rows[i].want);
        buf_clear(&f->link[10].sent);
        fake_step(f, step, SIZE_MAX);
        assert_non_null(strstr(buf_bytes(&f->link[10].sent), want));
    }
    buf_clear(&f->link[10].sent);
    fake_step(f, "A} cmd=info-putnodeattr;key=cartCoords;value=0,0;", SIZE_MAX);
    assert_non_null(strstr(buf_bytes(&f->link[10].sent), "rc=4;"));
    fake_close(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest more[] = { cmocka_unit_test(test_mapping),
                                       cmocka_unit_test(test_given) };

    return stories_run("cmd_info", stories, N_OF(stories), more, N_OF(more));
}
