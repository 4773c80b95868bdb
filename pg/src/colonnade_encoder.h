/*
 * The encoder's C interface. It is written by hand to match pg/encoder/src/lib.rs; change both together.
 *
 * No function calls back, starts a thread, uses a signal, file or socket, or leaves other than by returning. The functions
 * are not reentrant for one encoder; several encoders are independent. All strings are NUL-terminated UTF-8. The encoder
 * allocates its own memory (malloc), so an owner must call colonnade_encoder_destroy().
 */
#ifndef COLONNADE_ENCODER_H
#define COLONNADE_ENCODER_H

#include <stddef.h>
#include <stdint.h>

/* The result of a call. */
typedef enum ColonnadeStatus {
    COLONNADE_OK = 0,
    COLONNADE_ARGUMENT = 1,      /* an invalid argument, such as an unknown configuration */
    COLONNADE_TOO_LARGE = 2,     /* the chunk exceeds the maximum size of a message */
    COLONNADE_OUT_OF_MEMORY = 3, /* an allocation failed; after it, only colonnade_encoder_destroy() may be called */
    COLONNADE_DAMAGED = 4,       /* a message to adopt is damaged */
    COLONNADE_INTERNAL = 5,      /* a defect of the encoder itself */
} ColonnadeStatus;

/* Filled in when a call does not end with COLONNADE_OK. */
typedef struct ColonnadeError {
    char message[256];
} ColonnadeError;

typedef struct ColonnadeEncoder ColonnadeEncoder;

/* The throughput of a connection, which an encoder hands to the next one. */
typedef struct ColonnadeLinkEstimate {
    double throughput;           /* bytes a second; 0 if nothing was measured */
    uint8_t was_limit;           /* 1 if the link was the limit; otherwise the throughput is a lower bound */
} ColonnadeLinkEstimate;

/* PROTOCOL §2; NULL if the statement does not set the option. */
typedef struct ColonnadeOptions {
    const char *compression;
    const char *encodings;
    const char *codecs;
    uint8_t link;                /* 0 same machine, 1 loopback, 2 elsewhere, 3 elsewhere without colonnade_link() */
    ColonnadeLinkEstimate estimate; /* what the connection's earlier encoders have measured */
} ColonnadeOptions;

typedef struct ColonnadePair {
    const char *key;
    const char *value;
} ColonnadePair;

/* Type numbers; FORMAT §4. All others are refused. */
enum {
    COLONNADE_BOOL = 1,
    COLONNADE_INT16 = 3,
    COLONNADE_INT32 = 4,
    COLONNADE_INT64 = 5,
    COLONNADE_UINT8 = 6,         /* only as a dictionary's index type, and so UINT16 */
    COLONNADE_UINT16 = 7,
    COLONNADE_UINT32 = 8,
    COLONNADE_FLOAT32 = 11,
    COLONNADE_FLOAT64 = 12,
    COLONNADE_DECIMAL128 = 15,
    COLONNADE_DECIMAL256 = 16,
    COLONNADE_DATE32 = 17,
    COLONNADE_TIME64 = 20,
    COLONNADE_TIMESTAMP = 21,
    COLONNADE_INTERVAL = 25,     /* months, days, nanoseconds */
    COLONNADE_UTF8 = 26,
    COLONNADE_BINARY = 28,
    COLONNADE_LIST = 31,
    COLONNADE_STRUCT = 34,
    COLONNADE_DICTIONARY = 36,
};

#define COLONNADE_MICROSECONDS 2 /* a unit; FORMAT §4 */

/* One field. Fields are in depth-first order: a field's children follow it. */
typedef struct ColonnadeField {
    const char *name;
    const char *zone;            /* of a timestamp, or NULL */
    const ColonnadePair *pairs;  /* metadata */
    uint32_t pair_count;
    uint32_t children;           /* number of fields directly below it */
    uint8_t type_id;
    uint8_t nullable;            /* 1 if it may contain NULLs */
    uint8_t parameter;           /* a decimal's precision, a time's unit, a dictionary's index type */
    int8_t scale;                /* of a decimal */
    uint8_t ordered;             /* 1 if a dictionary's values are in order */
} ColonnadeField;

/* The buffers of one column of one chunk, in the order of the fields. There are rows + 1 offsets of 4 bytes. */
typedef struct ColonnadeColumn {
    size_t rows;
    const uint8_t *validity;     /* bit 1 is valid, bit 0 of byte 0 first; NULL if all are */
    const uint8_t *values;       /* values, bits, offsets or indices */
    size_t values_length;        /* in bytes, as all lengths */
    const uint8_t *data;         /* of text and binary columns */
    size_t data_length;
} ColonnadeColumn;

typedef struct ColonnadeSlice {
    const uint8_t *bytes;
    size_t length;
} ColonnadeSlice;

/* A message to send slice by slice. The slices stay valid until the next call with the same encoder. */
typedef struct ColonnadeMessage {
    const ColonnadeSlice *slices;
    size_t count;
    size_t length;               /* of all slices */
    size_t rows;                 /* of a chunk, else 0 */
} ColonnadeMessage;

/*
 * Must be called once, before anything else. If it fails because there is no memory (COLONNADE_OUT_OF_MEMORY), it may be
 * called again.
 */
extern ColonnadeStatus colonnade_encoder_prepare(void);

/* Whether `compression` is a configuration of PROTOCOL §2. */
extern ColonnadeStatus colonnade_check_compression(const char *compression, ColonnadeError *error);

extern ColonnadeStatus colonnade_encoder_create(const ColonnadeOptions *options, const ColonnadeField *fields,
                                                size_t field_count, ColonnadeEncoder **encoder,
                                                ColonnadeError *error);
extern void colonnade_encoder_destroy(ColonnadeEncoder *encoder);

/* The three kinds of messages. A chunk's buffers must not change until the next call. */
extern ColonnadeStatus colonnade_schema_message(ColonnadeEncoder *encoder, ColonnadeMessage *message,
                                                ColonnadeError *error);
extern ColonnadeStatus colonnade_encode_chunk(ColonnadeEncoder *encoder, size_t rows, const ColonnadeColumn *columns,
                                              size_t column_count, ColonnadeMessage *message, ColonnadeError *error);
extern ColonnadeStatus colonnade_end_message(ColonnadeEncoder *encoder, ColonnadeMessage *message,
                                             ColonnadeError *error);

/*
 * Adds a chunk message that another encoder made for the same fields and options: its checksum is checked, and it becomes
 * this stream's next chunk. The bytes must not change until the next call.
 */
extern ColonnadeStatus colonnade_adopt_chunk(ColonnadeEncoder *encoder, const uint8_t *bytes, size_t length,
                                             ColonnadeMessage *message, ColonnadeError *error);

/* The state of a socket. */
typedef struct ColonnadeQueue {
    uint64_t delivered;          /* bytes that the peer has acknowledged since the connection began */
    uint64_t unsent;             /* bytes that have not left yet */
    uint64_t peer_limited;       /* microseconds in which the peer's window was the limit */
    uint8_t is_slow_start;       /* 1 if the congestion window is below the slow start threshold */
} ColonnadeQueue;

/*
 * 0 if the encoder does not need the link's state. Otherwise colonnade_link() must be called before and after each message
 * is sent, with the bytes that were handed over since the last call, and the result is the maximum number of unsent bytes in
 * the socket (TCP_NOTSENT_LOWAT).
 */
extern uint32_t colonnade_watches_link(const ColonnadeEncoder *encoder);
extern void colonnade_link(ColonnadeEncoder *encoder, size_t bytes, const ColonnadeQueue *queue);

/* Writes what the encoder has measured of the link; `estimate` stays as it is if that is nothing. */
extern void colonnade_link_estimate(const ColonnadeEncoder *encoder, ColonnadeLinkEstimate *estimate);

/* The size of the next chunk as a share of a full one, above 0 and at most 1. */
extern double colonnade_share(ColonnadeEncoder *encoder);

/* The highest version of the stream format that the encoder writes. */
extern uint32_t colonnade_format_version(void);

#endif
