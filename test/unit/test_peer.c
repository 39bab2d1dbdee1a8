/* test_peer.c - pmi2/peer, fence*, share and ask together: several servers serve one
 * job as one would.
 *
 * Each story is told with the servers side by side and in a chain, with little, some
 * and all data sent along with a release, and with messages of different links in
 * different order: the answers must be the same. */
#include "test/unit/fake_tree.h"

#include "test/unit/fake_memory.h"

#define PUT(r, k, v) r "> cmd=put key=" k " value=" v "\n", r "< cmd=put_result rc=0\n"
#define GOT(r, k, v) r "> cmd=get key=" k "\n", r "< cmd=get_result rc=0 value=" v "\n"
#define MISS(r, k) r "> cmd=get key=" k "\n", r "< cmd=get_result rc=1 msg=key_not_found\n"
#define IN(r) r "> cmd=barrier_in\n"
#define OUT(r) r "< cmd=barrier_out rc=0\n"
#define GIN(r, g) r "> cmd=barrier_in group=" g "\n"
#define GOUT(r, tag) r "< cmd=barrier_out rc=0 tag=" tag "\n"
#define DEAD(r, m) r "< cmd=barrier_out rc=14 msg=rank_" m "_has_ended\n"
#define RING(r, l, right) r "} cmd=ring;ring-count=1;ring-left=" l ";ring-right=" right ";"
#define RUNG(r, l, right) r "{ cmd=ring-response;rc=0;ring-count=" r ";ring-left=" l \
                          ";ring-right=" right ";"
#define FT { .fault_tolerant = true }
#define SPAWN(r, n) r "} cmd=spawn;ncmds=1;preputcount=1;ppkey0=p;ppval0=pre;subcmd=c;maxprocs=" n \
                    ";argc=1;argv0=a;infokeycount=0;"
#define MADE(r, id) r "{ cmd=spawn-response;rc=0;jobid=" id ";nerrs=0;"
#define GET_OF(r, id, k) r "} cmd=kvs-get;jobid=" id ";key=" k ";"
#define GOT_2(r, v) r "{ cmd=kvs-get-response;rc=0;found=TRUE;value=" v ";"
#define MISS_2(r) r "{ cmd=kvs-get-response;rc=0;found=FALSE;"
#define APART(r, id) r "{ cmd=kvs-get-response;rc=3;errmsg=job " id " is not connected to this one;"
#define PUT_2(r, k, v) r "} cmd=kvs-put;key=" k ";value=" v ";", r "{ cmd=kvs-put-response;rc=0;"
#define FENCE_2(r) r "} cmd=kvs-fence;"
#define FENCED(r) r "{ cmd=kvs-fence-response;rc=0;"
#define GET_2(r, k) r "} cmd=kvs-get;key=" k ";"
#define ONCE(r, k, v) r "} cmd=kvs-put;key=" k ";value=" v ";read-only=TRUE;", \
                      r "{ cmd=kvs-put-response;rc=0;"
#define TWICE(r, k, v) r "} cmd=kvs-put;key=" k ";value=" v ";", \
                       r "{ cmd=kvs-put-response;rc=4;errmsg=key " k " is read-only;"
#define REFUSED(r, k) r "{ cmd=kvs-fence-response;rc=4;errmsg=key " k \
                      " is read-only: another rank's put came first;"
#define START3 "0+1", "1+1", "2+1"
#define START4 START3, "3+1"

static const struct tree_story stories[] = {
    /* --- fence and data --- */
    { "a fence", "012", .steps = { START3, IN("0"), "0=", IN("2"), "2=", IN("1"), OUT("0"),
        OUT("1"), OUT("2") } },
    { "the root has no rank", "112", .steps = { START3, IN("0"), IN("2"), "2=", IN("1"),
        OUT("0"), OUT("1"), OUT("2") } },
    { "a middle one has no rank", "022", .steps = { START3, PUT("1", "k", "v"), IN("0"),
        IN("2"), "2=", IN("1"), OUT("0"), OUT("1"), OUT("2"), GOT("0", "k", "v") } },
    { "all ranks on one that is not the root", "222", .steps = { START3, PUT("1", "k", "v"),
        IN("0"), IN("2"), "2=", IN("1"), OUT("0"), OUT("1"), OUT("2"), GOT("0", "k", "v"),
        MISS("0", "x") } },
    { "what was put before a fence is there behind it", "012", .steps = { START3,
        PUT("0", "a", "1"), PUT("1", "b", "2"), PUT("2", "c", "3"), IN("0"), IN("1"), IN("2"),
        OUT("0"), OUT("1"), OUT("2"), GOT("0", "a", "1"), GOT("0", "b", "2"),
        GOT("0", "c", "3"), GOT("1", "a", "1"), GOT("1", "b", "2"), GOT("1", "c", "3"),
        GOT("2", "a", "1"), GOT("2", "b", "2"), GOT("2", "c", "3") } },
    { "several fences", "0122", .steps = { START4, PUT("0", "a", "1"), IN("0"), IN("1"),
        IN("2"), IN("3"), OUT("0"), OUT("1"), OUT("2"), OUT("3"), PUT("3", "b", "2"), IN("3"),
        IN("2"), IN("1"), IN("0"), OUT("0"), OUT("1"), OUT("2"), OUT("3"), GOT("0", "b", "2"),
        GOT("1", "b", "2"), GOT("1", "a", "1"), GOT("2", "a", "1"), IN("0"), IN("1"), IN("2"),
        IN("3"), OUT("0"), OUT("1"), OUT("2"), OUT("3"), GOT("3", "a", "1") } },
    { "a node sees its own puts at once", "0112", .steps = { START4, PUT("1", "k", "v"),
        GOT("1", "k", "v"), GOT("2", "k", "v") } },
    { "the index is the root's", "012", .steps = { START3, PUT("0", "a", "1"),
        PUT("2", "b", "2"), IN("0"), IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"),
        "2> cmd=getbyidx idx=0\n", "2< cmd=getbyidx_results rc=0 nextidx=1 key=a val=1\n",
        "1> cmd=getbyidx idx=1\n", "1< cmd=getbyidx_results rc=0 nextidx=2 key=b val=2\n",
        "0> cmd=getbyidx idx=1\n", "0< cmd=getbyidx_results rc=0 nextidx=2 key=b val=2\n",
        "0> cmd=getbyidx idx=2\n",
        "0< cmd=getbyidx_results rc=1 msg=key_not_found reason=no_more_keyvals\n",
        "2> cmd=getbyidx idx=2\n",
        "2< cmd=getbyidx_results rc=1 msg=key_not_found reason=no_more_keyvals\n" } },
    { "a value put again is the new one everywhere", "012", .steps = { START3,
        PUT("1", "k", "old"), IN("0"), IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"),
        GOT("0", "k", "old"), GOT("2", "k", "old"), PUT("1", "k", "new"), IN("0"), IN("1"),
        IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("0", "k", "new"), GOT("1", "k", "new"),
        GOT("2", "k", "new") } },
    { "put again by the root", "012", .steps = { START3, PUT("0", "k", "old"), IN("0"),
        IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("1", "k", "old"),
        GOT("2", "k", "old"), PUT("0", "k", "new"), PUT("0", "other", "x"), IN("0"), IN("1"),
        IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("1", "k", "new"), GOT("2", "k", "new"),
        GOT("2", "other", "x") } },
    { "put again by another node", "012", .steps = { START3, PUT("1", "k", "old"), IN("0"),
        IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("0", "k", "old"),
        GOT("2", "k", "old"), PUT("2", "k", "new"), IN("0"), IN("1"), IN("2"), OUT("0"),
        OUT("1"), OUT("2"), GOT("0", "k", "new"), GOT("1", "k", "new"),
        GOT("2", "k", "new") } },
    { "put again with the value of before", "012", .steps = { START3, PUT("1", "k", "a"),
        IN("0"), IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("2", "k", "a"),
        PUT("2", "k", "b"), PUT("2", "k", "a"), IN("0"), IN("1"), IN("2"), OUT("0"), OUT("1"),
        OUT("2"), GOT("0", "k", "a"), GOT("1", "k", "a"), GOT("2", "k", "a") } },
    { "put twice between two fences", "012", .steps = { START3, PUT("2", "k", "a"),
        GOT("2", "k", "a"), "1> cmd=get key=k\n", "1< cmd=get_result rc=1 msg=key_not_found\n",
        PUT("2", "k", "b"), IN("0"), IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"),
        GOT("0", "k", "b"), GOT("1", "k", "b"), GOT("2", "k", "b") } },
    { "a key that is put and asked for as another", "012", .steps = { START3,
        PUT("1", "k", "a"), PUT("2", "k", "b"), GOT("1", "k", "a"), GOT("2", "k", "b"),
        GOT("1", "k", "a"), GOT("2", "k", "b") } },
    { "the same key by two nodes: one value, the same for all", "012", .steps = { START3,
        PUT("1", "k", "a"), PUT("2", "x", "b"), "|stop", IN("0"), IN("2"), "|2>1", "|2>0",
        "|1>0", IN("1"), "|go", OUT("0"), OUT("1"), OUT("2"), PUT("1", "k", "c"), IN("0"),
        IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("0", "k", "c"), GOT("1", "k", "c"),
        GOT("2", "k", "c"), GOT("2", "x", "b") } },
    { "a missing key is looked for again after a release", "012", .steps = { START3,
        MISS("2", "k"), MISS("2", "k"), MISS("1", "k"), PUT("0", "k", "v"), IN("0"), IN("1"),
        IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("1", "k", "v"), GOT("2", "k", "v"),
        MISS("2", "l"), MISS("0", "l"), PUT("2", "l", "w"), GOT("2", "l", "w"), IN("0"),
        IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2"), GOT("0", "l", "w"),
        GOT("1", "l", "w") } },
    { "what the root has put is seen before its fence, or not: never wrong behind it", "012",
      .steps = { START3, PUT("0", "k", "a"), "2> cmd=get key=k\n",
        "2< cmd=get_result rc=0 value=a\n", PUT("0", "k", "b"), IN("0"), IN("1"), IN("2"),
        OUT("0"), OUT("1"), OUT("2"), GOT("1", "k", "b"), GOT("2", "k", "b") } },
    { "several ask for one key at once", "01222", .steps = { START4, "4+1", PUT("0", "k", "v"),
        IN("0"), IN("1"), IN("2"), IN("3"), IN("4"), OUT("0"), OUT("1"), OUT("2"), OUT("3"),
        OUT("4"), "|stop", "2> cmd=get key=k\n", "3> cmd=get key=k\n", "4> cmd=get key=m\n",
        "1> cmd=get key=k\n", "|go", "2< cmd=get_result rc=0 value=v\n",
        "3< cmd=get_result rc=0 value=v\n", "4< cmd=get_result rc=1 msg=key_not_found\n",
        "1< cmd=get_result rc=0 value=v\n" } },
    { "who asks and leaves", "0122", .steps = { START4, PUT("0", "k", "v"), IN("0"), IN("1"),
        IN("2"), IN("3"), OUT("0"), OUT("1"), OUT("2"), OUT("3"), "|stop",
        "2> cmd=get key=k\n", "3> cmd=get key=k\n", "|go", "2< cmd=get_result rc=0 value=v\n",
        "3< cmd=get_result rc=0 value=v\n", "|stop", "2> cmd=get key=m\n", "2.", "2x", "|go",
        MISS("3", "m"), MISS("1", "m") } },
    { "PMI-2, with threads", "012", .steps = { "0+2", "1+2", "2+2",
        "1} cmd=kvs-put;key=k;value=a;;b;", "1{ cmd=kvs-put-response;rc=0;",
        "0} cmd=kvs-fence;thrid=1;", "1} cmd=kvs-fence;", "2} cmd=kvs-fence;thrid=2;",
        "0{ cmd=kvs-fence-response;thrid=1;rc=0;", "1{ cmd=kvs-fence-response;rc=0;",
        "2{ cmd=kvs-fence-response;thrid=2;rc=0;", "2} cmd=kvs-get;thrid=9;key=k;",
        "2{ cmd=kvs-get-response;thrid=9;rc=0;found=TRUE;value=a;;b;",
        "2} cmd=kvs-get;key=nix;", "2{ cmd=kvs-get-response;rc=0;found=FALSE;" } },
    { "a wait holds up what comes behind it on one stream", "012", .steps = { "0+2", "1+2",
        "2+2", "|stop", "2} cmd=kvs-get;key=k;", "2} cmd=job-getid;", "2=", "|go",
        "2{ cmd=kvs-get-response;rc=0;found=FALSE;",
        "2{ cmd=job-getid-response;rc=0;jobid=job0;" } },

    /* --- who is late --- */
    { "the next fence begins while others leave the last", "012", .steps = { "0+2", "1+2",
        "2+2", "|stop", "0} cmd=kvs-fence;thrid=1;", "0} cmd=kvs-fence;thrid=2;",
        "1} cmd=kvs-fence;thrid=1;", "1} cmd=kvs-fence;thrid=2;", "2} cmd=kvs-fence;thrid=1;",
        "2} cmd=kvs-put;thrid=3;key=k;value=v;", "2{ cmd=kvs-put-response;thrid=3;rc=0;",
        "2} cmd=kvs-fence;thrid=2;", "|go",
        "0{ cmd=kvs-fence-response;thrid=1;rc=0;", "1{ cmd=kvs-fence-response;thrid=1;rc=0;",
        "2{ cmd=kvs-fence-response;thrid=1;rc=0;", "0{ cmd=kvs-fence-response;thrid=2;rc=0;",
        "1{ cmd=kvs-fence-response;thrid=2;rc=0;", "2{ cmd=kvs-fence-response;thrid=2;rc=0;",
        "0} cmd=kvs-get;key=k;", "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=v;" } },
    { "a put behind the entry, by a thread, is newer than the release", "012", .steps = {
        "0+2", "1+2", "2+2", "2} cmd=kvs-put;key=k;value=a;", "2{ cmd=kvs-put-response;rc=0;",
        "2} cmd=kvs-fence;thrid=1;", "1} cmd=kvs-fence;", "2} cmd=kvs-put;thrid=2;key=k;value=b;",
        "2{ cmd=kvs-put-response;thrid=2;rc=0;", "0} cmd=kvs-fence;",
        "0{ cmd=kvs-fence-response;rc=0;", "1{ cmd=kvs-fence-response;rc=0;",
        "2{ cmd=kvs-fence-response;thrid=1;rc=0;", "2} cmd=kvs-get;key=k;",
        "2{ cmd=kvs-get-response;rc=0;found=TRUE;value=b;", "0} cmd=kvs-get;key=k;",
        "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=a;", "0} cmd=kvs-fence;",
        "1} cmd=kvs-fence;", "2} cmd=kvs-fence;", "0{ cmd=kvs-fence-response;rc=0;",
        "1{ cmd=kvs-fence-response;rc=0;", "2{ cmd=kvs-fence-response;rc=0;",
        "0} cmd=kvs-get;key=k;", "0{ cmd=kvs-get-response;rc=0;found=TRUE;value=b;",
        "1} cmd=kvs-get;key=k;", "1{ cmd=kvs-get-response;rc=0;found=TRUE;value=b;" } },

    /* --- groups --- */
    { "a group of two nodes", "0122", .steps = { "0+12", "1+12", "2+12", "3+12",
        PUT("3", "k", "v"), GIN("1", "1,3:5"), "1=", GIN("3", "3,1:5"), GOUT("1", "5"),
        GOUT("3", "5"), GOT("1", "k", "v"), GOT("0", "k", "v") } },
    { "a group of one node is nobody else's business", "0122", .steps = { "0+12", "1+12",
        "2+12", "3+12", "|stop", GIN("2", "2,3:1"), GIN("3", "2,3:1"), GOUT("2", "1"),
        GOUT("3", "1") } },
    { "a group of the root alone", "0012", .steps = { "0+12", "1+12", "2+12", "3+12",
        PUT("0", "k", "v"), GIN("0", "0,1:1"), GIN("1", "0,1:1"), GOUT("0", "1"),
        GOUT("1", "1"), GOT("1", "k", "v"), GIN("0", "WORLD:2"), GIN("1", "WORLD:2"),
        GIN("2", "WORLD:2"), GIN("3", "WORLD:2"), GOUT("0", "2"), GOUT("1", "2"),
        GOUT("2", "2"), GOUT("3", "2"), GOT("3", "k", "v"), GOT("2", "k", "v") } },
    { "a group with nobody of the root", "0122", .steps = { "0+12", "1+12", "2+12", "3+12",
        GIN("2", "1,2:7"), GIN("1", "1,2:7"), GOUT("1", "7"), GOUT("2", "7"), GIN("1", "1,2:7"),
        GIN("2", "1,2:7"), GOUT("1", "7"), GOUT("2", "7") } },
    { "NODE means each node's own", "0122", .steps = { "0+12", "1+12", "2+12", "3+12",
        GIN("0", "NODE:1"), GOUT("0", "1"), GIN("2", "NODE:1"), "2=", GIN("1", "NODE:1"),
        GOUT("1", "1"), GIN("3", "NODE:1"), GOUT("2", "1"), GOUT("3", "1") } },
    { "several groups at once, and the world", "0122", .steps = { "0+12", "1+12", "2+12",
        "3+12", GIN("0", "0,1:1"), GIN("0", "0,2:2"), GIN("0", "WORLD:3"), GIN("1", "WORLD:3"),
        GIN("2", "WORLD:3"), GIN("2", "0,2:2"), GOUT("0", "2"), GOUT("2", "2"),
        GIN("3", "WORLD:3"), GOUT("0", "3"), GOUT("1", "3"), GOUT("2", "3"), GOUT("3", "3"),
        GIN("1", "1,0:1"), GOUT("0", "1"), GOUT("1", "1") } },
    { "a group's fence brings what others on its nodes have put", "0122", .steps = { "0+12",
        "1+12", "2+12", "3+12", PUT("2", "k", "v"), GIN("3", "0,3:1"), GIN("0", "0,3:1"),
        GOUT("0", "1"), GOUT("3", "1"), GOT("0", "k", "v"), GOT("1", "k", "v") } },

    /* --- ring --- */
    { "ring of three nodes", "012", .steps = { "0+2", "1+2", "2+2", RING("0", "l0", "r0"),
        RING("2", "l2", "r2"), RING("1", "l1", "r1"), RUNG("0", "r2", "l1"),
        RUNG("1", "r0", "l2"), RUNG("2", "r1", "l0") } },
    { "ring: neighbours here and there", "01122", .steps = { "0+2", "1+2", "2+2", "3+2", "4+2",
        RING("4", "l4", "r4"), RING("0", "l0", "r0"), RING("2", "l2", "r2"),
        RING("1", "l1", "r1"), RING("3", "l3", "r;;3"), RUNG("0", "r4", "l1"),
        RUNG("1", "r0", "l2"), RUNG("2", "r1", "l3"), RUNG("3", "r2", "l4"),
        RUNG("4", "r;;3", "l0") } },
    { "ring: ranks in turns, twice, and data beside it", "0120", .steps = { "0+2", "1+2",
        "2+2", "3+2", "0} cmd=kvs-put;key=k;value=v;", "0{ cmd=kvs-put-response;rc=0;",
        RING("0", "l0", "r0"), RING("1", "l1", "r1"), RING("2", "l2", "r2"),
        RING("3", "l3", "r3"), RUNG("0", "r3", "l1"), RUNG("1", "r0", "l2"),
        RUNG("2", "r1", "l3"), RUNG("3", "r2", "l0"), RING("3", "L3", "R3"),
        RING("2", "L2", "R2"), RING("1", "L1", "R1"), RING("0", "L0", "R0"),
        RUNG("0", "R3", "L1"), RUNG("1", "R0", "L2"), RUNG("2", "R1", "L3"),
        RUNG("3", "R2", "L0") } },
    { "ring on one node only", "222", .steps = { "0+2", "1+2", "2+2", RING("0", "l0", "r0"),
        RING("2", "l2", "r2"), RING("1", "l1", "r1"), RUNG("0", "r2", "l1"),
        RUNG("1", "r0", "l2"), RUNG("2", "r1", "l0") } },

    /* --- names and attributes --- */
    { "names are the root's", "012", .steps = { START3,
        "2> cmd=publish_name service=s port=p q\n", "2< cmd=publish_result rc=0 info=ok\n",
        "1> cmd=lookup_name service=s\n", "1< cmd=lookup_result rc=0 info=ok port=p q\n",
        "0> cmd=lookup_name service=s\n", "0< cmd=lookup_result rc=0 info=ok port=p q\n",
        "1> cmd=publish_name service=s port=x\n",
        "1< cmd=publish_result rc=4 info=fail msg=service_s_is_published_already\n",
        "1> cmd=unpublish_name service=s\n", "1< cmd=unpublish_result rc=0 info=ok\n",
        "2> cmd=lookup_name service=s\n",
        "2< cmd=lookup_result rc=1 info=fail msg=service_not_found\n",
        "2> cmd=unpublish_name service=s\n",
        "2< cmd=unpublish_result rc=14 info=fail msg=service_not_found\n" } },
    { "names, PMI-2", "012", .steps = { "0+2", "1+2", "2+2",
        "2} cmd=name-publish;thrid=a;name=s;port=p;;1;", "2{ cmd=name-publish-response;thrid=a;rc=0;",
        "1} cmd=name-lookup;name=s;",
        "1{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;;1;port=p;;1;",
        "1} cmd=name-lookup;name=t;",
        "1{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;",
        "2} cmd=name-publish;name=e;port=;", "2{ cmd=name-publish-response;rc=0;",
        "0} cmd=name-lookup;name=e;", "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=;port=;",
        "1} cmd=name-lookup;name=e;", "1{ cmd=name-lookup-response;rc=0;found=TRUE;value=;port=;",
        } },
    { "who publishes and leaves", "012", .steps = { START3, "|stop",
        "2> cmd=publish_name service=s port=p\n", "2.", "|go", "1> cmd=lookup_name service=s\n",
        "1< cmd=lookup_result rc=0 info=ok port=p\n" } },
    { "attributes of a node stay there", "0112", .steps = { "0+2", "1+2", "2+2", "3+2",
        "1} cmd=info-putnodeattr;key=a;value=x;", "1{ cmd=info-putnodeattr-response;rc=0;",
        "2} cmd=info-getnodeattr;key=a;",
        "2{ cmd=info-getnodeattr-response;rc=0;found=TRUE;value=x;",
        "0} cmd=info-getnodeattr;key=a;", "0{ cmd=info-getnodeattr-response;rc=0;found=FALSE;",
        "3} cmd=info-getnodeattr;key=a;", "3{ cmd=info-getnodeattr-response;rc=0;found=FALSE;",
        "1} cmd=info-getnodeattr;key=localRanks;",
        "1{ cmd=info-getnodeattr-response;rc=0;found=TRUE;value=1,2;",
        "3} cmd=info-getjobattr;key=localRanksCount;",
        "3{ cmd=info-getjobattr-response;rc=0;found=TRUE;value=1;" } },

    /* --- who ends --- */
    { "stuck: the missing one is at the root", "012", .steps = { START3, IN("2"), "0x",
        "?stuck 0 2", "2=" } },
    { "stuck: it is elsewhere", "012", .steps = { START3, IN("0"), "2x", "?stuck 2 0" } },
    { "stuck: neither is at the root", "012", .steps = { START3, IN("1"), "2x",
        "?stuck 2 1" } },
    { "stuck: it has ended before", "012", .steps = { START3, "2x", "0=", IN("1"),
        "?stuck 2 1" } },
    { "stuck: the one that waited has ended too, and then another waits", "012", .steps = {
        START3, IN("0"), "0.", "0x", "1x", IN("2"), "?stuck 1 2" } },
    { "stuck: two on one node", "0122", .steps = { START4, IN("2"), "3x", "?stuck 3 2" } },
    { "stuck: two on one node, ended before", "0122", .steps = { START4, "3x", IN("2"),
        "?stuck 3 2" } },
    { "stuck: a group across nodes", "0122", .steps = { "0+12", "1+12", "2+12", "3+12",
        GIN("2", "2,1:1"), "1x", "?stuck 1 2" } },
    { "stuck: a group of one node", "0122", .steps = { "0+12", "1+12", "2+12", "3+12",
        GIN("2", "2,3:1"), "3x", "?stuck 3 2" } },
    { "stuck: not where it is no member", "0122", .steps = { "0+12", "1+12", "2+12", "3+12",
        GIN("2", "2,1:1"), "3x", "0x", GIN("1", "2,1:1"), GOUT("1", "1"), GOUT("2", "1") } },
    { "stuck: not where it was in", "012", .steps = { START3, IN("2"), "2.", "2x", IN("0"),
        IN("1"), OUT("0"), OUT("1"), IN("1"), "?stuck 2 1" } },
    { "stuck: in a ring", "012", .steps = { "0+2", "1+2", "2+2", RING("1", "a", "b"), "2x",
        "?stuck 2 1" } },
    { "stuck: the entry comes behind the end", "012", .steps = { START3, "|stop", "2x",
        IN("1"), "|go", "?stuck 2 1" } },
    { "all end as they should", "012", .steps = { START3, "0> cmd=finalize\n",
        "0< cmd=finalize_ack rc=0\n", "1> cmd=finalize\n", "1< cmd=finalize_ack rc=0\n",
        "2> cmd=finalize\n", "2< cmd=finalize_ack rc=0\n", "0x", "1x", "2x" } },

    { "fault tolerant: those who wait are told", "012", FT, .steps = { START3, IN("0"),
        IN("1"), "2x", DEAD("0", "2"), DEAD("1", "2"), GOT("0", "PMI_dead_processes", "2"),
        GOT("1", "PMI_dead_processes", "2") } },
    { "fault tolerant: those who come later too", "012", FT, .steps = { START3, "2x", IN("0"),
        DEAD("0", "2"), IN("0"), "0=", IN("1"), DEAD("1", "2"), IN("1"), OUT("0"), OUT("1"),
        IN("1"), IN("0"), OUT("0"), OUT("1") } },
    { "fault tolerant: one of two on a node", "0122", FT, .steps = { START4, IN("2"), IN("0"),
        "3x", DEAD("2", "3"), DEAD("0", "3"), IN("1"), DEAD("1", "3"),
        GOT("0", "PMI_dead_processes", "3"), GOT("1", "PMI_dead_processes", "3"),
        GOT("2", "PMI_dead_processes", "3") } },
    { "fault tolerant: the root's rank", "012", FT, .steps = { START3, IN("2"), "0x",
        DEAD("2", "0"), GOT("1", "PMI_dead_processes", "0"),
        GOT("2", "PMI_dead_processes", "0") } },
    { "fault tolerant: the survivors' group works, with data", "0122", FT, .steps = { "0+12",
        "1+12", "2+12", "3+12", PUT("3", "k", "v"), "1x", GIN("0", "0,2,3:1"),
        GIN("2", "0,2,3:1"), GIN("3", "0,2,3:1"), GOUT("0", "1"), GOUT("2", "1"),
        GOUT("3", "1"), GOT("0", "k", "v") } },
    { "fault tolerant: who was in before it died is in", "012", FT, .steps = { START3,
        PUT("2", "k", "v"), IN("2"), "2.", "2x", IN("0"), IN("1"), OUT("0"), OUT("1"),
        GOT("0", "k", "v"), GOT("1", "k", "v"), IN("0"), DEAD("0", "2") } },
    { "fault tolerant: a group across nodes", "0122", FT, .steps = { "0+12", "1+12", "2+12",
        "3+12", GIN("1", "1,2:4"), "2x", "1< cmd=barrier_out rc=14 msg=rank_2_has_ended\n",
        GIN("1", "1,3:4"), GIN("3", "1,3:4"), GOUT("1", "4"), GOUT("3", "4") } },
    { "fault tolerant: ended after finalize is not dead", "012", FT, .steps = { START3,
        "2> cmd=finalize\n", "2< cmd=finalize_ack rc=0\n", "2x", "0> cmd=get key=PMI_dead_processes\n",
        "0< cmd=get_result rc=1 msg=key_not_found\n", IN("1"), DEAD("1", "2") } },
    { "fault tolerant: data of a fence that failed comes with the next", "0122", FT, .steps = {
        "0+12", "1+12", "2+12", "3+12", PUT("1", "k", "v"), IN("1"), "3x",
        "1< cmd=barrier_out rc=14 msg=rank_3_has_ended\n", GIN("0", "0,1,2:1"),
        GIN("1", "0,1,2:1"), GIN("2", "0,1,2:1"), GOUT("0", "1"), GOUT("1", "1"),
        GOUT("2", "1"), GOT("0", "k", "v"), GOT("2", "k", "v") } },
    { "fault tolerant: an entry that crosses the failure", "012", FT, .steps = { START3,
        "|stop", IN("0"), "2x", IN("1"), "|go", DEAD("0", "2"), DEAD("1", "2"), IN("1"),
        "1=", IN("0"), OUT("0"), OUT("1") } },
    { "fault tolerant: a shrunken job has data and deaths", "01223", FT, .steps = { START4, "4+1",
        PUT("2", "k", "v"), "3x", IN("0"), IN("1"), IN("2"), IN("4"), DEAD("0", "3"),
        DEAD("1", "3"), DEAD("2", "3"), DEAD("4", "3"), IN("4"), IN("2"), IN("1"), "1=",
        PUT("0", "x", "y"), IN("0"), OUT("0"), OUT("1"), OUT("2"), OUT("4"),
        GOT("1", "k", "v"), GOT("4", "x", "y"), GOT("1", "PMI_alive_processes", "0,1,2,4"),
        IN("1"), "4x", DEAD("1", "4"), IN("0"), DEAD("0", "4"), IN("2"), DEAD("2", "4"),
        IN("0"), IN("1"), IN("2"), OUT("0"), OUT("1"), OUT("2") } },
    { "fault tolerant: a fence of another tag that was sent up", "0122", FT, .steps = { "0+12",
        "1+12", "2+12", "3+12", GIN("2", "WORLD:5"), GIN("3", "WORLD:5"), "3.", "3x",
        GIN("2", "WORLD"), DEAD("2", "3"), DEAD("2", "3"), GIN("0", "WORLD:5"),
        DEAD("0", "3"), GIN("0", "WORLD:5"), GIN("1", "WORLD:5"), DEAD("1", "3"),
        GIN("2", "WORLD:5"), GIN("1", "WORLD:5"), GOUT("0", "5"), GOUT("1", "5"),
        GOUT("2", "5") } },
    { "fault tolerant: a rank goes with its node", "012", FT, .steps = { START3, IN("0"),
        "|lost 1", DEAD("0", "1"), IN("2"), DEAD("2", "1"), IN("2"), IN("0"), OUT("0"),
        OUT("2"),
        GOT("0", "PMI_dead_processes", "1"), GOT("2", "PMI_dead_processes", "1"), } },
    { "fault tolerant: two die", "0123", FT, .steps = { START4, "1x", "3x", GOT("0", "PMI_dead_processes", "1,3"),
        GOT("2", "PMI_dead_processes", "1,3") } },

    /* --- keys that are put once --- */
    { "read-only: known everywhere after the fence", "0122", .steps = { "0+2", "1+2", "2+2",
        "3+2", ONCE("1", "k", "v"), TWICE("1", "k", "w"), FENCE_2("0"), FENCE_2("1"),
        FENCE_2("2"), FENCE_2("3"), FENCED("0"), FENCED("1"), FENCED("2"), FENCED("3"),
        GET_2("3", "k"), GOT_2("3", "v"), TWICE("3", "k", "x"), TWICE("0", "k", "x"),
        GET_2("2", "k"), GOT_2("2", "v") } },
    { "read-only: not a key that was put before", "01", .steps = { "0+2", "1+2",
        PUT_2("1", "k", "v"), "1} cmd=kvs-put;key=k;value=w;read-only=TRUE;",
        "1{ cmd=kvs-put-response;rc=4;errmsg=key k was put before, and cannot be read-only;",
        FENCE_2("0"), FENCE_2("1"), FENCED("0"), FENCED("1"), GET_2("0", "k"),
        GOT_2("0", "v") } },
    { "read-only: a later put of another node", "012", .steps = { "0+2", "1+2", "2+2",
        ONCE("0", "k", "v"), PUT_2("2", "k", "w"), GET_2("2", "k"), GOT_2("2", "w"),
        FENCE_2("0"), FENCE_2("1"), FENCE_2("2"), FENCED("0"), FENCED("1"), REFUSED("2", "k"),
        GET_2("2", "k"), GOT_2("2", "v"), GET_2("1", "k"), GOT_2("1", "v"), FENCE_2("0"),
        FENCE_2("1"), FENCE_2("2"), FENCED("0"), FENCED("1"), FENCED("2"), GET_2("2", "k"),
        GOT_2("2", "v") } },
    { "read-only: of two nodes, after a fence that did not bring it", "012", .steps = { "0+2",
        "1+2", "2+2", PUT_2("1", "k", "v"), FENCE_2("0"), FENCE_2("1"), FENCE_2("2"),
        FENCED("0"), FENCED("1"), FENCED("2"), ONCE("0", "once", "a"), FENCE_2("0"),
        FENCE_2("1"), FENCE_2("2"), FENCED("0"), FENCED("1"), FENCED("2"), GET_2("2", "once"),
        GOT_2("2", "a"), TWICE("2", "once", "b") } },

    /* --- jobs that ranks start --- */
    { "spawn: from every node", "012", .steps = { "0+2", "1+2", "2+2", SPAWN("2", "3"),
        "?spawn 2: 3 c [a]", "2=", "2W spawn", "*done job1@012", MADE("2", "job1"),
        SPAWN("0", "1"), "?spawn 0: 1 c [a]", "*done job2@1", MADE("0", "job2"), "C+2",
        SPAWN("C", "1"), "?spawn 102: 1 c [a]", "*refused 0 no room",
        "C{ cmd=spawn-response;rc=14;errmsg=no room;nerrs=0;" } },
    { "spawn: PMI-1, blocks", "012", .steps = { START3,
        "2> mcmd=spawn\nnprocs=1\nexecname=x y\ntotspawns=2\nspawnssofar=1\narg1=a;b\n"
        "preput_num=1\npreput_key_0=p\npreput_val_0=a;b c\nendcmd\n", "2=",
        "2> mcmd=spawn\nnprocs=2\nexecname=z\ntotspawns=2\nspawnssofar=2\narg1=\ninfo_num=1\n"
        "info_key_0=wdir\ninfo_val_0=/;\nendcmd\n", "?spawn 2: 1 x y [a;b] : 2 z [] {wdir=/;}",
        "*done job1@002", "2< cmd=spawn_result rc=0 jobid=job1\n", "C+1",
        GOT("C", "p", "a;b c") } },
    { "spawn: bytes that are not UTF-8", "012", .steps = { "0+2", "1+2", "2+2",
        "1} cmd=spawn;subcmd=\xff\xfe;maxprocs=1;argv0=\x80;infokey0=\xc0;infoval0=\xff;",
        "?spawn 1: 1 \xff\xfe [\x80] {\xc0=\xff}", "*done job1", MADE("1", "job1") } },
    { "spawn: what is wrong is said where it is asked", "012", .steps = { "0+2", "1+2", "2+2",
        "|stop", "2} cmd=spawn;ncmds=1;subcmd=c;maxprocs=1;argc=2;argv0=a;",
        "2{ cmd=spawn-response;rc=10;errmsg=command 1: 2 arguments were announced, 1 came;"
        "nerrs=0;" } },
    { "spawn: codes", "012", .steps = { "0+2", "1+2", "2+1", SPAWN("1", "3"),
        "?spawn 1: 3 c [a]", "*done job1@012 0,2",
        "1{ cmd=spawn-response;rc=0;jobid=job1;errcodes=0,2,0;nerrs=0;", SPAWN("1", "2"),
        "?spawn 1: 2 c [a]", "*refused 2,2 not there", "1{ cmd=spawn-response;rc=14;"
        "errmsg=not there;errcodes=2,2;nerrs=0;",
        "2> mcmd=spawn\nnprocs=3\nexecname=c\nendcmd\n", "?spawn 2: 3 c", "*done job2@012 13",
        "2< cmd=spawn_result rc=0 jobid=job2 errcodes=13,0,0\n" } },
    { "spawn: several at once, and by threads", "012", .steps = { "0+2", "1+2", "2+2", "|stop",
        "2} cmd=spawn;thrid=a;subcmd=x;maxprocs=1;", "2} cmd=spawn;thrid=b;subcmd=y;maxprocs=1;",
        "|go", "?spawn 2: 1 x", "?spawn 2: 1 y", "*made job1@2", "*refused 0 no",
        "2{ cmd=spawn-response;thrid=b;rc=14;errmsg=no;nerrs=0;", "*done job1",
        "2{ cmd=spawn-response;thrid=a;rc=0;jobid=job1;nerrs=0;" } },
    { "spawn: of two nodes at once", "012", .steps = { "0+2", "1+2", "2+2", SPAWN("1", "1"),
        "?spawn 1: 1 c [a]", "*made job1@2", SPAWN("2", "1"), "?spawn 2: 1 c [a]", "*done job2@1",
        "1=", MADE("2", "job2"), "*done job1", MADE("1", "job1"), "*linked job1 job2" } },
    { "spawn: the one that asks leaves before it is asked for, and after", "0122", .steps = {
        "0+2", "1+2", "2+2", "3+2", "|stop", SPAWN("2", "1"), "2.", "2x", "|go",
        "?spawn 2: 1 c [a]", "*done job1@2", SPAWN("3", "1"), "?spawn 3: 1 c [a]", "3.",
        "*refused 0 no", "1=" } },
    { "spawn: the node that asks is lost meanwhile", "0123", .steps = { "0+2", "1+2", "2+2",
        "3+2", SPAWN("3", "1"), SPAWN("1", "1"), "?spawn 3: 1 c [a]", "?spawn 1: 1 c [a]",
        "*made job1@1", "*made job2@0", "|cut 3", "*done job1", "*done job2", MADE("1", "job2"),
        "3=" } },
    { "spawn: the job that asks is gone meanwhile", "01", .steps = { "0+2", "1+2",
        SPAWN("1", "2"), "?spawn 1: 2 c [a]", "*done job1@12", MADE("1", "job1"), "B+2",
        SPAWN("B", "1"), "?spawn 101: 1 c [a]", "B.", "|stop", "*gone job1", "*done job2@2",
        "|go", "*apart job0 job2", "A+2", GET_OF("A", "", "p"), GOT_2("A", "pre") } },
    { "spawn: the job that asks is gone while the answer is on its way", "01", .steps = { "0+2",
        "1+2", SPAWN("1", "2"), "?spawn 1: 2 c [a]", "*done job1@12", MADE("1", "job1"), "B+2",
        SPAWN("B", "1"), "?spawn 101: 1 c [a]", "|stop", "*done job2@1", "*gone job1", "|go",
        "*linked job0 job0", "K+2", GET_OF("K", "job0", "x"), APART("K", "job0") } },
    { "spawn: the job that asks is gone while the question is on its way", "01", .steps = {
        "0+2", "1+2", SPAWN("1", "2"), "?spawn 1: 2 c [a]", "*done job1@12", MADE("1", "job1"),
        "B+2", "|stop", SPAWN("B", "1"), GET_OF("B", "job0", "k"), "*gone job1", "|go",
        SPAWN("1", "1"), "?spawn 1: 1 c [a]", "*refused 0 no",
        "1{ cmd=spawn-response;rc=14;errmsg=no;nerrs=0;" } },
    { "what was put for the new job is there on every node", "012", .steps = { "0+2", "1+2",
        "2+2", SPAWN("2", "3"), "?spawn 2: 3 c [a]", "*made job1@012", "A+2", "B+2", "C+2",
        GET_OF("C", "", "p"), GOT_2("C", "pre"), GET_OF("A", "", "p"), GOT_2("A", "pre"),
        GET_OF("B", "job1", "p"), GOT_2("B", "pre"), FENCE_2("A"), FENCE_2("B"), FENCE_2("C"),
        FENCED("A"), FENCED("B"), FENCED("C"), GET_OF("C", "", "p"), GOT_2("C", "pre"),
        "*done job1", MADE("2", "job1") } },
    { "fences and data of two jobs do not touch", "012", .steps = { "0+2", "1+2", "2+2",
        SPAWN("0", "3"), "?spawn 0: 3 c [a]", "*done job1@210", MADE("0", "job1"), "A+2", "B+2",
        "C+2", PUT_2("A", "k", "of1"), PUT_2("0", "k", "of0"), FENCE_2("A"), FENCE_2("0"),
        FENCE_2("B"), FENCE_2("1"), "A=", "0=", FENCE_2("C"), FENCED("A"), FENCED("B"),
        FENCED("C"), "0=", GET_OF("C", "", "k"), GOT_2("C", "of1"), FENCE_2("2"), FENCED("0"),
        FENCED("1"), FENCED("2"), GET_OF("2", "", "k"), GOT_2("2", "of0") } },
    { "a rank of the new job ends: its own fence is stuck", "012", .steps = { "0+2", "1+2",
        "2+2", SPAWN("0", "2"), "?spawn 0: 2 c [a]", "*done job1@12", MADE("0", "job1"), "A+2",
        "B+2", FENCE_2("1"), FENCE_2("A"), "Bx", "?stuck 1 0", FENCE_2("0"), FENCE_2("2"),
        FENCED("0"), FENCED("1"), FENCED("2") } },

    /* --- keys of other jobs, connecting --- */
    { "keys of a connected job, from every node", "012", .steps = { "0+2", "1+2", "2+2",
        PUT_2("0", "k", "v"), SPAWN("2", "2"), "?spawn 2: 2 c [a]", "*done job1@12",
        MADE("2", "job1"), "A+2", "B+2", GET_OF("A", "job0", "k"), GOT_2("A", "v"),
        GET_OF("B", "job0", "k"), GOT_2("B", "v"), GET_OF("B", "job0", "x"), MISS_2("B"),
        GET_OF("1", "job1", "p"), GOT_2("1", "pre"), GET_OF("0", "job1", "p"),
        GOT_2("0", "pre"), GET_OF("0", "job1", "x"), MISS_2("0") } },
    { "keys that were put below are there behind a fence", "012", .steps = { "0+2", "1+2",
        "2+2", SPAWN("2", "2"), "?spawn 2: 2 c [a]", "*done job1@12", MADE("2", "job1"), "A+2",
        "B+2", PUT_2("1", "k", "v"), GET_OF("A", "job0", "k"), MISS_2("A"), FENCE_2("0"),
        FENCE_2("1"), FENCE_2("2"), FENCED("0"), FENCED("1"), FENCED("2"),
        GET_OF("A", "job0", "k"), GOT_2("A", "v"), PUT_2("A", "own", "w"), FENCE_2("A"),
        FENCE_2("B"), FENCED("A"), FENCED("B"), GET_OF("1", "job1", "own"),
        GOT_2("1", "w") } },
    { "an answer about another job is not mixed up with one about the own", "012", .steps = {
        "0+2", "1+2", "2+2", SPAWN("2", "1"), "?spawn 2: 1 c [a]", "*done job1@0",
        MADE("2", "job1"), "|stop", "2} cmd=kvs-get;thrid=a;key=p;",
        "2} cmd=kvs-get;thrid=b;jobid=job1;key=p;", "2} cmd=kvs-get;thrid=c;jobid=job1;key=x;",
        "|go", "2{ cmd=kvs-get-response;thrid=a;rc=0;found=FALSE;",
        "2{ cmd=kvs-get-response;thrid=b;rc=0;found=TRUE;value=pre;",
        "2{ cmd=kvs-get-response;thrid=c;rc=0;found=FALSE;" } },
    { "PMI-1: a key of a connected job, from below", "012", .steps = { START3,
        PUT("0", "k", "v w"), "2> mcmd=spawn\nnprocs=1\nexecname=c\nendcmd\n", "?spawn 2: 1 c",
        "*done job1@2", "2< cmd=spawn_result rc=0 jobid=job1\n", "A+1",
        "A> cmd=get kvsname=job0 key=k\n", "A< cmd=get_result rc=0 value=v w\n",
        "A> cmd=get kvsname=job0 key=x\n", "A< cmd=get_result rc=1 msg=key_not_found\n",
        "A> cmd=get kvsname=job7 key=x\n",
        "A< cmd=get_result rc=3 msg=there_is_no_job_job7_here\n" } },
    { "job-connect and job-disconnect from below", "012", .steps = { "0+2", "1+2", "2+2",
        SPAWN("1", "1"), "?spawn 1: 1 c [a]", "*done job1@2", MADE("1", "job1"), SPAWN("2", "1"),
        "?spawn 2: 1 c [a]", "*done job2@1", MADE("2", "job2"), "A+2", "K+2",
        "2} cmd=job-disconnect;jobid=job1;", "2{ cmd=job-disconnect-response;rc=0;",
        "*apart job0 job1", GET_OF("A", "job0", "k"), APART("A", "job0"),
        GET_OF("A", "job2", "p"), APART("A", "job2"), "A} cmd=job-connect;thrid=t;jobid=job2;",
        "A{ cmd=job-connect-response;thrid=t;rc=0;kvscopy=FALSE;", "*linked job0 job1",
        GET_OF("A", "job2", "p"), GOT_2("A", "pre"), "K} cmd=job-disconnect;jobid=job9;",
        "K{ cmd=job-disconnect-response;rc=3;errmsg=there is no job job9 here;",
        "1} cmd=job-disconnect;jobid=job1;", "1{ cmd=job-disconnect-response;rc=3;"
        "errmsg=job job1 is not connected to this one;", "2} cmd=job-connect;jobid=job9;",
        "2{ cmd=job-connect-response;rc=3;errmsg=there is no job job9 here;kvscopy=FALSE;" } },
    { "a job ends while others ask about it", "012", .steps = { "0+2", "1+2", "2+2",
        SPAWN("2", "1"), "?spawn 2: 1 c [a]", "*done job1@2", MADE("2", "job1"), "|stop",
        GET_OF("2", "job1", "p"), GET_OF("1", "job1", "p"), "*gone job1", "|go",
        "2{ cmd=kvs-get-response;rc=3;errmsg=there is no job job1 here;",
        "1{ cmd=kvs-get-response;rc=3;errmsg=there is no job job1 here;" } },
    { "its last words come when it is forgotten", "012", .steps = { "0+2", "1+2", "2+2",
        SPAWN("0", "2"), "?spawn 0: 2 c [a]", "*done job1@12", MADE("0", "job1"), "A+2", "B+2",
        PUT_2("B", "k", "v"), "|stop", FENCE_2("B"), "A.", "B.", "Ax", "Bx", "*gone job1", "|go",
        FENCE_2("0"), FENCE_2("1"), FENCE_2("2"), FENCED("0"), FENCED("1"), FENCED("2") } },
};

static const char *const shapes[] = { "-000", "-012", "-001", "-011" };
static const size_t releases[] = { 0, 40, 1 << 18 };

static void story_run(const struct tree_story *s, const char *shape, size_t release,
                      unsigned lot, size_t piece, bool show)
{
    struct fake_tree *t = malloc(sizeof *t);
    struct server_options o = s->options;

    assert_non_null(t);
    o.release_bytes = release;
    print_message("  shape %s, release %zu, lot %u, %s\n", shape, release, lot,
                  piece == 1 ? "byte by byte" : "whole");
    assert_true(tree_open(t, shape, s->where, &o, lot));
    tree_tell(t, s->steps, piece, show);
    tree_close(t);
    free(t);
}

static void tree_story_test(void **state)
{
    const struct tree_story *s = *state;
    unsigned lot = 0;

    for (size_t i = 0; i < N_OF(shapes); i++)
        for (size_t k = 0; k < N_OF(releases); k++) {
            story_run(s, shapes[i], releases[k], ++lot, SIZE_MAX, true);
            story_run(s, shapes[i], releases[k], ++lot, 1, false);
        }
}

/* --- messages that make no sense --------------------------------------- */

enum { BELOW_ROOT, BELOW_MIDDLE, ABOVE };    /* the root, from below; node 1, from either */

#define REC "\1\0\0\0\1\0\0\0\1\0\0\0" "k\0v\0"
#define DATA(text) text, sizeof text - 1

static const struct {
    const char *name;
    int         who;
    const char *body, *payload;
    size_t      len;
    const char *error;                   /* in the text; NULL: it is taken */
} bad[] = {
    { "not the core's", BELOW_ROOT, "cmd=hello;job=job0;", "", 0, "?" },
    { "no job", BELOW_ROOT, "cmd=fence-in;", "", 0, "no job" },
    { "a job that has ended", BELOW_ROOT, "cmd=gone;job=job1;ranks=1;", "", 0, NULL },
    { "a job that has ended, from above", ABOVE, "cmd=answer;job=job1;id=1;rc=0;", "", 0, NULL },
    { "a job that has ended, from the wrong side", BELOW_ROOT,
      "cmd=answer;job=job1;id=1;rc=0;", "", 0, "answer: comes from below" },
    { "an entry", BELOW_ROOT, "cmd=fence-in;job=job0;fence=WORLD:0;count=1;seen=0;rank=1;",
      "", 0, NULL },
    { "an entry without a fence", BELOW_ROOT, "cmd=fence-in;job=job0;count=1;seen=0;", "", 0,
      "no fence" },
    { "an entry into nothing", BELOW_ROOT, "cmd=fence-in;job=job0;fence=;count=1;seen=0;", "", 0,
      "fence-in: group" },
    { "an entry of nobody", BELOW_ROOT, "cmd=fence-in;job=job0;fence=WORLD:0;count=0;seen=0;",
      "", 0, "fence-in" },
    { "an entry of too many", BELOW_ROOT,
      "cmd=fence-in;job=job0;fence=WORLD:0;count=5;seen=0;", "", 0, "fence-in" },
    { "more than the group has", BELOW_ROOT,
      "cmd=fence-in;job=job0;fence=0,1:0;count=3;seen=0;", "", 0, "more ranks" },
    { "an entry without count", BELOW_ROOT, "cmd=fence-in;job=job0;fence=WORLD:0;seen=0;", "", 0,
      "no count" },
    { "an entry without seen", BELOW_ROOT, "cmd=fence-in;job=job0;fence=WORLD:0;count=1;", "", 0,
      "no seen" },
    { "an entry of a rank that is none", BELOW_ROOT,
      "cmd=fence-in;job=job0;fence=WORLD:0;count=1;seen=0;rank=4;", "", 0, "fence-in" },
    { "an entry of one node", BELOW_ROOT, "cmd=fence-in;job=job0;fence=NODE:0;count=1;seen=0;",
      "", 0, "one node" },
    { "an entry from above", ABOVE, "cmd=fence-in;job=job0;fence=WORLD:0;count=1;seen=0;", "", 0,
      "from above" },
    { "an entry with cut data", BELOW_ROOT,
      "cmd=fence-in;job=job0;fence=WORLD:0;count=1;seen=0;", DATA("\1\0\0"), "fence-in" },
    { "an entry with cut data on its way", BELOW_MIDDLE,
      "cmd=fence-in;job=job0;fence=WORLD:0;count=1;seen=0;", DATA("\1\0\0"), "fence-in" },
    { "a release from below", BELOW_ROOT, "cmd=fence-out;job=job0;fence=WORLD:0;seq=1;", "", 0,
      "from below" },
    { "a release", ABOVE, "cmd=fence-out;job=job0;fence=WORLD:0;seq=1;", DATA(REC), NULL },
    { "a release without number", ABOVE, "cmd=fence-out;job=job0;fence=WORLD:0;", "", 0,
      "no seq" },
    { "a release of number 0", ABOVE, "cmd=fence-out;job=job0;fence=WORLD:0;seq=0;", "", 0,
      "fence-out" },
    { "a release, and what is held", ABOVE,
      "cmd=fence-out;job=job0;fence=WORLD:0;seq=2;held=1;", "", 0, NULL },
    { "held of release 0", ABOVE, "cmd=fence-out;job=job0;fence=WORLD:0;seq=1;held=0;", "", 0,
      "held" },
    { "a release with cut data", ABOVE, "cmd=fence-out;job=job0;fence=WORLD:0;seq=1;",
      DATA("\1\0\0\0\1\0\0\0\1\0\0\0k\0v"), "fence-out" },
    { "data", BELOW_ROOT, "cmd=kvs-data;job=job0;", DATA(REC REC), NULL },
    { "no data", BELOW_ROOT, "cmd=kvs-data;job=job0;", "", 0, NULL },
    { "no data, from above", ABOVE, "cmd=kvs-data;job=job0;", "", 0, NULL },
    { "data of a rank that is none", BELOW_ROOT, "cmd=kvs-data;job=job0;",
      DATA("\4\0\0\0\1\0\0\0\1\0\0\0" "k\0v\0"), "rank 4" },
    { "the same from above", ABOVE, "cmd=kvs-data;job=job0;",
      DATA("\4\0\0\0\1\0\0\0\1\0\0\0" "k\0v\0"), "rank 4" },
    { "data with an empty key", BELOW_ROOT, "cmd=kvs-data;job=job0;",
      DATA("\1\0\0\0\0\0\0\0\1\0\0\0" "\0v\0"), "kvs-data" },
    { "data that is not UTF-8", BELOW_ROOT, "cmd=kvs-data;job=job0;",
      DATA("\1\0\0\0\1\0\0\0\1\0\0\0" "k\0\377\0"), "UTF-8" },
    { "a key to be dropped, from below", BELOW_ROOT, "cmd=kvs-data;job=job0;",
      DATA("\0\0\0\0\1\0\0\0\377\377\377\377" "k\0"), "from below" },
    { "a key to be dropped", ABOVE, "cmd=kvs-data;job=job0;",
      DATA("\0\0\0\0\1\0\0\0\377\377\377\377" "k\0"), NULL },
    { "data that is noise", ABOVE, "cmd=kvs-data;job=job0;", DATA("abcdefghijklmnopqrst"),
      "kvs-data" },
    { "a question", BELOW_ROOT, "cmd=kvs-get;job=job0;id=1;key=k;", "", 0, NULL },
    { "a question from above", ABOVE, "cmd=kvs-get;job=job0;id=1;key=k;", "", 0,
      "kvs-get: comes from above" },
    { "an entry by its number, from above", ABOVE, "cmd=kvs-at;job=job0;id=1;name=0;", "", 0,
      "kvs-at: comes from above" },
    { "a question about what is held", BELOW_ROOT, "cmd=kvs-get;job=job0;id=1;", "", 0, NULL },
    { "the same without number", BELOW_ROOT, "cmd=kvs-get;job=job0;", "", 0, "kvs-get" },
    { "the same on its way", BELOW_MIDDLE, "cmd=kvs-get;job=job0;id=1;", "", 0, NULL },
    { "the same from above", ABOVE, "cmd=kvs-get;job=job0;id=1;", "", 0,
      "kvs-get: comes from above" },
    { "a question without number", BELOW_ROOT, "cmd=kvs-get;job=job0;key=k;", "", 0, "kvs-get" },
    { "a question of number -1", BELOW_ROOT, "cmd=kvs-get;job=job0;id=-1;key=k;", "", 0,
      "kvs-get" },
    { "a question of 65 bytes", BELOW_ROOT, "cmd=kvs-get;job=job0;id=1;key="
      "0123456789012345678901234567890123456789012345678901234567890123x;", "", 0, "kvs-get" },
    { "an answer to nothing", ABOVE, "cmd=answer;job=job0;id=1;rc=0;", DATA(REC),
      "no question 1" },
    { "an answer from below", BELOW_ROOT, "cmd=answer;job=job0;id=1;rc=0;", "", 0,
      "answer: comes from below" },
    { "an answer without rc", ABOVE, "cmd=answer;job=job0;id=1;", "", 0, "answer" },
    { "who waits", BELOW_ROOT, "cmd=fence-wait;job=job0;fence=WORLD:0;rank=1;", "", 0, NULL },
    { "nobody waits", BELOW_ROOT, "cmd=fence-wait;job=job0;fence=WORLD:0;", "", 0,
      "fence-wait" },
    { "who waits, from above", ABOVE, "cmd=fence-wait;job=job0;fence=WORLD:0;rank=1;", "", 0,
      "from above" },
    { "who misses, from below", BELOW_ROOT, "cmd=fence-check;job=job0;fence=WORLD:0;", "", 0,
      "from below" },
    { "who misses", ABOVE, "cmd=fence-check;job=job0;fence=WORLD:0;", "", 0, NULL },
    { "who misses where", ABOVE, "cmd=fence-check;job=job0;", "", 0, "no fence" },
    { "a missing one", BELOW_ROOT, "cmd=fence-missing;job=job0;fence=WORLD:0;rank=1;", "", 0,
      NULL },
    { "a missing one without name", BELOW_ROOT, "cmd=fence-missing;job=job0;fence=WORLD:0;", "",
      0, "fence-missing" },
    { "a missing one from above", ABOVE, "cmd=fence-missing;job=job0;fence=WORLD:0;rank=1;", "",
      0, "from above" },
    { "a failure", ABOVE, "cmd=fence-fail;job=job0;fence=WORLD:0;seq=1;rank=1;", "", 0, NULL },
    { "a failure without number", ABOVE, "cmd=fence-fail;job=job0;fence=WORLD:0;rank=1;", "", 0,
      "no seq" },
    { "a failure of nobody", ABOVE, "cmd=fence-fail;job=job0;fence=WORLD:0;seq=1;", "", 0,
      "fence-fail" },
    { "a failure from below", BELOW_ROOT,
      "cmd=fence-fail;job=job0;fence=WORLD:0;seq=1;rank=1;", "", 0, "from below" },
    { "stuck", BELOW_ROOT, "cmd=fence-stuck;job=job0;rank=1;waiting=2;", "", 0, NULL },
    { "stuck without who waits", BELOW_ROOT, "cmd=fence-stuck;job=job0;rank=1;", "", 0,
      "no waiting" },
    { "stuck, rank 4", BELOW_ROOT, "cmd=fence-stuck;job=job0;rank=4;waiting=1;", "", 0,
      "fence-stuck" },
    { "stuck, from above", ABOVE, "cmd=fence-stuck;job=job0;rank=1;waiting=2;", "", 0,
      "from above" },
    { "gone", BELOW_ROOT, "cmd=gone;job=job0;ranks=1,2;", "", 0, NULL },
    { "gone, of none", BELOW_ROOT, "cmd=gone;job=job0;", "", 0, "gone" },
    { "gone, rank 4", BELOW_ROOT, "cmd=gone;job=job0;ranks=1,4;", "", 0, "ranks=4" },
    { "gone, rank -1", BELOW_ROOT, "cmd=gone;job=job0;ranks=-1;", "", 0, "ranks=-1" },
    { "gone, no number", BELOW_ROOT, "cmd=gone;job=job0;ranks=x;", "", 0, "ranks=x" },
    { "gone, too large a number", BELOW_ROOT,
      "cmd=gone;job=job0;ranks=99999999999999999999999999;", "", 0, "ranks=9999" },
    { "gone, from above", ABOVE, "cmd=gone;job=job0;ranks=1;", "", 0, "from above" },
    { "dead", ABOVE, "cmd=dead;job=job0;ranks=1,3;", "", 0, NULL },
    { "dead, of none", ABOVE, "cmd=dead;job=job0;", "", 0, "ranks" },
    { "dead, rank 4", ABOVE, "cmd=dead;job=job0;ranks=4;", "", 0, "ranks=4" },
    { "report", ABOVE, "cmd=report;job=job0;", "", 0, NULL },
    { "report from below", BELOW_ROOT, "cmd=report;job=job0;", "", 0, "from below" },
    { "publish", BELOW_ROOT, "cmd=name-publish;job=job0;id=1;name=a;port=b;", "", 0, NULL },
    { "publish nothing", BELOW_ROOT, "cmd=name-publish;job=job0;id=1;", "", 0, "name-publish" },
    { "publish without number", BELOW_ROOT, "cmd=name-publish;job=job0;name=a;", "", 0,
      "name-publish" },
    { "publish from above", ABOVE, "cmd=name-publish;job=job0;id=1;name=a;port=b;", "", 0,
      "name-publish: comes from above" },
    { "unpublish from above", ABOVE, "cmd=name-unpublish;job=job0;id=1;name=a;", "", 0,
      "name-unpublish: comes from above" },
    { "lookup from above", ABOVE, "cmd=name-lookup;job=job0;id=1;name=a;", "", 0,
      "name-lookup: comes from above" },
    { "connect", BELOW_ROOT, "cmd=job-connect;job=job0;id=1;name=job0;", "", 0, NULL },
    { "connect to nothing", BELOW_ROOT, "cmd=job-connect;job=job0;id=1;", "", 0, "job-connect" },
    { "connect without number", BELOW_ROOT, "cmd=job-connect;job=job0;name=job0;", "", 0,
      "job-connect" },
    { "connect from above", ABOVE, "cmd=job-connect;job=job0;id=1;name=a;", "", 0,
      "job-connect: comes from above" },
    { "disconnect from above", ABOVE, "cmd=job-disconnect;job=job0;id=1;name=a;", "", 0,
      "job-disconnect: comes from above" },
    { "a key of a job", BELOW_ROOT, "cmd=job-get;job=job0;id=1;name=job0;key=k;", "", 0, NULL },
    { "a key of a job, without key", BELOW_ROOT, "cmd=job-get;job=job0;id=1;name=job0;", "", 0,
      NULL },
    { "a key of no job", BELOW_ROOT, "cmd=job-get;job=job0;id=1;key=k;", "", 0, "job-get" },
    { "a key of a job, from above", ABOVE, "cmd=job-get;job=job0;id=1;name=a;key=k;", "", 0,
      "job-get: comes from above" },
    { "a spawn", BELOW_ROOT, "cmd=spawn;job=job0;id=1;rank=1;",
      DATA("    30cmd=spawn;subcmd=a;maxprocs=1;"), NULL },
    { "a spawn without payload", BELOW_ROOT, "cmd=spawn;job=job0;id=1;rank=1;", "", 0, "spawn" },
    { "a spawn of noise", BELOW_ROOT, "cmd=spawn;job=job0;id=1;rank=1;", DATA("     4a=b;"),
      "spawn" },
    { "a spawn of nothing", BELOW_ROOT, "cmd=spawn;job=job0;id=1;rank=1;",
      DATA("    10cmd=spawn;"), "spawn" },
    { "a spawn of a rank that is none", BELOW_ROOT, "cmd=spawn;job=job0;id=1;rank=4;",
      DATA("    30cmd=spawn;subcmd=a;maxprocs=1;"), "spawn" },
    { "a spawn without number", BELOW_ROOT, "cmd=spawn;job=job0;rank=1;",
      DATA("    30cmd=spawn;subcmd=a;maxprocs=1;"), "no id" },
    { "a spawn, and more behind it", BELOW_ROOT, "cmd=spawn;job=job0;id=1;rank=1;",
      DATA("    30cmd=spawn;subcmd=a;maxprocs=1;x"), "not one frame" },
    { "a spawn that is cut off", BELOW_ROOT, "cmd=spawn;job=job0;id=1;rank=1;",
      DATA("    31cmd=spawn;subcmd=a;maxprocs=1"), "not one frame" },
    { "a spawn from above", ABOVE, "cmd=spawn;job=job0;id=1;rank=1;",
      DATA("    30cmd=spawn;subcmd=a;maxprocs=1;"), "spawn: comes from above" },
    { "a spawn on its way", BELOW_MIDDLE, "cmd=spawn;job=job0;id=1;rank=1;",
      DATA("    30cmd=spawn;subcmd=a;maxprocs=1;"), NULL },
    { "a spawn on its way, of a rank that is none", BELOW_MIDDLE,
      "cmd=spawn;job=job0;id=1;rank=4;", DATA("    30cmd=spawn;subcmd=a;maxprocs=1;"), "spawn" },
    { "lookup on its way", BELOW_MIDDLE, "cmd=name-lookup;job=job0;id=1;name=a;", "", 0, NULL },
};

static void test_bad(void **state)
{
    static const struct server_options o = { .release_bytes = 100 };
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct fake_tree *t = malloc(sizeof *t);
        struct tree_wire *w;
        struct buf frame = BUF_INIT;
        char *payload = malloc(bad[i].len ? bad[i].len : 1);
        struct err e = { 0 };
        int rc;

        assert_non_null(t);
        assert_non_null(payload);
        print_message("  %s\n", bad[i].name);
        assert_true(tree_open(t, "-01", "0122", &o, 1));
        t->any_answer = true;
        w = bad[i].who == BELOW_ROOT ? &t->node[1].to[0]
          : bad[i].who == ABOVE ? &t->node[0].to[1] : &t->node[2].to[1];
        fake_frame(&frame, bad[i].body);
        memcpy(payload, bad[i].payload, bad[i].len);
        rc = tree_hand(w, buf_bytes(&frame), frame.len, payload, bad[i].len, &e);
        if (!bad[i].error ? rc != 0 : *bad[i].error == '?' ? rc != 1 :
            rc != -1 || !strstr(e.text, bad[i].error)) {
            print_error("    %s: %d '%s', wanted '%s'\n", bad[i].body, rc, e.text,
                        bad[i].error ? bad[i].error : "");
            wrong++;
        }
        tree_settle(t);
        buf_clear(&frame);
        free(payload);
        tree_close(t);
        free(t);
    }
    assert_int_equal(wrong, 0);
}

/* --- no memory --------------------------------------------------------- */

/* A story with one allocation refused: whatever is answered, nothing breaks and
 * nothing is leaked. */
static void story_without(const struct tree_story *s, size_t release)
{
    struct server_options o = s->options;
    long n = 0;

    o.release_bytes = release;
    for (;; n++) {
        struct fake_tree *t = calloc(1, sizeof *t);
        long live = memory_live;
        bool opened;

        assert_non_null(t);
        memory_after(n);
        opened = tree_open(t, "-011", s->where, &o, (unsigned)n);
        t->any_answer = true;
        for (int i = 0; i < t->n; i++)
            t->node[i].fake.careless = true;
        for (int i = 0; opened && s->steps[i] && !t->no_memory && !t->refused.code; i++)
            tree_step(t, s->steps[i], SIZE_MAX);
        memory_end();
        tree_close(t);
        assert_int_equal(memory_live, live);
        free(t);
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
        story_without(&stories[i], i % 2 ? 0 : 1 << 18);
}

int main(void)
{
    struct CMUnitTest tests[N_OF(stories) + 2];

    for (size_t i = 0; i < N_OF(stories); i++)
        tests[i] = (struct CMUnitTest){ stories[i].name, tree_story_test, NULL, NULL,
                                        (void *)&stories[i] };
    tests[N_OF(stories)] = (struct CMUnitTest)cmocka_unit_test(test_bad);
    tests[N_OF(stories) + 1] = (struct CMUnitTest)cmocka_unit_test(test_no_memory);
    return _cmocka_run_group_tests("peer", tests, N_OF(tests), NULL, NULL);
}
