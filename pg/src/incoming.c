#include "compat.h"

#include "incoming.h"

#include "commands/progress.h"
#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "options.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

/*
 * A few bytes can declare a large chunk, so several rows have at most 64 MiB, for which FORMAT §8 allows 128 MiB. A row cannot be
 * divided, and may have PostgreSQL's largest values.
 */
static const ColonnadeLimits limits = {
    .message_bytes = UINT64CONST(1) << 30,
    .decoded_bytes = UINT64CONST(2) << 30,
    .chunk_bytes = 64 << 20,
    .chunk_rows = MAX_CHUNK_ROWS,
};

/* A CopyData message larger than this does not keep its memory. */
#define KEPT_BYTES (1 << 20)

/* As core's: the maximum of a CopyData message, and of the others that may arrive here. */
#define LARGE_MESSAGE_BYTES (MaxAllocSize - 1)
#define SMALL_MESSAGE_BYTES 10000

static void
check(ColonnadeStatus status, const ColonnadeError *error)
{
    if (status == COLONNADE_OK)
        return;
    if (status == COLONNADE_OUT_OF_MEMORY)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
                errdetail("Failed while decoding a chunk: %s.", error->message));
    if (status == COLONNADE_INTERNAL)
        ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not decode a chunk: %s", error->message));
    ereport(ERROR, errcode(ERRCODE_BAD_COPY_FILE_FORMAT), errmsg("invalid Colonnade stream: %s", error->message));
}

static void
destroy_decoder(void *decoder)
{
    colonnade_decoder_destroy(decoder);
}

static ColonnadeDecoder *
create_decoder(void)
{
    MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
    ColonnadeDecoder *decoder = NULL;
    ColonnadeError error;

    check(colonnade_decoder_create(&limits, &decoder, &error), &error);
    callback->func = destroy_decoder;
    callback->arg = decoder;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
    return decoder;
}

/* CopyInResponse, binary for each column, and flushed, because the client waits for it. */
static void
ask_client(int columns)
{
    StringInfoData response;

    pq_beginmessage(&response, COPY_IN_RESPONSE_MESSAGE);
    pq_sendbyte(&response, 1);
    pq_sendint16(&response, columns);
    for (int i = 0; i < columns; i++)
        pq_sendint16(&response, 1);
    pq_endmessage(&response);
    pq_flush();
}

static void
refuse_message(int type)
{
    ereport(ERROR, errcode(ERRCODE_PROTOCOL_VIOLATION),
            errmsg("unexpected message type 0x%02X during COPY from stdin", type));
}

static void
shrink_message(Incoming *incoming)
{
    MemoryContext caller = MemoryContextSwitchTo(incoming->context);

    pfree(incoming->message.data);
    initStringInfo(&incoming->message);
    MemoryContextSwitchTo(caller);
}

/* Reads the next CopyData message. False for CopyDone. As CopyGetData() of copyfromparse.c, except for where bytes go. */
static bool
read_message(Incoming *incoming)
{
    for (;;) {
        int type;
        int most = SMALL_MESSAGE_BYTES;

        CHECK_FOR_INTERRUPTS();
        /* A cancel within a message would leave the connection out of step. */
        HOLD_CANCEL_INTERRUPTS();
        pq_startmsgread();
        type = pq_getbyte();
        if (type == EOF)
            ereport(ERROR, errcode(ERRCODE_CONNECTION_FAILURE),
                    errmsg("unexpected EOF on client connection with an open transaction"));
        switch (type) {
            case COPY_DATA_MESSAGE:
                most = LARGE_MESSAGE_BYTES;
                break;
            case COPY_DONE_MESSAGE:
            case COPY_FAIL_MESSAGE:
            case FLUSH_MESSAGE:
            case SYNC_MESSAGE:
                break;
            default:
                refuse_message(type);
        }
        if (incoming->message.maxlen > KEPT_BYTES)
            shrink_message(incoming);
        if (pq_getmessage(&incoming->message, most))
            ereport(ERROR, errcode(ERRCODE_CONNECTION_FAILURE),
                    errmsg("unexpected EOF on client connection with an open transaction"));
        RESUME_CANCEL_INTERRUPTS();
        switch (type) {
            case COPY_DATA_MESSAGE:
                incoming->bytes += incoming->message.len;
                pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, (int64) incoming->bytes);
                return true;
            case COPY_DONE_MESSAGE:
                return false;
            case COPY_FAIL_MESSAGE:
                ereport(ERROR, errcode(ERRCODE_QUERY_CANCELED),
                        errmsg("COPY from stdin failed: %s", pq_getmsgstring(&incoming->message)));
                break;
            default:
                /* Flush and Sync are ignored, as by core, for clients that pipeline. */
                break;
        }
    }
}

/* Reads to the end of the next of the stream's messages. COLONNADE_NOTHING is the end of the client's data. */
static ColonnadeEvent
next_event(Incoming *incoming)
{
    for (;;) {
        StringInfo message = &incoming->message;
        ColonnadeEvent event;
        ColonnadeError error;
        size_t taken;

        if (message->cursor == message->len && !read_message(incoming))
            return COLONNADE_NOTHING;
        check(colonnade_decoder_take(incoming->decoder, (const uint8_t *) message->data + message->cursor,
                                     message->len - message->cursor, &taken, &event, &error),
              &error);
        message->cursor += taken;
        if (event != COLONNADE_NOTHING)
            return event;
    }
}

static void
check_finished(const Incoming *incoming)
{
    ColonnadeError error;

    check(colonnade_decoder_finish(incoming->decoder, &error), &error);
}

Incoming *
incoming_open(int columns)
{
    Incoming *incoming = palloc0(sizeof(Incoming));

    incoming->context = CurrentMemoryContext;
    incoming->decoder = create_decoder();
    initStringInfo(&incoming->message);
    ask_client(columns);
    /* Anything but a schema message is refused by the decoder. */
    if (next_event(incoming) == COLONNADE_NOTHING)
        check_finished(incoming);
    incoming->fields = colonnade_decoder_fields(incoming->decoder, &incoming->field_count);
    incoming->columns = palloc(Max(1, incoming->field_count) * sizeof(ColonnadeColumn));
    return incoming;
}

uint32
incoming_chunk(Incoming *incoming)
{
    for (;;) {
        ColonnadeEvent event = next_event(incoming);
        ColonnadeError error;
        size_t rows;

        if (event == COLONNADE_NOTHING) {
            check_finished(incoming);
            return 0;
        }
        if (event != COLONNADE_CHUNK)
            /* The end message. CopyDone must follow. */
            continue;
        rows = colonnade_decoder_rows(incoming->decoder);
        check(colonnade_decoder_columns(incoming->decoder, incoming->columns, incoming->field_count, &error), &error);
        if (rows > 0)
            return (uint32) rows;
    }
}
