/* preload_says.c - a library that says in which process it was loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
    const char *rank = getenv("PMI_RANK");

    printf("loaded by %s in %d\n", rank ? rank : "nobody", (int)getpid());
    fflush(stdout);
}
