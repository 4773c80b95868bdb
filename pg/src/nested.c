#include "compat.h"

#include "nested.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_enum.h"
#include "put.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

/* The minimum number of list items for which memory is allocated at a time. */
#define LEAST_ITEMS 256

static void
refuse_array(const Column *column, const char *what)
{
    ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("column \"%s\" of type %s: %s has no form as a list", column->name, column->type_name, what),
            errhint("Cast the column to text, or name it in the COPY option \"as_text\"."));
}

void
array_put(Sink *sink, Column *column, uint32 row, Datum value)
{
    ListDetail *list = &column->detail.list;
    Column *child = &column->children[0];
    ArrayType *array = (ArrayType *) DatumGetPointer(value);
    int dimensions;
    int count;
    const char *at;
    const uint8 *valid;

    /* Short headers are also extended, because an array's own header must be aligned. */
    if (VARATT_IS_EXTENDED(array)) {
        sink->row_context_used = true;
        array = (ArrayType *) detoast_attr((struct varlena *) array);
    }
    dimensions = ARR_NDIM(array);
    if (dimensions > 1)
        refuse_array(column, psprintf("an array of %d dimensions", dimensions));
    if (dimensions == 1 && ARR_LBOUND(array)[0] != 1)
        refuse_array(column, psprintf("an array that starts at %d", ARR_LBOUND(array)[0]));
    count = dimensions == 0 ? 0 : ARR_DIMS(array)[0];

    if (list->items + (uint64) count > PG_INT32_MAX)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("column \"%s\": a chunk has more than 2^31 - 1 items of it", column->name),
                errhint("Ask for smaller chunks with the options chunk_rows and chunk_bytes."));
    if (list->items + count > child->capacity)
        column_reserve(child, Max(list->items + count, LEAST_ITEMS));

    at = ARR_DATA_PTR(array);
    valid = ARR_NULLBITMAP(array);
    for (int i = 0; i < count; i++) {
        if (valid != NULL && !(valid[i / 8] >> (i % 8) & 1)) {
            column_put_null(child, list->items + i);
            continue;
        }
        column_put(sink, child, list->items + i, fetch_att(at, list->by_value, list->length));
        at = att_addlength_pointer(at, list->length, at);
        at = (const char *) att_align_nominal(at, list->align);
    }
    list->items += count;
    ((int32 *) column->values)[row + 1] = (int32) list->items;
    sink->variable += ((uint64) count * child->row_bits + 7) / 8;
}

void
composite_put(Sink *sink, Column *column, uint32 row, Datum value)
{
    StructDetail *detail = &column->detail.row;
    HeapTupleHeader header = (HeapTupleHeader) DatumGetPointer(value);
    HeapTupleData tuple;

    if (VARATT_IS_EXTENDED((struct varlena *) header)) {
        sink->row_context_used = true;
        header = (HeapTupleHeader) detoast_attr((struct varlena *) header);
    }
    tuple.t_len = HeapTupleHeaderGetDatumLength(header);
    ItemPointerSetInvalid(&tuple.t_self);
    tuple.t_tableOid = InvalidOid;
    tuple.t_data = header;
    heap_deform_tuple(&tuple, detail->row_type, detail->values, detail->nulls);
    for (int i = 0; i < detail->row_type->natts; i++) {
        Column *child = detail->attribute[i];

        if (child == NULL)
            continue;
        if (detail->nulls[i])
            column_put_null(child, row);
        else
            column_put(sink, child, row, detail->values[i]);
    }
}

void
enum_put(Sink *sink, Column *column, uint32 row, Datum value)
{
    const EnumDetail *labels = &column->detail.labels;
    Oid wanted = DatumGetObjectId(value);
    int low = 0;
    int high = labels->count;

    (void) sink;
    while (low < high) {
        int middle = low + (high - low) / 2;

        if (labels->oids[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == labels->count || labels->oids[low] != wanted)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("column \"%s\": a label was added to type %s while the query ran", column->name,
                       column->type_name),
                errhint("Run the query again."));
    switch (column->width) {
        case 1:
            ((uint8 *) column->values)[row] = (uint8) labels->codes[low];
            break;
        case 2:
            ((uint16 *) column->values)[row] = (uint16) labels->codes[low];
            break;
        default:
            ((uint32 *) column->values)[row] = labels->codes[low];
    }
}

typedef struct Label {
    Oid oid;
    uint32 code;
} Label;

static int
by_oid(const void *left, const void *right)
{
    Oid a = ((const Label *) left)->oid;
    Oid b = ((const Label *) right)->oid;

    return a < b ? -1 : a > b;
}

void
enum_load(Column *column, Oid type)
{
    EnumDetail *detail = &column->detail.labels;
    Column *text = &column->children[0];
    Sink sink = {0};
    Label *labels = NULL;
    int room = 0;
    Relation catalog = table_open(EnumRelationId, AccessShareLock);
    ScanKeyData key;
    SysScanDesc scan;
    HeapTuple tuple;

    detail->count = 0;
    ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
    /* The index returns them in the enum's order. */
    scan = systable_beginscan(catalog, EnumTypIdSortOrderIndexId, true, NULL, 1, &key);
    while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
        Form_pg_enum label = (Form_pg_enum) GETSTRUCT(tuple);
        Size length;
        const char *utf8 = text_to_utf8(NameStr(label->enumlabel), strlen(NameStr(label->enumlabel)), &length);

        if (detail->count == room) {
            room = Max(16, 2 * room);
            labels = labels == NULL ? palloc(room * sizeof(Label)) : repalloc(labels, room * sizeof(Label));
            column_reserve(text, room);
        }
        labels[detail->count].oid = label->oid;
        labels[detail->count].code = detail->count;
        column_append(&sink, text, detail->count, utf8, length);
        detail->count++;
    }
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);

    if (detail->count > 0)
        qsort(labels, detail->count, sizeof(Label), by_oid);
    detail->oids = palloc(Max(1, detail->count) * sizeof(Oid));
    detail->codes = palloc(Max(1, detail->count) * sizeof(uint32));
    for (int i = 0; i < detail->count; i++) {
        detail->oids[i] = labels[i].oid;
        detail->codes[i] = labels[i].code;
    }
}
