#include "compat.h"

#include "chunk.h"

#include "link.h"
#include "miscadmin.h"
#include "put.h"
#include "utils/memutils.h"

/* The directory, node and alignment of a column take less than this in a message. */
#define COLUMN_OVERHEAD 512

/* Rows that are allocated first, so that a short result needs little memory. */
#define FIRST_ROWS 256
#define GROWTH 4

/* After a single large row, a column's buffer is kept up to this number of chunks. */
#define KEPT_CHUNKS 4

void
encoder_check(ColonnadeStatus status, const ColonnadeError *error)
{
    int code = ERRCODE_INTERNAL_ERROR;

    if (status == COLONNADE_OK)
        return;
    if (status == COLONNADE_OUT_OF_MEMORY)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
                errdetail("Failed while encoding a chunk: %s.", error->message));
    if (status == COLONNADE_TOO_LARGE)
        code = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    ereport(ERROR, errcode(code), errmsg("could not encode a chunk: %s", error->message));
}

static void
destroy_encoder(void *encoder)
{
    colonnade_encoder_destroy(encoder);
}

static ColonnadeEncoder *
create_encoder(const Columns *columns, const CopyOptions *options, uint8 link)
{
    ColonnadeOptions raw = {options->compression, options->encodings, options->codecs, link, link_estimate()};
    MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
    ColonnadeEncoder *encoder = NULL;
    ColonnadeError error;

    encoder_check(colonnade_encoder_create(&raw, columns->fields, columns->field_count, &encoder, &error),
                  &error);
    callback->func = destroy_encoder;
    callback->arg = encoder;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
    return encoder;
}

/* Computes the maximum size of the next chunk. */
static void
bound_chunk(Stream *stream)
{
    double share = colonnade_share(stream->encoder);

    stream->limit = (Size) Max((double) stream->full_limit * share, 1);
    stream->most_rows = (uint32) Max((double) stream->full_rows * share, 1);
}

Stream *
stream_create(TupleDesc result, const CopyOptions *options, uint8 link, TakeMessage take, void *owner)
{
    Stream *stream = palloc0(sizeof(Stream));
    Columns *columns = columns_of_result(result, options);
    Size overhead = ((Size) columns->field_count + 1) * COLUMN_OVERHEAD;
    Size limit = options->max_message_bytes > overhead ? options->max_message_bytes - overhead : 1;
    uint64 rows = options->chunk_rows;

    stream->options = options;
    stream->columns = columns;
    stream->encoder = create_encoder(columns, options, link);
    stream->described = palloc(Max(1, columns->field_count) * sizeof(ColonnadeColumn));
    stream->layout = deform_layout(result);
    stream->sink.row_context = AllocSetContextCreate(CurrentMemoryContext, "colonnade row", ALLOCSET_DEFAULT_SIZES);
    stream->take = take;
    stream->owner = owner;
    stream->full_limit = Min(options->chunk_bytes, limit);
    /* If all rows have the same size, this alone limits the chunk. */
    if (columns->row_bits > 0)
        rows = Min(rows, (uint64) (stream->full_limit - Min(columns->constant, stream->full_limit)) * 8 / columns->row_bits);
    stream->full_rows = (uint32) Max(rows, 1);
    bound_chunk(stream);
    return stream;
}

static void
give(Stream *stream, ColonnadeStatus status, const ColonnadeMessage *message, const ColonnadeError *error)
{
    encoder_check(status, error);
    if (message->length > stream->options->max_message_bytes)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("a message of %zu bytes exceeds max_message_bytes, which is %zu", message->length,
                       stream->options->max_message_bytes),
                message->rows == 1 ? errhint("It holds a single row. Raise the COPY option \"max_message_bytes\".")
                                   : errhint("Raise the COPY option \"max_message_bytes\"."));
    stream->take(stream->owner, message);
}

void
stream_begin(Stream *stream)
{
    ColonnadeMessage message;
    ColonnadeError error;
    ColonnadeStatus status = colonnade_schema_message(stream->encoder, &message, &error);

    give(stream, status, &message, &error);
}

void
stream_end(Stream *stream)
{
    ColonnadeMessage message;
    ColonnadeError error;
    ColonnadeStatus status;

    stream_flush(stream);
    status = colonnade_end_message(stream->encoder, &message, &error);
    give(stream, status, &message, &error);
}

void
stream_adopt(Stream *stream, const char *bytes, Size length)
{
    ColonnadeMessage message;
    ColonnadeError error;
    ColonnadeStatus status =
        colonnade_adopt_chunk(stream->encoder, (const uint8_t *) bytes, length, &message, &error);

    give(stream, status, &message, &error);
}

/* Encodes and passes on the first `rows` rows. Keeps the others, if any. */
static void
flush_rows(Stream *stream, uint32 rows)
{
    Columns *columns = stream->columns;
    ColonnadeColumn *next = stream->described;
    ColonnadeMessage message;
    ColonnadeError error;
    ColonnadeStatus status;
    uint32 left = stream->rows - rows;

    for (int i = 0; i < columns->count; i++)
        next = column_describe(&columns->columns[i], rows, next);
    status = colonnade_encode_chunk(stream->encoder, rows, stream->described, columns->field_count, &message, &error);
    give(stream, status, &message, &error);
    for (int i = 0; i < columns->count; i++) {
        column_keep(&columns->columns[i], rows, left);
        if (left == 0)
            column_shrink(&columns->columns[i], KEPT_CHUNKS * stream->full_limit);
    }
    stream->rows = left;
    bound_chunk(stream);
}

void
stream_flush(Stream *stream)
{
    if (stream->rows > 0)
        flush_rows(stream, stream->rows);
    stream->sink.variable = 0;
}

static void
reserve(Stream *stream)
{
    Columns *columns = stream->columns;
    uint64 capacity = Max(FIRST_ROWS, (uint64) stream->capacity * GROWTH);

    stream->capacity = (uint32) Min(capacity, stream->most_rows);
    for (int i = 0; i < columns->count; i++)
        column_reserve(&columns->columns[i], stream->capacity);
}

/* Bytes of the chunk's plain buffers. */
static inline Size
filled_bytes(const Stream *stream)
{
    return stream->columns->constant + (Size) ((stream->rows * stream->columns->row_bits + 7) / 8) + stream->sink.variable;
}

void
stream_row(Stream *stream, TupleTableSlot *slot)
{
    Sink *sink = &stream->sink;
    Column *columns = stream->columns->columns;
    int count = stream->columns->count;
    uint32 row = stream->rows;
    Size before = sink->variable;
    MemoryContext caller;
    Size bytes;

    if (unlikely(row == stream->capacity))
        reserve(stream);
    if (deform_applies(slot)) {
        caller = MemoryContextSwitchTo(sink->row_context);
        deform_row(sink, columns, count, stream->layout, slot, row);
    } else {
        slot_getallattrs(slot);
        caller = MemoryContextSwitchTo(sink->row_context);
        for (int i = 0; i < count; i++) {
            if (unlikely(slot->tts_isnull[i]))
                column_put_null(&columns[i], row);
            else
                column_put(sink, &columns[i], row, slot->tts_values[i]);
        }
    }
    MemoryContextSwitchTo(caller);
    if (sink->row_context_used) {
        MemoryContextReset(sink->row_context);
        sink->row_context_used = false;
    }
    stream->rows = ++row;

    bytes = filled_bytes(stream);
    if (unlikely(bytes >= stream->limit || row == stream->most_rows)) {
        if (bytes > stream->limit && row > 1) {
            /* One row too many: it becomes the next chunk's first. */
            flush_rows(stream, row - 1);
            sink->variable -= before;
            if (sink->variable + stream->columns->constant + (stream->columns->row_bits + 7) / 8 >= stream->limit)
                stream_flush(stream);
        } else
            stream_flush(stream);
    }
}

uint32
stream_page(Stream *stream, PageScan *scan)
{
    const Size filled = filled_bytes(stream);
    /* The chunk's last row is always added by stream_row(), which then sends the chunk. */
    const uint32 most = Min(stream->capacity, stream->most_rows - 1);
    uint32 rows;

    if (stream->rows >= most || filled >= stream->limit)
        return 0;
    rows = page_scan_take(scan, &stream->sink, stream->columns, stream->rows, most - stream->rows, stream->limit - filled);
    stream->rows += rows;
    return rows;
}
