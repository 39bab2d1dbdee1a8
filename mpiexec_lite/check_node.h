/* check_node.h - --check on a host: pmi2_proxy says what it finds there.
 *
 * It prints PROXY_MARKER's line as for a job, reads one line of JSON:
 *
 *     { "programs": [{ "argv0", "wdir", "path", "arch", "agent", "search", "libraries" }],
 *       "dir", "tmp", "binding": { "ranks", "each", "gpus", "bind", "by", "memory", "cpus",
 *       "draw": [RANK] } }
 *
 * (wdir, path, arch, agent: of -wdir, -path, -arch and, of its words the first, -fork-agent,
 * or absent; dir: the launcher's directory;
 * search, libraries, tmp: PATH, LD_LIBRARY_PATH and TMPDIR of ranks, or absent; binding: what
 * struct map_options has, absent where nobody is bound; draw: only if that is wanted), and answers with two:
 *
 *     { "clock": SECONDS }
 *     { "uid", "open_files", "processes", "locked_memory", "cgroup_memory", "cgroup_pids",
 *       "cgroup_cpus", "shm": BYTES, "shm_free", "full": [{ "folder", "why" }], "binding": PROBLEM,
 *       "drawn": [TEXT],
 *       "programs": [{ "path", "problem", "missing": [TEXT] }] }
 *
 * A limit is null where there is none; a problem is absent where there is none. */
#ifndef MPIEXEC_LITE_CHECK_NODE_H
#define MPIEXEC_LITE_CHECK_NODE_H

/* Serve one such dialogue; the exit status. */
int check_node_serve(int in, int out);

#endif
