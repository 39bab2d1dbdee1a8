/* limits.h - every maximum of the wire, with the reason for its value. */
#ifndef WIRE_LIMITS_H
#define WIRE_LIMITS_H

enum {
    /* Body of one PMI-2 frame from a rank.  Slurm's and MPICH's clients never
     * send more than 65536 bytes, length field included. */
    LIMIT_FRAME_RANK = 65536,

    /* Body of one reply to a rank: room for the names around a value that filled
     * a request, whose bytes may all be doubled ';'. */
    LIMIT_REPLY_RANK = LIMIT_FRAME_RANK + 256,

    /* Between our own processes, and with tools: all that six digits can say. */
    LIMIT_FRAME_LINK = 999999,

    /* One PMI-1 line: the same text as a frame, without its length. */
    LIMIT_LINE = 65536,

    /* One mcmd=spawn ... endcmd block.  Its lines hold argv, which the kernel
     * lets grow to megabytes; a shell line of 1 MiB is beyond what is in use. */
    LIMIT_BLOCK = 1 << 20,

    /* key=value pairs of one message.  A spawn has the most: 4096 arguments and
     * 1024 commands are beyond any known use. */
    LIMIT_PAIRS = 16384,

    /* Commands of one spawn, on either wire. */
    LIMIT_COMMANDS = 1024,

    /* Bytes of all blocks of one PMI-1 spawn, which are kept until the last has come:
     * 1024 of 1 MiB each are more than a server is to keep for one rank. */
    LIMIT_BLOCKS = 16 << 20,

    /* Key, without NUL: PMI2_MAX_KEYLEN, and what get_maxes advertises. */
    LIMIT_KEY = 64,

    /* Value, without NUL: whatever fits a frame, less what is around it in a put
     * and in the reply to a get, so that what could be put can be got. */
    LIMIT_VALUE = LIMIT_FRAME_RANK - 256,

    /* What PMI-1's get_maxes advertises and old PMI-2 clients can receive
     * (PMI2_MAX_VALLEN): longer values crash clients with 1024-byte buffers. */
    LIMIT_VALUE_OLD = 1024,

    /* kvsname_max.  MPICH computes its own value limit as about 1024 - this -
     * key limit - 30; 64 instead of Hydra's 256 gives values 192 bytes more. */
    LIMIT_JOBID = 64,

    /* What MPICH 4.0 can then receive as a value: see LIMIT_JOBID. */
    LIMIT_MAPPING_V1 = 1024 - LIMIT_JOBID - LIMIT_KEY - 32,

    /* Service names and ports of publish: MPI_MAX_PORT_NAME in MPICH is 1024. */
    LIMIT_SERVICE = 1024,
    LIMIT_PORT = 1024,

    /* What is published under a name, as it is kept: a port, or a value of pmix-publish
     * with its type and publisher.  LIMIT_NAMES of them stay within LIMIT_NAMES_BYTES if few
     * are so long. */
    LIMIT_PUBLISHED = 16384,

    /* Text of an abort: PMI_MAX_MSG_STRING of the PMI v2 API draft. */
    LIMIT_ABORT_TEXT = 1024,

    /* A thread id (thrid): clients send a pointer printed in hexadecimal. */
    LIMIT_THRID = 64,

    /* Requests of one connection that wait for their answer.  A client has one
     * a thread; the connection is not read while this many are open, those of tools and
     * extended ones of ranks of other nodes are refused beyond them. */
    LIMIT_PARKED = 1024,

    /* Bytes queued to one connection that does not read its answers: its own
     * requests are then not read either until it does. */
    LIMIT_QUEUED = 1 << 20,

    /* The same of all connections of one user to a resident server: who asks on without
     * reading, on many of them, is not to fill the memory of all. */
    LIMIT_UNREAD = 64 << 20,

    /* Data of the key-value space in one message between servers, and pieces of other
     * bulk; one value that is larger goes alone. */
    LIMIT_CHUNK = 32768,

    /* Bytes of names of fences that have failed, for those who do not know it yet. */
    LIMIT_FAILED = 1 << 20,

    /* What an answer about one key brings of the data beside it. */
    LIMIT_ANSWER = 262144,

    /* Text of an extended request that comes in parts: a value of 16 MiB, which base64 makes
     * a third longer, and what is around it. */
    LIMIT_WHOLE = 24 << 20,

    /* The same of all connections of one server, as far as they have been begun; who comes
     * then waits.  What they become is in memory as well meanwhile. */
    LIMIT_WHOLES = 256 << 20,

    /* Replies to one connection that are gathered before they are sent. */
    LIMIT_BATCH = 65536,

    /* Different group barriers (PMI-1.2) open at once in one job. */
    LIMIT_GROUPS = 4096,

    /* Published names of one server. */
    LIMIT_NAMES = 10000,

    /* Jobs of other launchers that one launcher's jobs are connected to. */
    LIMIT_FOREIGN = 4096
};

/* Bytes of one job's key-value space, of its attributes of one node, and of a
 * server's published names, former values included: beyond it a put is an error.
 * Offsets in the store are 32 bits wide. */
#define LIMIT_KVS_BYTES   ((size_t)1 << 30)
#define LIMIT_NODE_BYTES  ((size_t)256 << 20)
#define LIMIT_NAMES_BYTES ((size_t)64 << 20)

#endif
