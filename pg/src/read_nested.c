#include "compat.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "read.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Larger dictionaries are not worth the memory for their labels' OIDs. */
#define MAX_LABELS 1000000

Datum
read_array(Reader *reader, uint32 row, bool *is_null)
{
    const ArrayReader *detail = &reader->detail.array;
    Reader *child = &reader->children[0];
    const int32 first = int4_at(reader->values, row);
    int count = int4_at(reader->values, row + 1) - first;
    int start = 1;
    Datum *values;
    bool *nulls;

    (void) is_null;
    if (count == 0)
        return PointerGetDatum(construct_empty_array(detail->item_type));
    if ((Size) count > MaxArraySize)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("array size exceeds the maximum allowed (%d)", (int) MaxArraySize));
    values = palloc(count * sizeof(Datum));
    nulls = palloc(count * sizeof(bool));
    for (int i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        values[i] = reader_datum(child, first + i, &nulls[i]);
    }
    return PointerGetDatum(construct_md_array(values, nulls, 1, &count, &start, detail->item_type, detail->length,
                                              detail->by_value, detail->align));
}

Datum
read_row(Reader *reader, uint32 row, bool *is_null)
{
    const RowReader *detail = &reader->detail.row;
    const int count = detail->row_type->natts;
    Datum *values = palloc(Max(1, count) * sizeof(Datum));
    bool *nulls = palloc(Max(1, count) * sizeof(bool));

    (void) is_null;
    for (int i = 0; i < count; i++) {
        values[i] = (Datum) 0;
        nulls[i] = true;
        if (detail->attribute[i] != NULL)
            values[i] = reader_datum(detail->attribute[i], row, &nulls[i]);
    }
    return HeapTupleGetDatum(heap_form_tuple(detail->row_type, values, nulls));
}

/* The decoder has checked that the index of a valid row refers to one of the values. */
static uint32
index_at(const Reader *reader, uint32 row)
{
    const char *at = reader->values + (Size) row * reader->width;
    uint16 two;

    switch (reader->width) {
        case 1:
            return *(const uint8 *) at;
        case 2:
            memcpy(&two, at, sizeof(two));
            return two;
        case 4:
            return (uint32) int4_at(at, 0);
        default:
            return (uint32) int8_at(at, 0);
    }
}

static Datum
label(Reader *reader, uint32 index)
{
    bool is_null;
    Datum written = reader_value(&reader->children[0], index, &is_null);

    return InputFunctionCall(&reader->input, TextDatumGetCString(written), reader->input_parameter, -1);
}

Datum
read_enum(Reader *reader, uint32 row, bool *is_null)
{
    Reader *labels = &reader->children[0];
    const uint32 index = index_at(reader, row);

    /* Arrow allows NULLs among the values of a dictionary. */
    if (labels->kind == READ_NULL || (labels->validity != NULL && !bit_of(labels->validity, index))) {
        *is_null = true;
        return (Datum) 0;
    }
    if (labels->rows > MAX_LABELS)
        return label(reader, index);
    if (reader->labels == NULL)
        reader->labels = MemoryContextAllocZero(reader->context, Max(1, labels->rows) * sizeof(Oid));
    if (!OidIsValid(reader->labels[index]))
        reader->labels[index] = DatumGetObjectId(label(reader, index));
    return ObjectIdGetDatum(reader->labels[index]);
}
