#include "compat.h"

#include "parallel.h"

#include "access/parallel.h"
#include "catalog/pg_type.h"
#include "chunk.h"
#include "executor/executor.h"
#include "handoff.h"
#include "link.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "shape.h"
#include "utils/memutils.h"

#define NODE_NAME "Colonnade Chunks"

/* The plan node's number. The planner's own numbers count from 0. */
#define PLAN_NODE_ID PG_INT32_MAX

/* The positions in custom_private, which is passed to the workers as text: strings, and finally a list of strings. */
enum {
    PRIVATE_COMPRESSION,
    PRIVATE_ENCODINGS,
    PRIVATE_CODECS,
    PRIVATE_CHUNK_ROWS,
    PRIVATE_CHUNK_BYTES,
    PRIVATE_MESSAGE_BYTES,
    PRIVATE_PRECISION,
    PRIVATE_SCALE,
    PRIVATE_LINK,
    PRIVATE_AS_TEXT
};

typedef struct ChunksState {
    CustomScanState custom;
    Stream *stream;             /* created with the first row */
    PageScan *scan;             /* if the rows are those of a table's pages */
    List *ready;                /* bytea: chunks to return, or parts of them */
    bytea *given;               /* the one returned last */
    bool ended;
} ChunksState;

/*
 * An option that was given is written after a "="; an empty string is an option that was not given. An empty list of
 * encodings is "=".
 */
static Node *
option(const char *text)
{
    return (Node *) makeString(text == NULL ? pstrdup("") : psprintf("=%s", text));
}

static Node *
number(uint64 value)
{
    return (Node *) makeString(psprintf(UINT64_FORMAT, value));
}

static List *
to_private(const CopyOptions *options, uint8 link)
{
    List *list = NIL;
    List *as_text = NIL;
    ListCell *cell;

    foreach (cell, options->as_text)
        as_text = lappend(as_text, makeString(pstrdup(lfirst(cell))));
    list = lappend(list, option(options->compression));
    list = lappend(list, option(options->encodings));
    list = lappend(list, option(options->codecs));
    list = lappend(list, number(options->chunk_rows));
    list = lappend(list, number(options->chunk_bytes));
    list = lappend(list, number(options->max_message_bytes));
    list = lappend(list, number(options->numeric_precision));
    list = lappend(list, number(options->numeric_scale));
    list = lappend(list, number(link));
    return lappend(list, as_text);
}

static const char *
private_text(const List *list, int place)
{
    return strVal(list_nth(list, place));
}

static uint64
private_number(const List *list, int place)
{
    return strtoull(private_text(list, place), NULL, 10);
}

static const char *
private_option(const List *list, int place)
{
    const char *text = private_text(list, place);

    return *text == '\0' ? NULL : text + 1;
}

static CopyOptions *
from_private(const List *list)
{
    CopyOptions *options = palloc0(sizeof(CopyOptions));
    ListCell *cell;

    options->compression = private_option(list, PRIVATE_COMPRESSION);
    options->encodings = private_option(list, PRIVATE_ENCODINGS);
    options->codecs = private_option(list, PRIVATE_CODECS);
    options->chunk_rows = (uint32) private_number(list, PRIVATE_CHUNK_ROWS);
    options->chunk_bytes = private_number(list, PRIVATE_CHUNK_BYTES);
    options->max_message_bytes = private_number(list, PRIVATE_MESSAGE_BYTES);
    options->numeric_precision = (int) private_number(list, PRIVATE_PRECISION);
    options->numeric_scale = (int) private_number(list, PRIVATE_SCALE);
    foreach (cell, (List *) list_nth(list, PRIVATE_AS_TEXT))
        options->as_text = lappend(options->as_text, strVal(lfirst(cell)));
    return options;
}

/* Keeps a worker's chunk until the leader asks for it. */
static void
keep_chunk(void *owner, const ColonnadeMessage *message)
{
    ChunksState *state = owner;
    EState *estate = state->custom.ss.ps.state;
    MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);

    state->ready = handoff_pack(state->ready, message, IsParallelWorker() ? estate->es_query_dsa : NULL);
    MemoryContextSwitchTo(caller);
}

static PlanState *
child_of(const ChunksState *state)
{
    return linitial(state->custom.custom_ps);
}

static void
open_stream(ChunksState *state)
{
    const List *list = ((CustomScan *) state->custom.ss.ps.plan)->custom_private;
    EState *estate = state->custom.ss.ps.state;
    MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);

    state->stream = stream_create(ExecGetResultType(child_of(state)), from_private(list),
                                  link_of_worker((uint8) private_number(list, PRIVATE_LINK)), keep_chunk, state);
    state->scan = page_scan_create(child_of(state), state->stream->columns);
    MemoryContextSwitchTo(caller);
}

static TupleTableSlot *
next_chunk(CustomScanState *node)
{
    ChunksState *state = (ChunksState *) node;
    TupleTableSlot *result = node->ss.ss_ScanTupleSlot;

    ExecClearTuple(result);
    if (state->given != NULL) {
        pfree(state->given);
        state->given = NULL;
    }
    if (state->stream == NULL)
        open_stream(state);
    while (state->ready == NIL && !state->ended) {
        TupleTableSlot *row = ExecProcNode(child_of(state));

        if (TupIsNull(row)) {
            stream_flush(state->stream);
            state->ended = true;
        } else {
            stream_row(state->stream, row);
            if (state->scan != NULL)
                (void) stream_page(state->stream, state->scan);
        }
    }
    if (state->ready == NIL)
        return result;
    state->given = linitial(state->ready);
    state->ready = list_delete_first(state->ready);
    result->tts_values[0] = PointerGetDatum(state->given);
    result->tts_isnull[0] = false;
    return ExecStoreVirtualTuple(result);
}

static void
begin(CustomScanState *node, EState *estate, int flags)
{
    Plan *child = linitial(((CustomScan *) node->ss.ps.plan)->custom_plans);

    node->custom_ps = list_make1(ExecInitNode(child, estate, flags));
}

static void
end(CustomScanState *node)
{
    /* The stream is freed with the executor's context. */
    ExecEndNode(child_of((ChunksState *) node));
}

static void
rescan(CustomScanState *node)
{
    ChunksState *state = (ChunksState *) node;

    /* Restarts from the beginning. A Gather at the top is never rescanned, but a plan may require it. */
    state->stream = NULL;
    state->scan = NULL;
    state->ready = NIL;
    state->ended = false;
    ExecReScan(child_of(state));
}

static const CustomExecMethods exec_methods = {
    .CustomName = NODE_NAME,
    .BeginCustomScan = begin,
    .ExecCustomScan = next_chunk,
    .EndCustomScan = end,
    .ReScanCustomScan = rescan,
};

static Node *
create_state(CustomScan *scan)
{
    ChunksState *state = (ChunksState *) newNode(sizeof(ChunksState), T_CustomScanState);

    (void) scan;
    state->custom.methods = &exec_methods;
    return (Node *) state;
}

static const CustomScanMethods scan_methods = {
    .CustomName = NODE_NAME,
    .CreateCustomScanState = create_state,
};

void
parallel_register(void)
{
    RegisterCustomScanMethods(&scan_methods);
}

static List *
one_column(Expr *expression)
{
    return list_make1(makeTargetEntry(expression, 1, pstrdup("chunk"), false));
}

static Expr *
bytea_of(int varno)
{
    return (Expr *) makeVar(varno, 1, BYTEAOID, -1, InvalidOid, 0);
}

static CustomScan *
chunks_of(Plan *child, const CopyOptions *options, uint8 link)
{
    CustomScan *scan = makeNode(CustomScan);
    Plan *plan = &scan->scan.plan;

    plan->startup_cost = child->startup_cost;
    plan->total_cost = child->total_cost;
    plan->plan_rows = clamp_row_est(child->plan_rows / options->chunk_rows);
    plan->plan_width = (int) Min(options->chunk_bytes, PG_INT32_MAX);
    plan->parallel_safe = true;
    plan->plan_node_id = PLAN_NODE_ID;
    plan->extParam = bms_copy(child->extParam);
    plan->allParam = bms_copy(child->allParam);
    plan->targetlist = one_column(bytea_of(INDEX_VAR));
    scan->custom_scan_tlist = one_column((Expr *) makeNullConst(BYTEAOID, -1, InvalidOid));
    scan->custom_plans = list_make1(child);
    scan->custom_private = to_private(options, link);
    scan->methods = &scan_methods;
    return scan;
}

TupleDesc
parallel_plan(PlannedStmt *planned, const CopyOptions *options, uint8 link)
{
    Gather *gather = (Gather *) planned->planTree;
    TupleDesc result;
    ListCell *above;
    ListCell *below;

    if (options->parallel == PARALLEL_OFF || !shape_is_forwarding(planned))
        return NULL;
    result = ExecTypeFromTL(gather->plan.targetlist);
    /* The planner names only the columns at the top, but workers look for the names in as_text. */
    forboth (above, gather->plan.targetlist, below, gather->plan.lefttree->targetlist)
        lfirst_node(TargetEntry, below)->resname = lfirst_node(TargetEntry, above)->resname;
    gather->plan.lefttree = (Plan *) chunks_of(gather->plan.lefttree, options, link);
    gather->plan.targetlist = one_column(bytea_of(OUTER_VAR));
    /* The leader forwards the chunks, so it runs the plan only if no worker is available. */
    gather->single_copy = true;
    return result;
}
