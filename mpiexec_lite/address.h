/* address.h - "HOST:PORT", as people write it. */
#ifndef MPIEXEC_LITE_ADDRESS_H
#define MPIEXEC_LITE_ADDRESS_H

#include "wire/err.h"

enum { ADDRESS_HOST = 256, NAMES_PORT = 17653 };     /* NAMES_PORT: pmi2_server's, usually */

struct address {
    char     host[ADDRESS_HOST];
    unsigned port;                   /* 1 to 65535 */
};

/* usual: the port where none is said; 0: one must be.  0, or -1 and e. */
int address_read(struct address *a, const char *text, unsigned usual, struct err *e);

#endif
