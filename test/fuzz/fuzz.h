/* fuzz.h - what the fuzz targets share. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The target: 0 always.  A broken property ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(what)                                                                     \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);  \
            abort();                                                                   \
        }                                                                              \
    } while (0)

#endif
