/* lib_find.h - which server a tool calls. */
#ifndef PMIX_EXT_LIB_FIND_H
#define PMIX_EXT_LIB_FIND_H

#include "pmix_ext/pmix_ext.h"

/* Whether an attribute says which server is meant. */
bool find_is_told(const pmix_info_t *infos, size_t n);
/* Connect to the server that attributes, or PMIX_SERVER_URI in the environment, or what
 * runs here mean: a descriptor; -1 and *status (PMIX_ERR_UNREACH: there is none;
 * PMIX_ERR_BAD_PARAM: more than one, and nothing says which). */
int  find_server(const pmix_info_t *infos, size_t n, pmix_status_t *status);

#endif
