/* stack_ranks.c - ranks whose stacks are known: rank 3 is in elsewhere(), the others are in
 * together(), until SIGUSR1; with an argument each has a thread, in beside(), that adds numbers
 * all the time.  It says "ready", and at its end whether what it did was right. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t go;
static atomic_bool over;

static void on_signal(int signo)
{
    (void)signo;
    go = 1;
}

__attribute__((noipa)) static void rest(const sigset_t *mask)
{
    while (!go)
        sigsuspend(mask);
}

__attribute__((noipa)) static int together(const sigset_t *mask)
{
    rest(mask);
    return 1;
}

__attribute__((noipa)) static int elsewhere(const sigset_t *mask)
{
    rest(mask);
    return 1;
}

static void *beside(void *arg)
{
    unsigned long n = 0, *sum = arg;

    for (; !over; n++)
        *sum += n;
    return (void *)(n ? n * (n - 1) / 2 : 0);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK");
    unsigned long sum = 0;
    void *wanted = NULL;
    sigset_t block, before;
    pthread_t thread;
    int done;

    (void)argv;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, &before);
    signal(SIGUSR1, on_signal);
    if (argc > 1 && pthread_create(&thread, NULL, beside, &sum))
        return 1;
    puts("ready");
    fflush(stdout);
    done = rank && !strcmp(rank, "3") ? elsewhere(&before) : together(&before);
    over = true;
    if (argc > 1)
        pthread_join(thread, &wanted);
    puts(done && (argc == 1 || sum == (unsigned long)wanted) ? "right" : "wrong");
    return 0;
}
