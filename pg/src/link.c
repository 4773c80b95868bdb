#include "compat.h"

#include "link.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "tcp.h"

#define LINK_SAME_MACHINE 0
#define LINK_LOOPBACK 1
#define LINK_ELSEWHERE 2
#define LINK_UNOBSERVED 3

/* The default size of a chunk. */
#define UNIX_BUFFER (4 << 20)

/* Of the backend's only client. */
static ColonnadeLinkEstimate remembered;

uint8
link_to_client(void)
{
    const struct sockaddr *address = (const struct sockaddr *) &MyProcPort->raddr.addr;

    if (address->sa_family == AF_INET) {
        uint32 host = pg_ntoh32(((const struct sockaddr_in *) address)->sin_addr.s_addr);

        return host >> 24 == 127 ? LINK_LOOPBACK : LINK_ELSEWHERE;
    }
    if (address->sa_family == AF_INET6) {
        const struct in6_addr *host = &((const struct sockaddr_in6 *) address)->sin6_addr;

        return IN6_IS_ADDR_LOOPBACK(host) ? LINK_LOOPBACK : LINK_ELSEWHERE;
    }
    return address->sa_family == AF_UNIX ? LINK_SAME_MACHINE : LINK_ELSEWHERE;
}

uint8
link_of_worker(uint8 link)
{
    return link == LINK_ELSEWHERE ? LINK_UNOBSERVED : link;
}

ColonnadeLinkEstimate
link_estimate(void)
{
    return remembered;
}

void
link_remember(const ColonnadeEncoder *encoder)
{
    colonnade_link_estimate(encoder, &remembered);
}

void
link_limit_unsent(uint32 bytes)
{
    tcp_limit_unsent(MyProcPort->sock, bytes);
}

void
link_enlarge_buffer(void)
{
    /* The kernel uses less if net.core.wmem_max is smaller, and then twice that for its own overhead. */
    const int bytes = UNIX_BUFFER;

    if (MyProcPort->raddr.addr.ss_family == AF_UNIX)
        (void) setsockopt(MyProcPort->sock, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

bool
link_queue(ColonnadeQueue *queue)
{
    return tcp_queue(MyProcPort->sock, queue);
}
