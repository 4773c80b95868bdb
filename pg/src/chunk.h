/* Encodes rows into chunk messages. A backend sends them; a parallel worker passes them to the leader. */
#ifndef COLONNADE_CHUNK_H
#define COLONNADE_CHUNK_H

#include "postgres.h"

#include "column.h"
#include "deform.h"
#include "executor/tuptable.h"
#include "options.h"
#include "page.h"
#include "types.h"

/* Receives a message. The message's bytes are valid only during the call. */
typedef void (*TakeMessage)(void *owner, const ColonnadeMessage *message);

/* A stream that is being written. */
typedef struct Stream {
    const CopyOptions *options;
    Columns *columns;
    ColonnadeEncoder *encoder;
    ColonnadeColumn *described; /* as many as fields */
    Layout *layout;             /* of the result's attributes in heap tuples */
    Sink sink;
    TakeMessage take;
    void *owner;
    Size full_limit;            /* the maximum bytes of plain buffers of a chunk */
    uint32 full_rows;           /* the maximum rows of a chunk */
    Size limit;                 /* the same for the current chunk: the encoder may ask for a small one */
    uint32 most_rows;
    uint32 rows;                /* of the chunk */
    uint32 capacity;            /* allocated rows */
} Stream;

/*
 * A stream of the columns of `result`. It and everything it needs, including the encoder, are in CurrentMemoryContext and
 * are freed with it. `link` is that of ColonnadeOptions.
 */
extern Stream *stream_create(TupleDesc result, const CopyOptions *options, uint8 link, TakeMessage take, void *owner);

extern void stream_begin(Stream *stream);
extern void stream_row(Stream *stream, TupleTableSlot *slot);
extern void stream_flush(Stream *stream);

/*
 * Adds the rows that are left of the page of the row that was added last. Returns their number, which may be 0. `scan` is
 * page_scan_create()'s for the node that returned the row.
 */
extern uint32 stream_page(Stream *stream, PageScan *scan);

/* Sends the remaining rows, and the end message. */
extern void stream_end(Stream *stream);

/* Adds the chunk message of another stream with the same columns. */
extern void stream_adopt(Stream *stream, const char *bytes, Size length);

/* Reports an error unless `status` is COLONNADE_OK. */
extern void encoder_check(ColonnadeStatus status, const ColonnadeError *error);

#endif
