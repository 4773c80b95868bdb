/* Messages to the client, each in one CopyData; PROTOCOL §3. */
#ifndef COLONNADE_SEND_H
#define COLONNADE_SEND_H

#include "postgres.h"

#include "colonnade_encoder.h"

/*
 * Sends `message`. If the client is gone, the session ends at the next interrupt check, as in core. Errors: those of
 * CHECK_FOR_INTERRUPTS(), also while it waits for the client. The rest of the message is then sent before the error.
 */
extern void send_copy_data(const ColonnadeMessage *message);

#endif
