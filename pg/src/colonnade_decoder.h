/*
 * The decoder's C interface. It is written by hand to match pg/encoder/src/decoding.rs; change both together. What
 * colonnade_encoder.h says of its functions applies to these too. Bytes may come from anywhere: all are checked.
 */
#ifndef COLONNADE_DECODER_H
#define COLONNADE_DECODER_H

#include "colonnade_encoder.h"

/* Type numbers of fields that only a decoder describes. */
enum {
    COLONNADE_NULL = 0,
    COLONNADE_UNREAD = 255,      /* any type that no column of PostgreSQL has */
};

/* What the bytes that were taken have completed. */
typedef enum ColonnadeEvent {
    COLONNADE_NOTHING = 0,       /* all bytes were taken, and the message continues */
    COLONNADE_SCHEMA = 1,
    COLONNADE_CHUNK = 2,
    COLONNADE_END = 3,           /* no further byte is accepted */
} ColonnadeEvent;

typedef struct ColonnadeDecoder ColonnadeDecoder;

/* A stream that exceeds one of these is refused. */
typedef struct ColonnadeLimits {
    uint64_t message_bytes;
    uint64_t decoded_bytes;      /* of the columns of a chunk */
    uint64_t chunk_bytes;        /* of a chunk of several rows; FORMAT §8 says what may be added for overhead */
    uint32_t chunk_rows;
} ColonnadeLimits;

/* A decoder at the start of a stream. */
extern ColonnadeStatus colonnade_decoder_create(const ColonnadeLimits *limits, ColonnadeDecoder **decoder,
                                                ColonnadeError *error);
extern void colonnade_decoder_destroy(ColonnadeDecoder *decoder);

/* Takes bytes, at most to the end of a message. After an error, only colonnade_decoder_destroy() may be called. */
extern ColonnadeStatus colonnade_decoder_take(ColonnadeDecoder *decoder, const uint8_t *bytes, size_t length,
                                              size_t *taken, ColonnadeEvent *event, ColonnadeError *error);

/* COLONNADE_DAMAGED unless the end message was read. */
extern ColonnadeStatus colonnade_decoder_finish(const ColonnadeDecoder *decoder, ColonnadeError *error);

/* The fields, depth first, after COLONNADE_SCHEMA. They stay valid as long as the decoder, and have no pairs and no zone. */
extern const ColonnadeField *colonnade_decoder_fields(const ColonnadeDecoder *decoder, size_t *count);

/*
 * COLONNADE_OK if a column that sends the field `expected` (with those below it, `count` in total) can take the stream's
 * top-level field number `index`. COLONNADE_ARGUMENT otherwise, with the names of both types.
 */
extern ColonnadeStatus colonnade_decoder_accepts(const ColonnadeDecoder *decoder, size_t index,
                                                 const ColonnadeField *expected, size_t count,
                                                 ColonnadeError *expected_name, ColonnadeError *found_name);

/* After COLONNADE_CHUNK: its rows, and, once, its columns. Buffers are valid until the next colonnade_decoder_take(). */
extern size_t colonnade_decoder_rows(const ColonnadeDecoder *decoder);
extern ColonnadeStatus colonnade_decoder_columns(ColonnadeDecoder *decoder, ColonnadeColumn *columns, size_t count,
                                                 ColonnadeError *error);

#endif
