/* test_fence.c - pmi2/fence*.c: fence and barrier, groups of PMI-1.2, the ring, and
 * members that end while others wait. */
#include "test/unit/fake_host.h"

#include "wire/limits.h"

#define OUT(tag) "cmd=barrier_out rc=0 tag=" tag "\n"
#define RING(n, l, r) "cmd=ring-response;rc=0;ring-count=" n ";ring-left=" l ";ring-right=" r ";"
#define FT { .fault_tolerant = true }

static const struct story stories[] = {
    /* --- the whole job --- */
    { "one rank", .steps = { "0+1", "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=0\n" } },
    { "nobody leaves before all are in (R19)", .size = 3, .steps = { "0+1", "1+1", "2+1",
        "0> cmd=barrier_in\n", "2> cmd=barrier_in\n", "0=", "2=", "0Wbarrier_in",
        "1> cmd=barrier_in\n", "0< cmd=barrier_out rc=0\n", "1< cmd=barrier_out rc=0\n",
        "2< cmd=barrier_out rc=0\n", "0W" } },
    { "again and again", .size = 2, .steps = { "0+1", "1+2", "0> cmd=barrier_in\n",
        "1} cmd=kvs-fence;", "0< cmd=barrier_out rc=0\n", "1{ cmd=kvs-fence-response;rc=0;",
        "1} cmd=kvs-fence;", "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=0\n",
        "1{ cmd=kvs-fence-response;rc=0;" } },
    { "jobs have fences of their own", .size = 1, .size2 = 2, .steps = { "0+1", "A+1", "B+1",
        "A> cmd=barrier_in\n", "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=0\n", "A=",
        "B> cmd=barrier_in\n", "A< cmd=barrier_out rc=0\n", "B< cmd=barrier_out rc=0\n" } },
    { "rank 0's threads enter two rounds (epochs)", .size = 2, .steps = { "0+2", "1+2",
        "0} cmd=kvs-fence;thrid=1;", "0} cmd=kvs-fence;thrid=2;", "0=", "1} cmd=kvs-fence;",
        "1{ cmd=kvs-fence-response;rc=0;", "0{ cmd=kvs-fence-response;thrid=1;rc=0;", "0=",
        "1} cmd=kvs-fence;", "1{ cmd=kvs-fence-response;rc=0;",
        "0{ cmd=kvs-fence-response;thrid=2;rc=0;" } },
    { "pipelined fences without thread ids", .size = 2, .steps = { "0+2", "1+2",
        "0} cmd=kvs-fence;", "0} cmd=kvs-fence;", "0} cmd=kvs-fence;", "1} cmd=kvs-fence;",
        "1{ cmd=kvs-fence-response;rc=0;", "0{ cmd=kvs-fence-response;rc=0;", "0=",
        "1} cmd=kvs-fence;", "1} cmd=kvs-fence;", "1{ cmd=kvs-fence-response;rc=0;",
        "1{ cmd=kvs-fence-response;rc=0;", "0{ cmd=kvs-fence-response;rc=0;",
        "0{ cmd=kvs-fence-response;rc=0;" } },

    /* --- groups --- */
    { "plain, WORLD and WORLD:0 are one", .size = 4, .steps = { "0+12", "1+12", "2+2", "3+12",
        "0> cmd=barrier_in\n", "1> cmd=barrier_in group=WORLD\n",
        "3> cmd=barrier_in group=WORLD:0\n", "2} cmd=kvs-fence;",
        "2{ cmd=kvs-fence-response;rc=0;", "0< " OUT("0"), "1< " OUT("0"), "3< " OUT("0") } },
    { "WORLD with a tag is another", .size = 2, .steps = { "0+12", "1+12",
        "0> cmd=barrier_in group=WORLD:7\n", "1> cmd=barrier_in\n", "0=", "1=",
        "0> cmd=barrier_in\n", "0< " OUT("0"), "1< " OUT("0"),
        "1> cmd=barrier_in group=WORLD:7\n", "1< " OUT("7"), "0< " OUT("7") } },
    { "NODE", .size = 2, .steps = { "0+12", "1+12", "0> cmd=barrier_in group=NODE:5\n",
        "1> cmd=barrier_in group=NODE:5\n", "0< " OUT("5"), "1< " OUT("5") } },
    { "NODE is not WORLD", .size = 2, .steps = { "0+12", "1+12",
        "0> cmd=barrier_in group=NODE\n", "1> cmd=barrier_in group=WORLD\n", "0=", "1=",
        "0> cmd=barrier_in group=WORLD\n", "0< " OUT("0"), "1< " OUT("0"),
        "1> cmd=barrier_in group=NODE\n", "1< " OUT("0"), "0< " OUT("0") } },
    { "every spelling of a set is one group", .size = 4, .steps = { "0+12", "1+12", "2+12",
        "0> cmd=barrier_in group=0,2,1:9\n", "1> cmd=barrier_in group=2,1,0:9\n",
        "2> cmd=barrier_in group=1,2,2,0,1:9\n", "0< " OUT("9"), "1< " OUT("9"),
        "2< " OUT("9") } },
    { "a list of all ranks is WORLD", .size = 3, .steps = { "0+12", "1+12", "2+2",
        "0> cmd=barrier_in group=0,2,1\n", "1> cmd=barrier_in\n", "2} cmd=kvs-fence;",
        "0< " OUT("0"), "1< " OUT("0"), "2{ cmd=kvs-fence-response;rc=0;" } },
    { "a list of all ranks is WORLD of the same tag only", .size = 2, .steps = { "0+12", "1+12",
        "0> cmd=barrier_in group=1,0:7\n", "1> cmd=barrier_in group=WORLD\n", "0=", "1=",
        "1> cmd=barrier_in group=WORLD:7\n", "1< " OUT("7"), "0< " OUT("7"),
        "0> cmd=barrier_in group=0,1,1\n", "0< " OUT("0"), "1< " OUT("0") } },
    { "a subset is another group", .size = 3, .steps = { "0+12", "1+12", "2+12",
        "0> cmd=barrier_in group=0,1\n", "1> cmd=barrier_in group=0,1,2\n", "0=", "1=",
        "2> cmd=barrier_in group=0,1,2\n", "2=", "0> cmd=barrier_in group=0,1,2\n",
        "1< " OUT("0"), "2< " OUT("0"), "0< " OUT("0"), "1> cmd=barrier_in group=0,1\n",
        "0< " OUT("0"), "1< " OUT("0") } },
    { "one member", .size = 3, .steps = { "2+12", "2> cmd=barrier_in group=2:11\n",
        "2< " OUT("11") } },
    { "tags: negative, largest, none", .size = 1, .steps = { "0+12",
        "0> cmd=barrier_in group=0:-5\n", "0< " OUT("-5"),
        "0> cmd=barrier_in group=0:2147483647\n", "0< " OUT("2147483647"),
        "0> cmd=barrier_in group=0\n", "0< " OUT("0") } },
    { "threads: two groups in flight from one rank", .size = 3, .steps = { "0+12", "1+12",
        "2+12", "0> cmd=barrier_in group=0,1:1\n", "0> cmd=barrier_in group=0,2:2\n",
        "0> cmd=barrier_in group=0,1:3\n", "0> cmd=get_appnum\n",
        "0< cmd=appnum rc=0 appnum=0\n", "2> cmd=barrier_in group=2,0:2\n", "2< " OUT("2"),
        "0< " OUT("2"), "1> cmd=barrier_in group=1,0:3\n", "1< " OUT("3"), "0< " OUT("3"),
        "1> cmd=barrier_in group=1,0:1\n", "1< " OUT("1"), "0< " OUT("1") } },
    { "threads: the next round of a group (epochs)", .size = 2, .steps = { "0+12", "1+12",
        "0> cmd=barrier_in group=0,1:1\n", "0> cmd=barrier_in group=0,1:1\n",
        "1> cmd=barrier_in group=0,1:1\n", "1< " OUT("1"), "0< " OUT("1"), "0=",
        "1> cmd=barrier_in group=0,1:1\n", "1< " OUT("1"), "0< " OUT("1") } },
    { "a group from a 1.1 client has a tag", .size = 1, .steps = { "0+1",
        "0> cmd=barrier_in group=0:4\n", "0< " OUT("4") } },
    { "not a member", .size = 3, .steps = { "0+12", "1+12", "0> cmd=barrier_in group=1,2\n",
        "0< cmd=barrier_out rc=3 msg=rank_0_is_not_in_the_group\n",
        "1> cmd=barrier_in group=1,2\n", "0> cmd=barrier_in group=1,2\n",
        "0< cmd=barrier_out rc=3 msg=rank_0_is_not_in_the_group\n", "2+12",
        "2> cmd=barrier_in group=1,2\n", "1< " OUT("0"), "2< " OUT("0") } },
    { "groups that are none", .size = 2, .steps = { "0+12",
        "0> cmd=barrier_in group=0,2\n",
        "0< cmd=barrier_out rc=6 msg=group:_ranks_of_0..1,_separated_by_commas,_wanted\n",
        "0> cmd=barrier_in group=0,,1\n",
        "0< cmd=barrier_out rc=6 msg=group:_ranks_of_0..1,_separated_by_commas,_wanted\n",
        "0> cmd=barrier_in group=-1\n",
        "0< cmd=barrier_out rc=6 msg=group:_ranks_of_0..1,_separated_by_commas,_wanted\n",
        "0> cmd=barrier_in group=EARTH\n",
        "0< cmd=barrier_out rc=6 msg=group:_ranks_of_0..1,_separated_by_commas,_wanted\n",
        "0> cmd=barrier_in group=\n",
        "0< cmd=barrier_out rc=6 msg=group:_ranks_of_0..1,_separated_by_commas,_wanted\n",
        "0> cmd=barrier_in group=0,99999999999999999999\n",
        "0< cmd=barrier_out rc=6 msg=group:_ranks_of_0..1,_separated_by_commas,_wanted\n",
        "0> cmd=barrier_in group=0:x\n",
        "0< cmd=barrier_out rc=6 msg=group:_<who>:<tag>_wanted,_tag_a_number\n",
        "0> cmd=barrier_in group=0:1x\n",
        "0< cmd=barrier_out rc=6 msg=group:_<who>:<tag>_wanted,_tag_a_number\n",
        "0> cmd=barrier_in group=WORLD:\n",
        "0< cmd=barrier_out rc=6 msg=group:_<who>:<tag>_wanted,_tag_a_number\n",
        "0> cmd=barrier_in group=WORLDS\n",
        "0< cmd=barrier_out rc=6 msg=group:_<who>:<tag>_wanted,_tag_a_number\n" } },

    /* --- ring --- */
    { "ring of one: both neighbours are itself", .steps = { "0+2",
        "0} cmd=ring;ring-count=1;ring-left=L;ring-right=R;", "0{ " RING("0", "R", "L") } },
    { "ring of two", .size = 2, .steps = { "0+2", "1+2",
        "1} cmd=ring;ring-count=1;ring-left=L1;ring-right=R1;", "1Wring",
        "0} cmd=ring;ring-count=1;ring-left=L0;ring-right=R0;",
        "0{ " RING("0", "R1", "L1"), "1{ " RING("1", "R0", "L0") } },
    { "ring of five", .size = 5, .steps = { "0+2", "1+2", "2+2", "3+2", "4+2",
        "3} cmd=ring;ring-left=l3;ring-right=r3;", "0} cmd=ring;ring-left=l0;ring-right=r0;",
        "4} cmd=ring;ring-left=l4;ring-right=r4;", "1} cmd=ring;ring-left=l1;ring-right=r1;",
        "2} cmd=ring;ring-left=l2;ring-right=r;;2;", "0{ " RING("0", "r4", "l1"),
        "1{ " RING("1", "r0", "l2"), "2{ " RING("2", "r1", "l3"),
        "3{ " RING("3", "r;;2", "l4"), "4{ " RING("4", "r3", "l0") } },
    { "ring twice, by threads", .size = 2, .steps = { "0+2", "1+2",
        "0} cmd=ring;thrid=1;ring-left=a;ring-right=b;",
        "0} cmd=ring;thrid=2;ring-left=c;ring-right=d;",
        "1} cmd=ring;ring-left=e;ring-right=f;",
        "0{ cmd=ring-response;thrid=1;rc=0;ring-count=0;ring-left=f;ring-right=e;",
        "1{ " RING("1", "b", "a"), "1} cmd=ring;ring-left=g;ring-right=h;",
        "0{ cmd=ring-response;thrid=2;rc=0;ring-count=0;ring-left=h;ring-right=g;",
        "1{ " RING("1", "d", "c") } },
    { "ring without values", .steps = { "0+2", "0} cmd=ring;", "0{ " RING("0", "", "") } },
    { "ring beside a fence", .size = 2, .steps = { "0+2", "1+2", "0} cmd=ring;thrid=1;",
        "1} cmd=kvs-fence;thrid=1;", "0=", "1=", "0} cmd=kvs-fence;",
        "0{ cmd=kvs-fence-response;rc=0;", "1{ cmd=kvs-fence-response;thrid=1;rc=0;",
        "1} cmd=ring;", "1{ " RING("1", "", ""),
        "0{ cmd=ring-response;thrid=1;rc=0;ring-count=0;ring-left=;ring-right=;" } },
    { "ring with a neighbour whose connection is gone", .size = 2, .steps = { "0+2", "1+2",
        "1} cmd=ring;ring-left=l1;ring-right=r1;", "1.", "0} cmd=ring;ring-left=l;ring-right=r;",
        "0{ cmd=ring-response;rc=14;errmsg=a neighbour has left;ring-count=0;" } },
    { "ring: the neighbours of who has left, and nobody else", .size = 4, .steps = { "0+2",
        "1+2", "2+2", "3+2", "1} cmd=ring;ring-left=l1;ring-right=r1;", "1.",
        "0} cmd=ring;ring-left=l0;ring-right=r0;", "2} cmd=ring;ring-left=l2;ring-right=r2;",
        "3} cmd=ring;thrid=7;ring-left=l3;ring-right=r3;",
        "0{ cmd=ring-response;rc=14;errmsg=a neighbour has left;ring-count=0;",
        "2{ cmd=ring-response;rc=14;errmsg=a neighbour has left;ring-count=2;",
        "3{ cmd=ring-response;thrid=7;rc=0;ring-count=3;ring-left=r2;ring-right=l0;" } },

    /* --- members that end --- */
    { "a member ends while others wait", .size = 3, .steps = { "0+1", "1+1", "2+1",
        "0> cmd=barrier_in\n", "2x", "?stuck 2 0", "1> cmd=barrier_in\n", "?stuck 2 0", "0=",
        "1=" } },
    { "a member has ended before others enter", .size = 2, .steps = { "0+1", "1+1", "1x", "0=",
        "0> cmd=barrier_in\n", "?stuck 1 0" } },
    { "a member that was in may end", .size = 2, .steps = { "0+1", "1+1",
        "1> cmd=barrier_in\n", "1.", "1x", "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=0\n",
        "0> cmd=barrier_in\n", "?stuck 1 0" } },
    { "an end concerns only the groups it is in", .size = 3, .steps = { "0+12", "1+12",
        "0> cmd=barrier_in group=0,1:1\n", "2x", "0=", "1> cmd=barrier_in group=0,1:1\n",
        "0< " OUT("1"), "1< " OUT("1") } },
    { "an end concerns each group it is missed in", .size = 3, .steps = { "0+12", "1+12",
        "2+12", "0> cmd=barrier_in group=0,2:1\n", "1> cmd=barrier_in group=1,2:1\n", "2x",
        "?stuck 2 0", "?stuck 2 1" } },
    { "nobody waits, nobody is told", .size = 2, .steps = { "0+1", "1+1", "1x", "0x" } },
    { "fault tolerant: those who wait are told", .size = 3, .options = FT, .steps = { "0+1",
        "1+2", "2+1", "0> cmd=barrier_in\n", "1} cmd=kvs-fence;thrid=1;", "2x",
        "0< cmd=barrier_out rc=14 msg=rank_2_has_ended\n",
        "1{ cmd=kvs-fence-response;thrid=1;rc=14;errmsg=rank 2 has ended;",
        "0> cmd=get key=PMI_dead_processes\n", "0< cmd=get_result rc=0 value=2\n" } },
    { "fault tolerant: those who come later too", .size = 3, .options = FT, .steps = { "0+1",
        "1+1", "2x", "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=14 msg=rank_2_has_ended\n",
        "1> cmd=barrier_in\n", "1< cmd=barrier_out rc=14 msg=rank_2_has_ended\n" } },
    { "fault tolerant: once each was told, they go on", .size = 4, .options = FT, .steps = {
        "0+1", "1+1", "2+1", "3+1", "2x", "0> cmd=barrier_in\n",
        "0< cmd=barrier_out rc=14 msg=rank_2_has_ended\n", "0> cmd=barrier_in\n", "0=",
        "1> cmd=barrier_in\n", "1< cmd=barrier_out rc=14 msg=rank_2_has_ended\n",
        "1> cmd=barrier_in\n", "0=", "3> cmd=barrier_in\n",
        "3< cmd=barrier_out rc=14 msg=rank_2_has_ended\n", "0=", "3> cmd=barrier_in\n",
        "0< cmd=barrier_out rc=0\n", "1< cmd=barrier_out rc=0\n",
        "3< cmd=barrier_out rc=0\n", "3> cmd=barrier_in\n", "0> cmd=barrier_in\n",
        "1> cmd=barrier_in\n", "0< cmd=barrier_out rc=0\n", "1< cmd=barrier_out rc=0\n",
        "3< cmd=barrier_out rc=0\n" } },
    { "fault tolerant: two die, one after the other", .size = 3, .options = FT, .steps = { "0+1",
        "1+1", "2+1", "2x", "0> cmd=barrier_in\n",
        "0< cmd=barrier_out rc=14 msg=rank_2_has_ended\n", "0> cmd=barrier_in\n", "1x",
        "0< cmd=barrier_out rc=14 msg=rank_1_has_ended\n", "0> cmd=barrier_in\n",
        "0< cmd=barrier_out rc=0\n" } },
    { "fault tolerant: two die at once", .size = 3, .options = FT, .steps = { "0+1", "1x", "2x",
        "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=14 msg=ranks_1,2_have_ended\n",
        "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=0\n" } },
    { "fault tolerant: who was in and died does not count for a fence of another tag",
      .size = 3, .options = FT, .steps = { "0+12", "1+12", "2+12",
        "2> cmd=barrier_in group=WORLD:5\n", "0> cmd=barrier_in group=WORLD:5\n", "2.", "2x",
        "0> cmd=barrier_in\n", "0< cmd=barrier_out rc=14 msg=rank_2_has_ended\n", "0=",
        "1> cmd=barrier_in group=WORLD:5\n", "0< " OUT("5"), "1< " OUT("5") } },
    { "fault tolerant: NODE is a fence of its own", .size = 3, .options = FT, .steps = { "0+12",
        "1+12", "2x", "0> cmd=barrier_in group=NODE\n",
        "0< cmd=barrier_out rc=14 msg=rank_2_has_ended\n",
        "1> cmd=barrier_in group=NODE\n", "1< cmd=barrier_out rc=14 msg=rank_2_has_ended\n",
        "0> cmd=barrier_in group=NODE\n", "1> cmd=barrier_in group=NODE\n", "0< " OUT("0"),
        "1< " OUT("0"), "0> cmd=barrier_in\n",
        "0< cmd=barrier_out rc=14 msg=rank_2_has_ended\n" } },
    { "fault tolerant: the survivors' group works", .size = 3, .options = FT, .steps = {
        "0+12", "1+12", "2x", "0> cmd=barrier_in group=0,1:1\n",
        "1> cmd=barrier_in group=0,1:1\n", "0< " OUT("1"), "1< " OUT("1") } },
    { "fault tolerant: in the order of requests", .size = 2, .options = FT, .steps = { "0+2",
        "0} cmd=kvs-fence;", "0} cmd=job-getid;", "0=", "1x",
        "0{ cmd=kvs-fence-response;rc=14;errmsg=rank 1 has ended;",
        "0{ cmd=job-getid-response;rc=0;jobid=job0;" } },
    { "fault tolerant: ring", .size = 2, .options = FT, .steps = { "0+2",
        "0} cmd=ring;ring-left=l;ring-right=r;", "1x",
        "0{ cmd=ring-response;rc=14;errmsg=rank 1 has ended;" } },
};

/* Open groups are counted; a ring that is refused behind a waiting request leaves
 * nothing behind that is freed twice. */
static void test_many_groups(void **state)
{
    struct fake *f = malloc(sizeof *f);
    char text[80];

    (void)state;
    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = 6 }));
    for (char r = '0'; r < '4'; r++) {
        snprintf(text, sizeof text, "%c+12", r);
        fake_step(f, text, SIZE_MAX);
        for (int i = 0; i < LIMIT_GROUPS / 4; i++) {
            snprintf(text, sizeof text, "%c> cmd=barrier_in group=%c,5:%d\n", r, r, i);
            fake_step(f, text, SIZE_MAX);
        }
    }
    fake_step(f, "4+2", SIZE_MAX);
    fake_step(f, "5+12", SIZE_MAX);
    fake_step(f, "4} cmd=info-getnodeattr;key=a;wait=TRUE;", SIZE_MAX);
    fake_step(f, "4} cmd=ring;ring-left=l;ring-right=r;", SIZE_MAX);
    fake_step(f, "4=", SIZE_MAX);
    fake_step(f, "5> cmd=barrier_in group=4,5:-1\n", SIZE_MAX);
    fake_step(f, "5< cmd=barrier_out rc=2 msg=more_than_4096_group_barriers_are_open\n",
              SIZE_MAX);
    fake_step(f, "5> cmd=barrier_in group=5,0:77\n", SIZE_MAX);
    fake_step(f, "5< cmd=barrier_out rc=0 tag=77\n", SIZE_MAX);
    fake_step(f, "0< cmd=barrier_out rc=0 tag=77\n", SIZE_MAX);
    fake_step(f, "4.", SIZE_MAX);
    fake_nothing_left(f);
    fake_close(f);
    free(f);
}

/* 1000 ranks: everybody leaves once, in each of three rounds. */
static void test_many_ranks(void **state)
{
    enum { RANKS = 1000 };
    static const char hello[] = "cmd=init pmi_version=1 pmi_subversion=1\n";
    static const char in[] = "cmd=barrier_in\n", out[] = "cmd=barrier_out rc=0\n";
    static struct fake_link links[RANKS];
    struct fake *f = malloc(sizeof *f);
    struct job *j;

    (void)state;
    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = 1 }));
    j = fake_job(f, "many", RANKS, 0, NULL, NULL);
    assert_non_null(j);
    for (int r = 0; r < RANKS; r++) {
        char text[sizeof hello];

        memcpy(text, hello, sizeof hello);
        links[r].fake = f;
        links[r].conn = conn_new(f->server, j, job_member(j, r), &links[r]);
        conn_input(links[r].conn, text, sizeof hello - 1);
        buf_consume(&links[r].sent, links[r].sent.len);
    }
    for (int round = 0; round < 3; round++) {
        for (int r = 0; r < RANKS; r++) {
            char text[sizeof in];

            memcpy(text, in, sizeof in);
            assert_int_equal(links[0].sent.len, 0);
            conn_input(links[r].conn, text, sizeof in - 1);
        }
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(links[r].sent.len, sizeof out - 1);
            assert_memory_equal(buf_bytes(&links[r].sent), out, sizeof out - 1);
            buf_consume(&links[r].sent, links[r].sent.len);
        }
    }
    for (int r = 0; r < RANKS; r++) {
        conn_free(links[r].conn);
        buf_clear(&links[r].sent);
    }
    fake_close(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test(test_many_groups), cmocka_unit_test(test_many_ranks),
    };

    return stories_run("fence", stories, N_OF(stories), more, N_OF(more));
}
