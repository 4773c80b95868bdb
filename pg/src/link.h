/* What can be known of the way to the client. */
#ifndef COLONNADE_LINK_H
#define COLONNADE_LINK_H

#include "postgres.h"

#include "colonnade_encoder.h"

/* How far away the client is, as ColonnadeOptions says it. */
extern uint8 link_to_client(void);

/* The same for a parallel worker's encoder, which does not see the socket. */
extern uint8 link_of_worker(uint8 link);

/* What this backend's results have measured of the link so far. */
extern ColonnadeLinkEstimate link_estimate(void);
extern void link_remember(const ColonnadeEncoder *encoder);

/* Microseconds of the clock that estimates have. */
extern uint64 link_now(void);

/*
 * Keeps the kernel from taking more than so many bytes before it can send them: what waits there was encoded for the link as it
 * was. Nothing where the kernel cannot do so.
 */
extern void link_limit_unsent(uint32 bytes);

/* What the socket says now. False where the kernel cannot tell. */
extern bool link_queue(ColonnadeQueue *queue);

#endif
