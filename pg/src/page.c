#include "compat.h"

#include "page.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "page_rows.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* No column of the result has this attribute. */
#define UNUSED (-1)

/* If a page has fewer rows, each of them is wide. */
#define WIDE_ROWS 16

struct PageScan {
    SeqScanState *node;
    const int *targets;         /* the column of each attribute, or UNUSED */
    int attributes;             /* up to the last used one */
    int bitmap_bytes;           /* of this number of attributes */
    Size row_bytes;             /* of each row in plain buffers, rounded up */
    BlockNumber slow;           /* the last page with values that only the executor's way reads */
    PageRows rows;              /* those that are being read */
};

/* The bitmap of rows without NULLs. */
static uint8 no_nulls[lengthof(((PageRows *) NULL)->present)];

/* Sets targets[attribute] for each column. False if a column is not an attribute, or the same one as another. */
static bool
find_targets(const SeqScanState *node, int *targets, int attributes, int columns)
{
    const Scan *plan = (const Scan *) node->ss.ps.plan;
    const ListCell *cell;

    for (int i = 0; i < attributes; i++)
        targets[i] = UNUSED;
    if (node->ss.ps.ps_ProjInfo == NULL) {
        /* The rows are the table's. */
        for (int i = 0; i < attributes; i++)
            targets[i] = i;
        return attributes == columns;
    }
    if (list_length(plan->plan.targetlist) != columns)
        return false;
    foreach (cell, plan->plan.targetlist) {
        const TargetEntry *entry = lfirst_node(TargetEntry, cell);
        const Var *var = (const Var *) entry->expr;

        if (entry->resjunk || !IsA(var, Var) || var->varno != (int) plan->scanrelid || var->varattno < 1 ||
            var->varattno > attributes || targets[var->varattno - 1] != UNUSED)
            return false;
        targets[var->varattno - 1] = entry->resno - 1;
    }
    return true;
}

PageScan *
page_scan_create(PlanState *node, const Columns *columns)
{
    const SeqScanState *sequential = (const SeqScanState *) node;
    PageScan *scan;
    TupleDesc table;
    int *targets;

    /* With instrumentation, EXPLAIN's numbers of rows would be wrong. */
    if (!IsA(node, SeqScanState) || node->qual != NULL || node->instrument != NULL || node->state->es_junkFilter != NULL ||
        node->state->es_epq_active != NULL ||
        sequential->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
        return NULL;
    for (int i = 0; i < columns->count; i++)
        if (columns->columns[i].kind == KIND_OTHER)
            return NULL;
    table = RelationGetDescr(sequential->ss.ss_currentRelation);
    targets = palloc(Max(1, table->natts) * sizeof(*targets));
    if (!find_targets(sequential, targets, table->natts, columns->count)) {
        pfree(targets);
        return NULL;
    }
    memset(no_nulls, 0xFF, sizeof(no_nulls));
    scan = palloc(sizeof(*scan));
    scan->node = (SeqScanState *) node;
    scan->rows.layout = deform_layout(table);
    scan->targets = targets;
    scan->attributes = 0;
    for (int i = 0; i < table->natts; i++)
        if (targets[i] != UNUSED)
            scan->attributes = i + 1;
    scan->bitmap_bytes = (scan->attributes + 7) / 8;
    scan->row_bytes = (Size) (columns->row_bits / 8 + 1);
    scan->slow = InvalidBlockNumber;
    return scan;
}

/* The scan, if it holds a page of which rows are left. */
static HeapScanDesc
page_of(const PageScan *scan)
{
    const ScanState *state = &scan->node->ss;
    HeapScanDesc heap = (HeapScanDesc) state->ss_currentScanDesc;

    if (heap == NULL || (heap->rs_base.rs_flags & SO_ALLOW_PAGEMODE) == 0 || heap->rs_base.rs_nkeys != 0 ||
        !ScanDirectionIsForward(state->ps.state->es_direction) || !heap->rs_inited || !BufferIsValid(heap->rs_cbuf) ||
        heap->rs_cblock == scan->slow)
        return NULL;
    return heap;
}

/*
 * Loads the page into the cache, in order and many lines at a time. Columns jump from row to row; if rows are wide, each jump
 * would wait for a line.
 */
static void
prefetch(const char *page)
{
    for (int at = 0; at < BLCKSZ; at += PG_CACHE_LINE_SIZE / 2)
        __builtin_prefetch(page + at);
}

/* Finds the rows to read. */
static void
find_rows(PageScan *scan, const HeapScanDescData *heap, uint32 room, Size budget)
{
    const Page page = BufferGetPage(heap->rs_cbuf);
    const uint32 last = (uint32) heap->rs_ntuples;
    PageRows *rows = &scan->rows;

    rows->count = 0;
    rows->bytes = 0;
    rows->end = (const char *) page + BLCKSZ;
    rows->offset = 0;
    rows->align_mask = MAXIMUM_ALIGNOF - 1;
    memset(rows->present, 0xFF, scan->bitmap_bytes);
    if (last < WIDE_ROWS)
        prefetch(page);
    for (uint32 index = (uint32) heap->rs_cindex + 1; index < last && rows->count < room; index++) {
        const ItemId item = PageGetItemId(page, heap->rs_vistuples[index]);
        const HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, item);
        const Size needed = rows->bytes + ItemIdGetLength(item) + scan->row_bytes * (rows->count + 1);

        if (HeapTupleHeaderGetNatts(header) < scan->attributes || needed >= budget)
            break;
        rows->bytes += ItemIdGetLength(item);
        rows->at[rows->count] = (const char *) header + header->t_hoff;
        rows->nulls[rows->count] = no_nulls;
        if ((header->t_infomask & HEAP_HASNULL) != 0) {
            rows->nulls[rows->count] = header->t_bits;
            for (int i = 0; i < scan->bitmap_bytes; i++)
                rows->present[i] &= header->t_bits[i];
        }
        rows->count++;
    }
}

/* Marks the rows as returned, as heapgettup_pagemode() and heap_getnextslot() of heapam.c do. */
static void
mark_returned(HeapScanDesc heap, uint32 count)
{
    heap->rs_cindex += count;
    for (uint32 row = 0; row < count; row++)
        pgstat_count_heap_getnext(heap->rs_base.rs_rd);
}

uint32
page_scan_take(PageScan *scan, Sink *sink, Columns *columns, uint32 first, uint32 room, Size budget)
{
    HeapScanDesc heap = page_of(scan);
    PageRows *rows = &scan->rows;
    uint32 found;

    if (heap == NULL)
        return 0;
    find_rows(scan, heap, room, budget);
    found = rows->count;
    for (int i = 0; i < scan->attributes && rows->count > 0; i++) {
        if (scan->targets[i] == UNUSED)
            page_rows_pass(rows, i);
        else
            page_rows_take(rows, i, &columns->columns[scan->targets[i]], first);
    }
    if (rows->count < found) {
        scan->slow = heap->rs_cblock;
        for (int i = 0; i < columns->count; i++)
            column_truncate(&columns->columns[i], first + rows->count, found - rows->count);
    }
    for (int i = 0; i < columns->count; i++) {
        const int32 *offsets = (const int32 *) columns->columns[i].values;

        if (columns->columns[i].shape == SHAPE_BYTES && rows->count > 0)
            sink->variable += offsets[first + rows->count] - offsets[first];
    }
    mark_returned(heap, rows->count);
    return rows->count;
}
