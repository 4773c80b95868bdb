/*
 * The C library's struct tcp_info ends before what is asked for here. The kernel's own header has it, and does not go together with
 * netinet/tcp.h, which PostgreSQL includes.
 */
#include "tcp.h"

#ifdef __linux__

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

void
tcp_limit_unsent(int socket, uint32_t bytes)
{
    /* If it fails, all that suffers is how soon a change of the link is followed. */
    (void) setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

bool
tcp_queue(int socket, ColonnadeQueue *queue)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);

    /* An older kernel fills in less. */
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        length < offsetof(struct tcp_info, tcpi_rwnd_limited) + sizeof(info.tcpi_rwnd_limited))
        return false;
    /* What follows a lost packet has been delivered, too: else a loss would look like a pause, and its end like a burst. */
    queue->delivered = info.tcpi_bytes_acked + (uint64_t) info.tcpi_sacked * info.tcpi_snd_mss;
    queue->unsent = info.tcpi_notsent_bytes;
    queue->peer_limited = info.tcpi_rwnd_limited;
    return true;
}

#else

void
tcp_limit_unsent(int socket, uint32_t bytes)
{
    (void) socket;
    (void) bytes;
}

bool
tcp_queue(int socket, ColonnadeQueue *queue)
{
    (void) socket;
    (void) queue;
    return false;
}

#endif
