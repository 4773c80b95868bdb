/* Writes to the client's socket without waiting in the kernel, and waits for it. */
#ifndef COLONNADE_SOCKET_H
#define COLONNADE_SOCKET_H

#include "postgres.h"

/*
 * Writes as much as there is room for now, and returns the number of bytes. If the client is gone, nothing is written, and
 * the loss is recorded as in core.
 */
extern Size socket_write(const char *bytes, Size length);

/* Waits until there may be room, or until the latch is set. Ends the session if it must end, as core does in secure_write(). */
extern void socket_wait_writable(void);

#endif
