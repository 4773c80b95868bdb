/*
 * The C library's struct tcp_info lacks the members that are needed here. The kernel's own header has them, but conflicts
 * with netinet/tcp.h, which PostgreSQL includes.
 */
#include "tcp.h"

#ifdef __linux__

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

void
tcp_limit_unsent(int socket, uint32_t bytes)
{
    /* If it fails, the controller only reacts later to a change of the link. */
    (void) setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

bool
tcp_queue(int socket, ColonnadeQueue *queue)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);

    /* An older kernel fills in fewer members. */
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        length < offsetof(struct tcp_info, tcpi_rwnd_limited) + sizeof(info.tcpi_rwnd_limited))
        return false;
    /*
     * Data after a lost packet has also been delivered. Without it, a loss would look like a pause, and its end like a
     * burst.
     */
    queue->delivered = info.tcpi_bytes_acked + (uint64_t) info.tcpi_sacked * info.tcpi_snd_mss;
    queue->unsent = info.tcpi_notsent_bytes;
    queue->peer_limited = info.tcpi_rwnd_limited;
    queue->is_slow_start = info.tcpi_snd_cwnd < info.tcpi_snd_ssthresh;
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
