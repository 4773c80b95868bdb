/* The stream that a client sends after COPY ... FROM STDIN; PROTOCOL. */
#ifndef COLONNADE_INCOMING_H
#define COLONNADE_INCOMING_H

#include "postgres.h"

#include "colonnade_decoder.h"
#include "lib/stringinfo.h"

typedef struct Incoming {
    MemoryContext context;
    ColonnadeDecoder *decoder;
    const ColonnadeField *fields; /* depth first */
    size_t field_count;
    ColonnadeColumn *columns;     /* of the current chunk, one for each field */
    StringInfoData message;       /* the current CopyData; `cursor` is the number of bytes that were taken */
    uint64 bytes;                 /* of all CopyData messages */
} Incoming;

/*
 * Tells the client to send, and reads the schema message. All memory is in CurrentMemoryContext, or is freed with it.
 * Errors: 22P04 for a damaged stream.
 */
extern Incoming *incoming_open(int columns);

/*
 * The next chunk's rows, with its columns decoded in `columns`. 0 means that the stream is complete and that the client has
 * sent CopyDone. Chunks without rows are passed over.
 */
extern uint32 incoming_chunk(Incoming *incoming);

#endif
