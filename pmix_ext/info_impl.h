/* info_impl.h - what the files behind the table of keys share: info_place.c (ranks and
 * nodes), info_array.c (all of one at once), info_keys.c (all else, and the table). */
#ifndef PMIX_EXT_INFO_IMPL_H
#define PMIX_EXT_INFO_IMPL_H

#include "pmix_ext/info.h"

/* Fill what a value holds; its type is the table's business.  Texts are copied, give_buf
 * takes what the buffer has. */
pmix_status_t info_give_u32(pmix_value_t *v, uint32_t n);
pmix_status_t info_give_rank(pmix_value_t *v, pmix_rank_t rank);
pmix_status_t info_give_u16(pmix_value_t *v, uint32_t n);
pmix_status_t info_give_text(pmix_value_t *v, const char *text);
pmix_status_t info_give_buf(pmix_value_t *v, struct buf *text);
pmix_status_t info_give_proc(pmix_value_t *v, const char *nspace, pmix_rank_t rank);

typedef pmix_status_t info_fn(struct ext *x, const struct info_of *of, pmix_value_t *v);
info_fn info_get_rank, info_get_procid, info_get_global_rank, info_get_app_rank,
        info_get_local_rank, info_get_node_rank, info_get_pid, info_get_state,
        info_get_exit_code, info_get_reincarnation, info_get_hostname, info_get_aliases,
        info_get_nodeid, info_get_local_size, info_get_node_size, info_get_local_peers,
        info_get_local_leader, info_get_local_procs, info_get_cpusets, info_get_cpuset, info_get_rank_array, info_get_app_array,
        info_get_node_array, info_get_job_array, info_get_session_array;

#endif
