#include "compat.h"

#include "page.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "deform.h"
#include "pgstat.h"
#include "put.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* No column of the result has this attribute. */
#define UNUSED (-1)

/* Up to this length, text is copied without a branch on its length. It needs this room after the text's end. */
#define WIDE_COPY 64
#define NARROW_COPY 16

/* If a page has fewer rows, each of them is wide. */
#define WIDE_ROWS 16

/* Of the largest row. */
#define BITMAP_BYTES ((MaxTupleAttributeNumber + 7) / 8)

struct PageScan {
    SeqScanState *node;
    const Layout *layout;       /* of the table's attributes */
    const int *targets;         /* the column of each attribute, or UNUSED */
    int attributes;             /* up to the last used one */
    int bitmap_bytes;           /* of this number of attributes */
    Size row_bytes;             /* of each row in plain buffers, rounded up */
    BlockNumber slow;           /* the last page with values that only the executor's way reads */

    /* The rows that are being read: */
    uint32 count;
    Size bytes;                 /* of their tuples */
    const char *end;            /* of the page */
    Size offset;                /* the next attribute's earliest start is at[row] + offset; */
    Size align_mask;            /* at[row] is a multiple of this + 1 */
    const char *at[MaxHeapTuplesPerPage];
    const uint8 *nulls[MaxHeapTuplesPerPage]; /* a bitmap as in a tuple: 0 for NULL */
    uint8 present[BITMAP_BYTES];              /* 1 if no row has a NULL */
};

/* The bitmap of rows without NULLs. */
static uint8 no_nulls[BITMAP_BYTES];

/* Sets targets[attribute] for each column. False if a column is not an attribute, or the same one as another. */
static bool
find_targets(const SeqScanState *node, int *targets, int attributes, int columns)
{
    const SeqScan *plan = (const SeqScan *) node->ss.ps.plan;
    const ListCell *cell;

    for (int i = 0; i < attributes; i++)
        targets[i] = UNUSED;
    if (node->ss.ps.ps_ProjInfo == NULL) {
        /* The rows are the table's. */
        for (int i = 0; i < attributes; i++)
            targets[i] = i;
        return attributes == columns;
    }
    if (list_length(node->ss.ps.plan->targetlist) != columns)
        return false;
    foreach (cell, node->ss.ps.plan->targetlist) {
        const TargetEntry *entry = lfirst_node(TargetEntry, cell);
        const Var *var = (const Var *) entry->expr;

        if (entry->resjunk || !IsA(var, Var) || var->varno != (int) plan->scan.scanrelid || var->varattno < 1 ||
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
    scan->layout = deform_layout(table);
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
    uint32 last = (uint32) heap->rs_ntuples;

    scan->count = 0;
    scan->bytes = 0;
    scan->end = (const char *) page + BLCKSZ;
    scan->offset = 0;
    scan->align_mask = MAXIMUM_ALIGNOF - 1;
    memset(scan->present, 0xFF, scan->bitmap_bytes);
    if (last < WIDE_ROWS)
        prefetch(page);
    for (uint32 index = (uint32) heap->rs_cindex + 1; index < last && scan->count < room; index++) {
        const ItemId item = PageGetItemId(page, heap->rs_vistuples[index]);
        const HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, item);
        const Size needed = scan->bytes + ItemIdGetLength(item) + scan->row_bytes * (scan->count + 1);

        if (HeapTupleHeaderGetNatts(header) < scan->attributes || needed >= budget)
            break;
        scan->bytes += ItemIdGetLength(item);
        scan->at[scan->count] = (const char *) header + header->t_hoff;
        scan->nulls[scan->count] = no_nulls;
        if ((header->t_infomask & HEAP_HASNULL) != 0) {
            scan->nulls[scan->count] = header->t_bits;
            for (int i = 0; i < scan->bitmap_bytes; i++)
                scan->present[i] &= header->t_bits[i];
        }
        scan->count++;
    }
}

static inline const char *
aligned_pointer(const char *at, Size mask)
{
    return (const char *) (((uintptr_t) at + mask) & ~(uintptr_t) mask);
}

/* Moves at[] to the next attribute's start, if that has this alignment. */
static void
settle(PageScan *scan, Size mask)
{
    for (uint32 row = 0; row < scan->count; row++)
        scan->at[row] = aligned_pointer(scan->at[row] + scan->offset, mask);
    scan->offset = 0;
    scan->align_mask = mask;
}

static pg_attribute_always_inline void
put_fixed(Column *column, uint32 row, const char *from, ColumnKind kind)
{
    switch (kind) {
        case KIND_FIXED2:
            ((int16 *) column->values)[row] = *(const int16 *) from;
            break;
        case KIND_FIXED4:
            ((int32 *) column->values)[row] = *(const int32 *) from;
            break;
        case KIND_FIXED8:
            ((int64 *) column->values)[row] = *(const int64 *) from;
            break;
        case KIND_DATE:
            ((int32 *) column->values)[row] = date_of(*(const DateADT *) from);
            break;
        case KIND_TIMESTAMP:
            ((int64 *) column->values)[row] = timestamp_of(column, *(const Timestamp *) from);
            break;
        case KIND_BOOL:
            if (*from != 0)
                ((uint8 *) column->values)[row / 8] |= 1 << (row % 8);
            break;
        case KIND_NUMERIC:
        case KIND_TEXT:
        case KIND_OTHER:
            break;
    }
}

/*
 * The same if some rows have a NULL. With many of them, branches are unpredictable. So NULL affects no branch: it selects the
 * bytes that become 0.
 */
static pg_attribute_always_inline void
take_nullable(PageScan *scan, int attribute, Column *column, uint32 first, ColumnKind kind, Size size)
{
    static const int64 zero = 0;
    static const DateADT zero_date = -EPOCH_DAYS;
    static const Timestamp zero_timestamp = -EPOCH_MICROSECONDS;
    const uintptr_t absent = kind == KIND_DATE        ? (uintptr_t) &zero_date
                             : kind == KIND_TIMESTAMP ? (uintptr_t) &zero_timestamp
                                                      : (uintptr_t) &zero;
    const uintptr_t mask = scan->layout[attribute].align_mask;
    const Size offset = scan->offset;
    uint8 *validity = column->validity;
    uint32 nulls = 0;

    for (uint32 row = 0; row < scan->count; row++) {
        const uint32 at = first + row;
        const uint8 null = ~scan->nulls[row][attribute / 8] >> (attribute % 8) & 1;
        const uintptr_t select = -(uintptr_t) null;
        const uintptr_t start = (uintptr_t) scan->at[row] + offset;
        const uintptr_t from = (start + mask) & ~mask;

        put_fixed(column, at, (const char *) ((absent & select) | (from & ~select)), kind);
        validity[at / 8] &= ~(null << (at % 8));
        nulls += null;
        scan->at[row] = (const char *) ((start & select) | ((from + size) & ~select));
    }
    column->null_count += nulls;
    scan->offset = 0;
    scan->align_mask = 0;
}

/* An attribute of a fixed size, which is a constant in each call, as `kind` is. */
static pg_attribute_always_inline void
take_fixed(PageScan *scan, int attribute, Column *column, uint32 first, ColumnKind kind, Size size)
{
    const Size mask = scan->layout[attribute].align_mask;

    if (likely(!att_isnull(attribute, scan->present))) {
        if (mask > scan->align_mask)
            settle(scan, mask);
        scan->offset = (scan->offset + mask) & ~mask;
        for (uint32 row = 0; row < scan->count; row++)
            put_fixed(column, first + row, scan->at[row] + scan->offset, kind);
        scan->offset += size;
        return;
    }
    take_nullable(scan, attribute, column, first, kind, size);
}

/*
 * The value of an attribute of variable length that starts at `*at` or after its padding; moves `*at` to its end. NULL if it
 * was compressed or moved out of the row.
 */
static pg_attribute_always_inline const char *
take_varlena(const char **at, Size mask, Size *length)
{
    const char *varlena = *at;

    if (!VARATT_IS_1B(varlena)) {
        /* A long header is aligned, and padding is 0. */
        varlena = VARATT_NOT_PAD_BYTE(varlena) ? varlena : aligned_pointer(varlena, mask);
        if (VARATT_IS_4B_U(varlena)) {
            *at = varlena + VARSIZE_4B(varlena);
            *length = VARSIZE_4B(varlena) - VARHDRSZ;
            return VARDATA_4B(varlena);
        }
        if (!VARATT_IS_1B(varlena))
            return NULL;
    }
    if (unlikely(VARATT_IS_1B_E(varlena)))
        return NULL;
    *at = varlena + VARSIZE_1B(varlena);
    *length = VARSIZE_1B(varlena) - VARHDRSZ_SHORT;
    return VARDATA_1B(varlena);
}

/* Copies a text to a place with WIDE_COPY bytes more room. Most text is short, and a call of memcpy costs more than the copy. */
static pg_attribute_always_inline void
copy_text(char *to, const char *from, Size length, const char *end)
{
    if (likely(length <= NARROW_COPY && from + NARROW_COPY <= end))
        memcpy(to, from, NARROW_COPY);
    else if (likely(length <= WIDE_COPY && from + WIDE_COPY <= end))
        memcpy(to, from, WIDE_COPY);
    else
        memcpy(to, from, length);
}

/* An attribute of a variable length. Ends the rows before a value that cannot be read here. */
static pg_attribute_always_inline void
take_variable(PageScan *scan, int attribute, Column *column, uint32 first, ColumnKind kind)
{
    const Size mask = scan->layout[attribute].align_mask;
    const bool any_null = att_isnull(attribute, scan->present);
    const Size offset = scan->offset;
    const char *const end = scan->end;
    int32 *offsets = (int32 *) column->values + first + 1;
    char *data = NULL;
    Size filled = column->data_length;

    if (kind == KIND_TEXT) {
        if (column->data_capacity - filled < scan->bytes + WIDE_COPY)
            column_reserve_data(column, scan->bytes + WIDE_COPY);
        data = column->data;
    }
    for (uint32 row = 0; row < scan->count; row++) {
        const char *at = scan->at[row] + offset;
        const char *body;
        Size length;

        if (any_null && att_isnull(attribute, scan->nulls[row])) {
            column->data_length = filled;
            column_put_null(column, first + row);
            scan->at[row] = at;
            continue;
        }
        body = take_varlena(&at, mask, &length);
        if (unlikely(body == NULL)) {
            scan->count = row;
            break;
        }
        scan->at[row] = at;
        if (kind == KIND_NUMERIC)
            numeric_put(column, first + row, body, length);
        else {
            copy_text(data + filled, body, length, end);
            filled += length;
            offsets[row] = (int32) filled;
        }
    }
    column->data_length = filled;
    scan->offset = 0;
    scan->align_mask = 0;
}

/* Passes over an attribute that is in no column. */
static void
pass_over(PageScan *scan, int attribute)
{
    const Layout *layout = &scan->layout[attribute];
    const Size mask = layout->align_mask;

    if (layout->length > 0 && !att_isnull(attribute, scan->present) && mask <= scan->align_mask) {
        scan->offset = ((scan->offset + mask) & ~mask) + (Size) layout->length;
        return;
    }
    settle(scan, 0);
    for (uint32 row = 0; row < scan->count; row++) {
        const char *at = scan->at[row];

        if (att_isnull(attribute, scan->nulls[row]))
            continue;
        if (layout->length == -1)
            at = VARATT_NOT_PAD_BYTE(at) ? at : aligned_pointer(at, mask);
        else
            at = aligned_pointer(at, mask);
        if (layout->length == -1)
            at += VARSIZE_ANY(at);
        else
            at += layout->length == -2 ? strlen(at) + 1 : (Size) layout->length;
        scan->at[row] = at;
    }
}

static void
take_attribute(PageScan *scan, int attribute, Column *column, uint32 first)
{
    switch ((ColumnKind) column->kind) {
        case KIND_FIXED2:
            take_fixed(scan, attribute, column, first, KIND_FIXED2, sizeof(int16));
            break;
        case KIND_FIXED4:
            take_fixed(scan, attribute, column, first, KIND_FIXED4, sizeof(int32));
            break;
        case KIND_FIXED8:
            take_fixed(scan, attribute, column, first, KIND_FIXED8, sizeof(int64));
            break;
        case KIND_DATE:
            take_fixed(scan, attribute, column, first, KIND_DATE, sizeof(DateADT));
            break;
        case KIND_TIMESTAMP:
            take_fixed(scan, attribute, column, first, KIND_TIMESTAMP, sizeof(Timestamp));
            break;
        case KIND_BOOL:
            take_fixed(scan, attribute, column, first, KIND_BOOL, sizeof(bool));
            break;
        case KIND_NUMERIC:
            take_variable(scan, attribute, column, first, KIND_NUMERIC);
            break;
        case KIND_TEXT:
            take_variable(scan, attribute, column, first, KIND_TEXT);
            break;
        case KIND_OTHER:
            break;
    }
}

/* Marks the rows as returned, as heapgettup_pagemode() and heap_getnextslot() of heapam.c do. */
static void
mark_returned(const PageScan *scan, HeapScanDesc heap)
{
    heap->rs_cindex += scan->count;
    for (uint32 row = 0; row < scan->count; row++)
        pgstat_count_heap_getnext(heap->rs_base.rs_rd);
}

uint32
page_scan_take(PageScan *scan, Sink *sink, Columns *columns, uint32 first, uint32 room, Size budget)
{
    HeapScanDesc heap = page_of(scan);
    uint32 found;

    if (heap == NULL)
        return 0;
    find_rows(scan, heap, room, budget);
    found = scan->count;
    for (int i = 0; i < scan->attributes && scan->count > 0; i++) {
        if (scan->targets[i] == UNUSED)
            pass_over(scan, i);
        else
            take_attribute(scan, i, &columns->columns[scan->targets[i]], first);
    }
    if (scan->count < found) {
        scan->slow = heap->rs_cblock;
        for (int i = 0; i < columns->count; i++)
            column_truncate(&columns->columns[i], first + scan->count, found - scan->count);
    }
    for (int i = 0; i < columns->count; i++) {
        const int32 *offsets = (const int32 *) columns->columns[i].values;

        if (columns->columns[i].shape == SHAPE_BYTES && scan->count > 0)
            sink->variable += offsets[first + scan->count] - offsets[first];
    }
    mark_returned(scan, heap);
    return scan->count;
}
