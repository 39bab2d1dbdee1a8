/* fake_memory.h - make an allocation fail, and count what is not freed.
 *
 * memory_begin() skips the test where malloc is not the one below: a sanitizer
 * needs its place, valgrind takes it. */
#ifndef TEST_FAKE_MEMORY_H
#define TEST_FAKE_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>

/* volatile: libc declares malloc so that a compiler thinks it leaves these alone */
static volatile long memory_left = -1;   /* allocations that still succeed; -1: all */
static volatile bool memory_hit;          /* one was refused */
static volatile long memory_live;         /* allocations not freed */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define MEMORY_NONE 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MEMORY_NONE 1
#endif

#ifdef MEMORY_NONE
#define memory_begin() skip()
#else
#define memory_begin() do { if (!memory_ours()) skip(); } while (0)

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void  __libc_free(void *p);

static void *memory_counted(void *p)
{
    memory_live += p != NULL;
    return p;
}

static bool memory_refuses(void)
{
    if (memory_left < 0 || memory_left-- > 0)
        return false;
    memory_left = -1;
    memory_hit = true;
    return true;
}

void *malloc(size_t n)
{
    return memory_refuses() ? NULL : memory_counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return memory_refuses() ? NULL : memory_counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    if (memory_refuses())
        return NULL;
    return p ? __libc_realloc(p, n) : memory_counted(__libc_malloc(n));
}

void free(void *p)
{
    memory_live -= p != NULL;
    __libc_free(p);
}
#endif

/* The allocation after n more fails, and none after that. */
static inline void memory_after(long n)
{
    memory_left = n;
    memory_hit = false;
}

static inline void memory_end(void)
{
    memory_left = -1;
}

static inline bool memory_ours(void)
{
    void *volatile p;

    memory_after(0);
    p = malloc(1);
    memory_end();
    free(p);
    return !p;
}

#endif
