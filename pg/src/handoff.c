#include "compat.h"

#include "handoff.h"

#include "access/parallel.h"
#include "executor/execParallel.h"
#include "utils/memutils.h"

/*
 * A queue between a worker and the leader has 64 KB (PARALLEL_TUPLE_QUEUE_SIZE of execParallel.c). A chunk that passed
 * through it would be copied three times, in pieces. So the chunk is in the query's shared memory, and only a reference
 * passes through the queue. The reference has this length for two reasons. First, a queue notifies its reader of new data
 * only when a quarter of it is filled. Second, a full queue stops the worker, which happens at three chunks.
 */
#define REFERENCE_BYTES 20000

/* Shorter chunks pass through the queue. Longer ones do too if shared memory cannot be allocated. */
#define SHARED_FROM REFERENCE_BYTES
#define SHARED_TO (32 << 20)

/* Longer chunks are divided into parts, because a value has less than 1 GiB and is in memory several times. */
#define PART_BYTES (16 << 20)

/* Replaces a message's magic. */
#define REFERENCE_MAGIC 0
#define PART_MAGIC 1

typedef struct Reference {
    uint32 magic;
    dsa_pointer chunk;
    Size length;
} Reference;

/* Parts of one worker's chunks arrive in order, mixed with those of other workers. */
typedef struct Part {
    uint32 magic;
    int worker;
    Size total;                 /* bytes of the whole chunk */
} Part;

typedef struct Partial {
    int worker;
    char *bytes;                /* NULL between two chunks */
    Size filled;
    Size total;
} Partial;

struct Handoff {
    MemoryContext context;
    List *partials;             /* Partial *: one for each worker that sent a part */
    Partial *complete;          /* the one returned last */
};

static bytea *
value_of(Size length)
{
    bytea *value = palloc(VARHDRSZ + length);

    SET_VARSIZE(value, VARHDRSZ + length);
    return value;
}

static void
copy_message(char *to, const ColonnadeMessage *message)
{
    for (size_t i = 0; i < message->count; i++) {
        memcpy(to, message->slices[i].bytes, message->slices[i].length);
        to += message->slices[i].length;
    }
}

static bytea *
pack_reference(const ColonnadeMessage *message, dsa_area *shared)
{
    Reference reference = {REFERENCE_MAGIC, dsa_allocate(shared, message->length), message->length};
    bytea *value = value_of(REFERENCE_BYTES);

    copy_message(dsa_get_address(shared, reference.chunk), message);
    memset(VARDATA(value), 0, REFERENCE_BYTES);
    memcpy(VARDATA(value), &reference, sizeof(reference));
    return value;
}

static List *
pack_parts(List *values, const ColonnadeMessage *message)
{
    const Part part = {PART_MAGIC, ParallelWorkerNumber, message->length};
    Size left = message->length;
    Size room = 0;
    char *to = NULL;

    for (size_t i = 0; i < message->count; i++) {
        const uint8 *bytes = message->slices[i].bytes;
        Size length = message->slices[i].length;

        while (length > 0) {
            Size taken;

            if (room == 0) {
                bytea *value;

                room = Min(left, PART_BYTES);
                value = value_of(sizeof(part) + room);
                memcpy(VARDATA(value), &part, sizeof(part));
                to = VARDATA(value) + sizeof(part);
                values = lappend(values, value);
            }
            taken = Min(length, room);
            memcpy(to, bytes, taken);
            to += taken;
            bytes += taken;
            length -= taken;
            room -= taken;
            left -= taken;
        }
    }
    return values;
}

List *
handoff_pack(List *values, const ColonnadeMessage *message, dsa_area *shared)
{
    bytea *value;

    if (message->length > SHARED_TO)
        return pack_parts(values, message);
    if (shared != NULL && message->length >= SHARED_FROM)
        return lappend(values, pack_reference(message, shared));
    value = value_of(message->length);
    copy_message(VARDATA(value), message);
    return lappend(values, value);
}

Handoff *
handoff_create(void)
{
    Handoff *handoff = palloc0(sizeof(Handoff));

    handoff->context = CurrentMemoryContext;
    return handoff;
}

static dsa_area *
area_of(const PlanState *gather)
{
    return castNode(GatherState, unconstify(PlanState *, gather))->pei->area;
}

static bool
is_reference(const struct varlena *value, Reference *reference)
{
    if (VARSIZE_ANY_EXHDR(value) != REFERENCE_BYTES)
        return false;
    memcpy(reference, VARDATA_ANY(value), sizeof(*reference));
    return reference->magic == REFERENCE_MAGIC;
}

static bool
is_part(const struct varlena *value, Part *part)
{
    if (VARSIZE_ANY_EXHDR(value) < sizeof(*part))
        return false;
    memcpy(part, VARDATA_ANY(value), sizeof(*part));
    return part->magic == PART_MAGIC;
}

static Partial *
partial_of(Handoff *handoff, int worker)
{
    MemoryContext caller;
    Partial *partial;
    ListCell *cell;

    foreach (cell, handoff->partials) {
        partial = lfirst(cell);
        if (partial->worker == worker)
            return partial;
    }
    caller = MemoryContextSwitchTo(handoff->context);
    partial = palloc0(sizeof(Partial));
    partial->worker = worker;
    handoff->partials = lappend(handoff->partials, partial);
    MemoryContextSwitchTo(caller);
    return partial;
}

static const char *
add_part(Handoff *handoff, const struct varlena *value, const Part *part, Size *length)
{
    Partial *partial = partial_of(handoff, part->worker);
    Size more = VARSIZE_ANY_EXHDR(value) - sizeof(*part);

    if (partial->bytes == NULL) {
        partial->bytes = MemoryContextAllocHuge(handoff->context, part->total);
        partial->total = part->total;
        partial->filled = 0;
    }
    if (part->total != partial->total || more > partial->total - partial->filled)
        elog(ERROR, "a part of a chunk does not belong to it");
    memcpy(partial->bytes + partial->filled, VARDATA_ANY(value) + sizeof(*part), more);
    partial->filled += more;
    if (partial->filled < partial->total)
        return NULL;
    handoff->complete = partial;
    *length = partial->total;
    return partial->bytes;
}

const char *
handoff_unpack(Handoff *handoff, const struct varlena *value, const PlanState *gather, Size *length)
{
    Reference reference;
    Part part;

    if (is_part(value, &part))
        return add_part(handoff, value, &part, length);
    if (is_reference(value, &reference)) {
        *length = reference.length;
        return dsa_get_address(area_of(gather), reference.chunk);
    }
    *length = VARSIZE_ANY_EXHDR(value);
    return VARDATA_ANY(value);
}

void
handoff_release(Handoff *handoff, const struct varlena *value, const PlanState *gather)
{
    Reference reference;

    if (is_reference(value, &reference))
        dsa_free(area_of(gather), reference.chunk);
    if (handoff->complete != NULL) {
        pfree(handoff->complete->bytes);
        handoff->complete->bytes = NULL;
        handoff->complete = NULL;
    }
}
