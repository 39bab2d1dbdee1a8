/* util_names.c - keys, names of jobs, ranks; see pmix_ext_values.h. */
#include "pmix_ext/pmix_ext.h"

/* dest has most + 1 bytes, all of which are written: what is compared or sent as a block
 * holds nothing of before.  src need not end when it is longer. */
static void load(char *dest, const char *src, size_t most)
{
    size_t n = src ? strnlen(src, most) : 0;

    if (n)
        memmove(dest, src, n);
    memset(dest + n, 0, most + 1 - n);
}

void PMIx_Load_key(char *key, const char *src)
{
    load(key, src, PMIX_MAX_KEYLEN);
}

void PMIx_Load_nspace(char *nspace, const char *src)
{
    load(nspace, src, PMIX_MAX_NSLEN);
}

void PMIx_Load_procid(pmix_proc_t *p, const char *nspace, pmix_rank_t rank)
{
    PMIx_Load_nspace(p->nspace, nspace);
    p->rank = rank;
}

void PMIx_Xfer_procid(pmix_proc_t *dest, const pmix_proc_t *src)
{
    memmove(dest, src, sizeof *dest);
}

bool PMIx_Check_key(const char *key, const char *str)
{
    return key && str && !strncmp(key, str, PMIX_MAX_KEYLEN);
}

bool PMIx_Check_reserved_key(const char *key)
{
    return key && !strncmp(key, "pmix", 4);
}

bool PMIx_Nspace_invalid(const char *nspace)
{
    return !nspace || !*nspace;
}

bool PMIx_Check_nspace(const char *a, const char *b)
{
    return PMIx_Nspace_invalid(a) || PMIx_Nspace_invalid(b) || !strncmp(a, b, PMIX_MAX_NSLEN);
}

bool PMIx_Check_rank(pmix_rank_t a, pmix_rank_t b)
{
    return a == b || a == PMIX_RANK_WILDCARD || b == PMIX_RANK_WILDCARD;
}

bool PMIx_Check_procid(const pmix_proc_t *a, const pmix_proc_t *b)
{
    return PMIx_Check_nspace(a->nspace, b->nspace) && PMIx_Check_rank(a->rank, b->rank);
}

bool PMIx_Procid_invalid(const pmix_proc_t *p)
{
    return PMIx_Nspace_invalid(p->nspace) || p->rank == PMIX_RANK_INVALID;
}

void PMIx_Multicluster_nspace_construct(char *target, const char *cluster,
                                        const char *nspace)
{
    size_t n = strnlen(cluster, PMIX_MAX_NSLEN);

    PMIx_Load_nspace(target, NULL);
    if (n + strnlen(nspace, PMIX_MAX_NSLEN) >= PMIX_MAX_NSLEN)
        return;
    load(target, cluster, n);
    target[n] = ':';
    load(target + n + 1, nspace, PMIX_MAX_NSLEN - n - 1);
}

void PMIx_Multicluster_nspace_parse(const char *target, char *cluster, char *nspace)
{
    size_t n = strcspn(target, ":");

    PMIx_Load_nspace(cluster, NULL);
    load(cluster, target, n);
    PMIx_Load_nspace(nspace, target[n] ? target + n + 1 : NULL);
}
