/* The properties of the link to the client. */
#ifndef COLONNADE_LINK_H
#define COLONNADE_LINK_H

#include "postgres.h"

#include "colonnade_encoder.h"

/* The client's distance, as in ColonnadeOptions. */
extern uint8 link_to_client(void);

/*
 * Limits the bytes that the kernel accepts before it can send them: bytes that wait there were encoded for an earlier state
 * of the link. Does nothing if the kernel does not support it.
 */
extern void link_limit_unsent(uint32 bytes);

/* The current state of the socket. False if the kernel does not provide it. */
extern bool link_queue(ColonnadeQueue *queue);

#endif
