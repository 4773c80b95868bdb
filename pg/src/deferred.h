/*
 * Sends the rest of a message that an error interrupted, before anything else is sent.
 *
 * Within a message nothing else may be sent, so in core a cancelled statement waits until the client has read the message.
 * Here the rest is kept, and the statement ends at once: its transaction is aborted, and its locks and snapshot are
 * released, without waiting for the client. The rest is sent after the abort, before the error and all later messages. For
 * this time our functions replace libpq's (PqCommMethods).
 */
#ifndef COLONNADE_DEFERRED_H
#define COLONNADE_DEFERRED_H

#include "postgres.h"

/*
 * Provides memory for the `length` bytes of the rest. The caller copies them before an error may come, because conflicts
 * with recovery are signalled repeatedly until the transaction has ended. From this call on, bytes that libpq is given stay
 * in its buffer. False if the client must read before the statement can end: there is no memory, or the client might never
 * ask for the rest.
 */
extern bool deferred_begin(Size length, char **room);

/* An error ends the statement. */
extern void deferred_keep(void);

/* The message was sent. Does nothing if deferred_begin() was not called. */
extern void deferred_end(void);

#endif
