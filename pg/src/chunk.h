/* From rows to chunk messages; used by a backend that sends them and by a parallel worker that hands them on. */
#ifndef COLONNADE_CHUNK_H
#define COLONNADE_CHUNK_H

#include "postgres.h"

#include "column.h"
#include "deform.h"
#include "executor/tuptable.h"
#include "options.h"
#include "types.h"

/* Takes a message; its bytes are gone when it returns. */
typedef void (*TakeMessage)(void *owner, const ColonnadeMessage *message);

/* A stream under construction. */
typedef struct Stream {
    const CopyOptions *options;
    Columns *columns;
    ColonnadeEncoder *encoder;
    ColonnadeColumn *described; /* as many as fields */
    Layout *layout;             /* of the result's attributes in heap tuples */
    Sink sink;
    TakeMessage take;
    void *owner;
    Size full_limit;            /* bytes of plain buffers that a chunk may have */
    uint32 full_rows;           /* rows that it may have */
    Size limit;                 /* the same of the present one: the encoder may want it small */
    uint32 most_rows;
    uint32 rows;                /* of the chunk */
    uint32 capacity;            /* rows there is room for */
} Stream;

/*
 * A stream of the columns of `result`; it and all it needs lie in CurrentMemoryContext and go with that, the encoder included.
 * `link` is that of ColonnadeOptions.
 */
extern Stream *stream_create(TupleDesc result, const CopyOptions *options, uint8 link, TakeMessage take, void *owner);

extern void stream_begin(Stream *stream);
extern void stream_row(Stream *stream, TupleTableSlot *slot);
extern void stream_flush(Stream *stream);

/* The rows that are left, and the end message. */
extern void stream_end(Stream *stream);

/* Takes over the chunk message of another stream of the same columns. */
extern void stream_adopt(Stream *stream, const char *bytes, Size length);

/* Ends in an error unless `status` is COLONNADE_OK. */
extern void encoder_check(ColonnadeStatus status, const ColonnadeError *error);

#endif
