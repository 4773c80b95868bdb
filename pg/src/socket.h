/* Writing to the client's socket without waiting in the kernel, and waiting for it. */
#ifndef COLONNADE_SOCKET_H
#define COLONNADE_SOCKET_H

#include "postgres.h"

/* Writes what there is room for now; how much. A client that is gone is noted as core notes it, and nothing is written. */
extern Size socket_write(const char *bytes, Size length);

/* Waits until there may be room, or until the latch is set. Ends the session if it is to end: as core does in secure_write(). */
extern void socket_wait_writable(void);

#endif
