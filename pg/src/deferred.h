/*
 * The rest of a message that an error interrupted, sent before what follows it.
 *
 * Within a message nothing else may be sent, so core lets a cancelled statement wait until the client has read the message. Here
 * the rest is kept, and the statement ends at once: its transaction is aborted, and locks and snapshot are released, without the
 * client. After the abort, and before the error and all later messages, the rest is sent. For that time our functions stand in
 * for libpq's (PqCommMethods).
 */
#ifndef COLONNADE_DEFERRED_H
#define COLONNADE_DEFERRED_H

#include "postgres.h"

/*
 * Room for the `length` bytes of the rest, which are copied before an error may come: conflicts with recovery are signalled again
 * and again until the transaction has ended. From now on, what libpq is given to send stays in its buffer. False where the
 * client must read on before the statement can end: there is no memory, or it might never ask for the rest.
 */
extern bool deferred_begin(Size length, char **room);

/* An error ends the statement. */
extern void deferred_keep(void);

/* The message was sent. Nothing happens where nothing was begun. */
extern void deferred_end(void);

#endif
