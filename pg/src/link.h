/* The properties of the link to the client. */
#ifndef COLONNADE_LINK_H
#define COLONNADE_LINK_H

#include "postgres.h"

#include "colonnade_encoder.h"

/* The client's distance, as in ColonnadeOptions. */
extern uint8 link_to_client(void);

/* The same for a parallel worker's encoder, which does not see the socket. */
extern uint8 link_of_worker(uint8 link);

/* What this backend's results have measured of the link so far. */
extern ColonnadeLinkEstimate link_estimate(void);
extern void link_remember(const ColonnadeEncoder *encoder);

/*
 * Limits the bytes that the kernel accepts before it can send them: bytes that wait there were encoded for an earlier state
 * of the link. Does nothing if the kernel does not support it.
 */
extern void link_limit_unsent(uint32 bytes);

/*
 * Lets a unix socket hold about a chunk, as TCP's buffers do on their own. With the default of 208 KiB the backend can produce the next
 * chunk only after the client has read the last one.
 */
extern void link_enlarge_buffer(void);

/* The current state of the socket. False if the kernel does not provide it. */
extern bool link_queue(ColonnadeQueue *queue);

#endif
