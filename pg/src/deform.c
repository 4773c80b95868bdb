#include "compat.h"

#include "deform.h"

#include "access/tupmacs.h"
#include "put.h"

Layout *
deform_layout(TupleDesc result)
{
    Layout *layout = palloc(Max(1, result->natts) * sizeof(Layout));

    for (int i = 0; i < result->natts; i++) {
        Form_pg_attribute attribute = TupleDescAttr(result, i);
        int align = 1;

        if (attribute->attalign == TYPALIGN_SHORT)
            align = ALIGNOF_SHORT;
        else if (attribute->attalign == TYPALIGN_INT)
            align = ALIGNOF_INT;
        else if (attribute->attalign == TYPALIGN_DOUBLE)
            align = ALIGNOF_DOUBLE;
        layout[i].align_mask = align - 1;
        layout[i].by_value = attribute->attbyval;
        layout[i].length = attribute->attlen;
    }
    return layout;
}

static inline Size
aligned(Size at, const Layout *layout)
{
    return (at + layout->align_mask) & ~(Size) layout->align_mask;
}

/* The start of a varlena: a short header has no alignment and is never 0, unlike padding. */
static inline Size
varlena_start(const char *data, Size at, const Layout *layout)
{
    return VARATT_NOT_PAD_BYTE(data + at) ? at : aligned(at, layout);
}

/* The body of a varlena at `at`. Returns the earliest start of the next attribute. */
static inline Size
take_varlena(Sink *sink, const char *data, Size at, const char **body, Size *length)
{
    const char *varlena = data + at;

    if (likely(VARATT_IS_1B(varlena) && !VARATT_IS_1B_E(varlena))) {
        *body = VARDATA_1B(varlena);
        *length = VARSIZE_1B(varlena) - VARHDRSZ_SHORT;
        return at + VARSIZE_1B(varlena);
    }
    *body = varlena_body(sink, PointerGetDatum(varlena), length);
    return at + VARSIZE_ANY(varlena);
}

/* An attribute of any type. Returns the earliest start of the next one. */
static Size
take_other(Sink *sink, Column *column, uint32 row, const char *data, Size at, const Layout *layout)
{
    if (layout->length == -1) {
        at = varlena_start(data, at, layout);
        column_put(sink, column, row, PointerGetDatum(data + at));
        return at + VARSIZE_ANY(data + at);
    }
    at = aligned(at, layout);
    column_put(sink, column, row, fetch_att(data + at, layout->by_value, layout->length));
    return at + (layout->length == -2 ? strlen(data + at) + 1 : (Size) layout->length);
}

void
deform_row(Sink *sink, Column *columns, int count, const Layout *layout, const TupleTableSlot *slot, uint32 row)
{
    const HeapTuple tuple = ((const HeapTupleTableSlot *) slot)->tuple;
    const HeapTupleHeader header = tuple->t_data;
    const bool has_nulls = HeapTupleHasNulls(tuple);
    const char *data = (const char *) header + header->t_hoff;
    const char *body;
    Size length;
    Size at = 0;

    for (int i = 0; i < count; i++, layout++) {
        Column *column = &columns[i];

        if (has_nulls && att_isnull(i, header->t_bits)) {
            column_put_null(column, row);
            continue;
        }
        switch ((ColumnKind) column->kind) {
            case KIND_FIXED2:
                at = aligned(at, layout);
                ((int16 *) column->values)[row] = *(const int16 *) (data + at);
                at += sizeof(int16);
                break;
            case KIND_FIXED4:
                at = aligned(at, layout);
                ((int32 *) column->values)[row] = *(const int32 *) (data + at);
                at += sizeof(int32);
                break;
            case KIND_FIXED8:
                at = aligned(at, layout);
                ((int64 *) column->values)[row] = *(const int64 *) (data + at);
                at += sizeof(int64);
                break;
            case KIND_DATE:
                at = aligned(at, layout);
                ((int32 *) column->values)[row] = date_of(*(const DateADT *) (data + at));
                at += sizeof(DateADT);
                break;
            case KIND_TIMESTAMP:
                at = aligned(at, layout);
                ((int64 *) column->values)[row] = timestamp_of(column, *(const Timestamp *) (data + at));
                at += sizeof(Timestamp);
                break;
            case KIND_NUMERIC:
                at = take_varlena(sink, data, varlena_start(data, at, layout), &body, &length);
                numeric_put(column, row, body, length);
                break;
            case KIND_TEXT:
                at = take_varlena(sink, data, varlena_start(data, at, layout), &body, &length);
                column_append(sink, column, row, body, length);
                break;
            case KIND_BOOL:
            case KIND_OTHER:
                at = take_other(sink, column, row, data, at, layout);
                break;
        }
    }
}
