/* ext.h - the layer of extended commands ("pmix-...") of one launcher, as its host sees it.
 *
 * It lives at the root only: commands of ranks on other nodes, and of tools, come to it
 * over connections of the core like those of the root's own ranks (pmi2/relay.c).  Like the
 * core it never touches a descriptor, a clock or the event loop; what it needs to know or
 * to have done it asks of the host by the operations below, each of which returns at once
 * and never calls back before that.
 *
 * The commands: pmix_ext/PROTOCOL.md.  Not thread-safe; one for each server. */
#ifndef PMIX_EXT_EXT_H
#define PMIX_EXT_EXT_H

#include "pmi2/server.h"
#include "pmix_ext/facts.h"

struct ext;

enum ext_log { EXT_LOG_STDOUT, EXT_LOG_STDERR, EXT_LOG_SYSLOG, EXT_LOG_RECORD, EXT_LOG_STORE };

struct ext_ops {
    /* This host's name. */
    const char *(*hostname)(void *host);
    /* Wall clock, seconds since 1970. */
    double (*now)(void *host);
    const struct fact_ops *facts;        /* borrowed */
    /* A line for a log, without its end, safe to show; nspace: who says it.  0, or an errno;
     * ENOTSUP: there is no such log. */
    int (*log)(void *host, enum ext_log to, int priority, const char *nspace, const char *line,
               size_t len);
};

/* Adds its commands to the server, which it is then a part of.  NULL and e. */
struct ext *ext_new(struct server *s, const struct ext_ops *ops, void *host, struct err *e);
/* Of a survey that the host was asked for (facts.h): a rank, usage NULL if that was not
 * wanted; the memory of the server itself, bytes; its end. */
void        ext_seen(struct ext *x, unsigned id, int rank, const struct fact_seen *seen,
                     const struct fact_usage *usage);
void        ext_seen_server(struct ext *x, unsigned id, int node, uint64_t rss);
void        ext_survey_over(struct ext *x, unsigned id);
/* Before the server is freed, its connections are gone or go without it. */
void        ext_free(struct ext *x);

#endif
