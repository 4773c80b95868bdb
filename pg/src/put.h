/* Adds one value to a column: the switch through which every value of a result passes. */
#ifndef COLONNADE_PUT_H
#define COLONNADE_PUT_H

#include "column.h"
#include "datetime.h"
#include "numeric.h"
#include "text.h"

/* There must be room for the row, and all earlier rows must be filled. */
static inline void
column_put(Sink *sink, Column *column, uint32 row, Datum value)
{
    Size length;
    const char *body;

    switch ((ColumnKind) column->kind) {
        case KIND_FIXED2:
            ((int16 *) column->values)[row] = DatumGetInt16(value);
            break;
        case KIND_FIXED4:
            ((int32 *) column->values)[row] = DatumGetInt32(value);
            break;
        case KIND_FIXED8:
            ((int64 *) column->values)[row] = DatumGetInt64(value);
            break;
        case KIND_DATE:
            ((int32 *) column->values)[row] = date_of(DatumGetDateADT(value));
            break;
        case KIND_TIMESTAMP:
            ((int64 *) column->values)[row] = timestamp_of(column, DatumGetTimestamp(value));
            break;
        case KIND_NUMERIC:
            body = varlena_body(sink, value, &length);
            numeric_put(column, row, body, length);
            break;
        case KIND_TEXT:
            body = varlena_body(sink, value, &length);
            column_append(sink, column, row, body, length);
            break;
        case KIND_BOOL:
            if (DatumGetBool(value))
                ((uint8 *) column->values)[row / 8] |= 1 << (row % 8);
            break;
        case KIND_OTHER:
            column->put(sink, column, row, value);
            break;
    }
}

#endif
