/* fault.h - make the n-th allocation fail, for the tests of what then happens.
 *
 * A test program that includes this has its own malloc, calloc and realloc in
 * front of libc's.  With a sanitizer, which needs that place itself, fault_begin
 * skips the test.  One file of a program includes this; not thread-safe. */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#include <stdbool.h>
#include <stdlib.h>

static long fault_left = -1;     /* allocations that still succeed; -1: all */
static bool fault_hit;           /* one was refused */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define FAULT_NONE 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FAULT_NONE 1
#endif

#ifdef FAULT_NONE
#define fault_begin() skip()
#else
#define fault_begin() ((void)0)

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static bool fault_now(void)
{
    if (fault_left < 0 || fault_left-- > 0)
        return false;
    fault_left = -1;
    fault_hit = true;
    return true;
}

void *malloc(size_t n) { return fault_now() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fault_now() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fault_now() ? NULL : __libc_realloc(p, n); }
#endif

/* The allocation after n more fails, and none after that. */
static inline void fault_after(long n)
{
    fault_left = n;
    fault_hit = false;
}

static inline void fault_end(void)
{
    fault_left = -1;
}

#endif
