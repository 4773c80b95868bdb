/* Messages to the client, each in one CopyData; PROTOCOL §3. */
#ifndef COLONNADE_SEND_H
#define COLONNADE_SEND_H

#include "postgres.h"

#include "colonnade_encoder.h"

/*
 * Sends `message`. Ends the session (as core does: at the next interrupt check) if the client is gone. Errors: those of
 * CHECK_FOR_INTERRUPTS(), also while it waits for the client; what is left of the message is sent before the error then.
 */
extern void send_copy_data(const ColonnadeMessage *message);

#endif
