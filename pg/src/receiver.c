#include "compat.h"

#include "receiver.h"

#include "chunk.h"
#include "commands/progress.h"
#include "handoff.h"
#include "link.h"
#include "send.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

/* Rows between two updates of pg_stat_progress_copy, within a chunk. */
#define PROGRESS_ROWS 1024

typedef struct Receiver {
    DestReceiver pub;
    const Statement *statement;
    const QueryDesc *query;
    Stream *stream;
    Handoff *handoff;           /* if workers encode the chunks */
    PageScan *scan;             /* if the executor's rows are those of a table's pages */
    bool all_rows;              /* the executor's number of rows is not limited */
    bool watches_link;
    uint64 rows;
    uint64 bytes;
} Receiver;

static void
tell_link(Receiver *receiver, Size sent)
{
    ColonnadeQueue queue;

    if (receiver->watches_link && link_queue(&queue))
        colonnade_link(receiver->stream->encoder, sent, &queue);
}

static void
send_message(void *owner, const ColonnadeMessage *message)
{
    Receiver *receiver = owner;

    tell_link(receiver, 0);
    send_copy_data(message);
    tell_link(receiver, message->length);
    if (receiver->statement->chunk_rows != NULL)
        receiver->rows += message->rows;
    receiver->bytes += message->length;
    pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, receiver->bytes);
    pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, receiver->rows);
}

/* Core has reported a query. COPY table reports the table, so its values are set again. */
static void
announce_table(Oid table)
{
    const int parameters[] = {PROGRESS_COPY_COMMAND, PROGRESS_COPY_TYPE};
    const int64 values[] = {PROGRESS_COPY_COMMAND_TO, PROGRESS_COPY_TYPE_PIPE};

    pgstat_progress_start_command(PROGRESS_COMMAND_COPY, table);
    pgstat_progress_update_multi_param(lengthof(parameters), parameters, values);
}

static void
start(DestReceiver *self, int operation, TupleDesc result)
{
    Receiver *receiver = (Receiver *) self;
    const Statement *statement = receiver->statement;
    MemoryContext caller = MemoryContextSwitchTo(statement->context);
    uint32 unsent;

    (void) operation;
    if (OidIsValid(statement->table))
        announce_table(statement->table);
    if (statement->chunk_rows != NULL) {
        result = statement->chunk_rows;
        receiver->handoff = handoff_create();
    }
    receiver->stream = stream_create(result, statement->options, link_to_client(), send_message, receiver);
    stream_begin(receiver->stream);
    if (receiver->handoff == NULL && receiver->all_rows)
        receiver->scan = page_scan_create(receiver->query->planstate, receiver->stream->columns);
    /* Parallel workers encode without information about the link. */
    unsent = statement->chunk_rows == NULL ? colonnade_watches_link(receiver->stream->encoder) : 0;
    receiver->watches_link = unsent > 0;
    if (receiver->watches_link)
        link_limit_unsent(unsent);
    link_enlarge_buffer();
    MemoryContextSwitchTo(caller);
}

static bool
receive(TupleTableSlot *slot, DestReceiver *self)
{
    Receiver *receiver = (Receiver *) self;

    uint64 before = receiver->rows;

    receiver->rows++;
    stream_row(receiver->stream, slot);
    if (receiver->scan != NULL) {
        uint32 rows = stream_page(receiver->stream, receiver->scan);

        receiver->rows += rows;
        /* The executor has counted only the row that it returned. */
        receiver->query->estate->es_processed += rows;
    }
    if (receiver->rows / PROGRESS_ROWS != before / PROGRESS_ROWS)
        pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, receiver->rows);
    return true;
}

/* A worker's chunk or a part of it, which Gather returns as one column. */
static bool
receive_chunk(TupleTableSlot *slot, DestReceiver *self)
{
    Receiver *receiver = (Receiver *) self;
    bool is_null;
    /* Neither compressed nor moved out of its row, because it comes directly from the node that made it. */
    const struct varlena *value = (const struct varlena *) DatumGetPointer(slot_getattr(slot, 1, &is_null));
    const PlanState *gather = receiver->query->planstate;
    Size length;
    const char *chunk = handoff_unpack(receiver->handoff, value, gather, &length);

    if (chunk != NULL)
        stream_adopt(receiver->stream, chunk, length);
    handoff_release(receiver->handoff, value, gather);
    return true;
}

static void
shut_down(DestReceiver *self)
{
    Receiver *receiver = (Receiver *) self;

    stream_end(receiver->stream);
    if (receiver->watches_link)
        link_remember(receiver->stream->encoder);
}

static void
destroy(DestReceiver *self)
{
    /* Freed with its context. */
    (void) self;
}

DestReceiver *
receiver_create(const Statement *statement, const QueryDesc *query, bool all_rows)
{
    Receiver *receiver = MemoryContextAllocZero(statement->context, sizeof(Receiver));

    receiver->pub.receiveSlot = statement->chunk_rows != NULL ? receive_chunk : receive;
    receiver->pub.rStartup = start;
    receiver->pub.rShutdown = shut_down;
    receiver->pub.rDestroy = destroy;
    receiver->pub.mydest = DestCopyOut;
    receiver->statement = statement;
    receiver->query = query;
    receiver->all_rows = all_rows;
    return &receiver->pub;
}

uint64
receiver_rows(const DestReceiver *receiver)
{
    return ((const Receiver *) receiver)->rows;
}
