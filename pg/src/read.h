/* Reads one value of a column: the switch through which every received value passes. */
#ifndef COLONNADE_READ_H
#define COLONNADE_READ_H

#include "decimal.h"
#include "reader.h"

static inline bool
bit_of(const void *bits, uint32 at)
{
    return ((const uint8 *) bits)[at / 8] >> (at % 8) & 1;
}

static inline int32
int4_at(const char *values, uint32 at)
{
    int32 value;

    memcpy(&value, values + (Size) at * sizeof(value), sizeof(value));
    return value;
}

static inline int64
int8_at(const char *values, uint32 at)
{
    int64 value;

    memcpy(&value, values + (Size) at * sizeof(value), sizeof(value));
    return value;
}

/* The bytes of a row of a SHAPE_BYTES column. The decoder has checked the offsets. */
static inline const char *
bytes_of(const Reader *reader, uint32 row, Size *length)
{
    int32 start = int4_at(reader->values, row);

    *length = int4_at(reader->values, row + 1) - start;
    return reader->data + start;
}

/* Memory that the next row overwrites; most values fit into what is there. */
static inline char *
reader_short_room(Reader *reader, Size size)
{
    if (likely(size <= reader->capacity && !reader->is_nested))
        return reader->room;
    return reader_room(reader, size);
}

/*
 * A varlena. It gets the short header that it has in a row, which saves the conversion. Items of arrays need the long one.
 */
static inline Datum
varlena_of(Reader *reader, const char *bytes, Size length)
{
    char *to;

    if (likely(length + VARHDRSZ_SHORT <= VARATT_SHORT_MAX && !reader->is_nested)) {
        to = reader_short_room(reader, length + VARHDRSZ_SHORT);
        SET_VARSIZE_SHORT(to, length + VARHDRSZ_SHORT);
        memcpy(to + VARHDRSZ_SHORT, bytes, length);
    } else {
        to = reader_room(reader, length + VARHDRSZ);
        SET_VARSIZE(to, length + VARHDRSZ);
        memcpy(to + VARHDRSZ, bytes, length);
    }
    return PointerGetDatum(to);
}

static inline Datum
reader_value(Reader *reader, uint32 row, bool *is_null)
{
    const char *values = reader->values;
    const char *bytes;
    Size length;
    int16 small;

    if (reader->validity != NULL && !bit_of(reader->validity, row)) {
        *is_null = true;
        return (Datum) 0;
    }
    *is_null = false;
    switch ((ReaderKind) reader->kind) {
        case READ_NULL:
            *is_null = true;
            return (Datum) 0;
        case READ_FIXED2:
            memcpy(&small, values + (Size) row * sizeof(small), sizeof(small));
            return Int16GetDatum(small);
        case READ_FIXED4:
            return Int32GetDatum(int4_at(values, row));
        case READ_UINT4:
            return UInt32GetDatum((uint32) int4_at(values, row));
        case READ_FIXED8:
            return Int64GetDatum(int8_at(values, row));
        case READ_BOOL:
            return BoolGetDatum(bit_of(values, row));
        case READ_BYTES:
            bytes = bytes_of(reader, row, &length);
            return varlena_of(reader, bytes, length);
        case READ_TEXT:
            if (unlikely(reader->has_nul))
                return read_checked_text(reader, row, is_null);
            bytes = bytes_of(reader, row, &length);
            return varlena_of(reader, bytes, length);
        case READ_DECIMAL:
            return decimal_read(reader, row);
        case READ_OTHER:
            break;
    }
    return reader->read(reader, row, is_null);
}

/* The same with the constraints of a domain. */
static inline Datum
reader_datum(Reader *reader, uint32 row, bool *is_null)
{
    Datum value = reader_value(reader, row, is_null);

    if (unlikely(OidIsValid(reader->domain)))
        reader_check_domain(reader, value, *is_null);
    return value;
}

#endif
