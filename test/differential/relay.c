/* relay.c - a rank that hands its PMI connection to whoever drives the test.
 *
 *   relay SOCKET
 *
 * It connects to the UNIX socket, passes the descriptor in PMI_FD with its rank,
 * and ends when it is told to: the byte that comes is its exit status. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int hand_over(int to, int fd, const char *rank)
{
    char space[CMSG_SPACE(sizeof fd)] = "";
    struct iovec text = { (void *)rank, strlen(rank) };
    struct msghdr m = { .msg_iov = &text, .msg_iovlen = 1,
                        .msg_control = space, .msg_controllen = sizeof space };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(to, &m, 0) < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    const char *fd = getenv("PMI_FD"), *rank = getenv("PMI_RANK");
    int to = socket(AF_UNIX, SOCK_STREAM, 0);
    unsigned char status = 1;

    if (argc != 2 || !fd || !rank || strlen(argv[1]) >= sizeof a.sun_path) {
        fprintf(stderr, "usage: launcher -n N relay SOCKET\n");
        return 2;
    }
    memcpy(a.sun_path, argv[1], strlen(argv[1]));
    if (to < 0 || connect(to, (struct sockaddr *)&a, sizeof a) < 0)
        return fail("connect");
    if (hand_over(to, atoi(fd), rank) < 0)
        return fail("sendmsg");
    close(atoi(fd));
    return read(to, &status, 1) == 1 ? status : 1;
}
