#include "compat.h"

#include "column.h"

#include "utils/memutils.h"

#define ALL_VALID 0xFF

/* FORMAT §6.2: the maximum of an offset of 4 bytes. */
#define MAX_DATA ((Size) INT32_MAX)

static Size
bitmap_bytes(uint32 rows)
{
    return ((Size) rows + 7) / 8;
}

static Size
values_bytes(const Column *column, uint32 rows)
{
    switch ((ColumnShape) column->shape) {
        case SHAPE_BITS:
            return bitmap_bytes(rows);
        case SHAPE_BYTES:
        case SHAPE_LIST:
            return ((Size) rows + 1) * sizeof(int32);
        case SHAPE_STRUCT:
            return 0;
        case SHAPE_FIXED:
        case SHAPE_DICTIONARY:
            break;
    }
    return (Size) rows * column->width;
}

static void *
grown(const Column *column, void *old, Size old_size, Size size)
{
    if (size <= old_size)
        return old;
    if (old != NULL)
        return repalloc_huge(old, size);
    return MemoryContextAllocHuge(column->context, size);
}

void
column_reserve(Column *column, uint32 rows)
{
    uint32 old = column->capacity;
    uint32 capacity;
    Size old_bits = old == 0 ? 0 : bitmap_bytes(old);
    Size old_values = old == 0 ? 0 : values_bytes(column, old);

    if (rows <= old)
        return;
    /* Items of lists arrive in small numbers, so the capacity grows by half. */
    capacity = Max(rows, old + old / 2);
    column->validity = grown(column, column->validity, old_bits, bitmap_bytes(capacity));
    memset(column->validity + old_bits, ALL_VALID, bitmap_bytes(capacity) - old_bits);
    if (column->shape != SHAPE_STRUCT)
        column->values = grown(column, column->values, old_values, values_bytes(column, capacity));
    if (column->shape == SHAPE_BITS)
        memset(column->values + old_values, 0, values_bytes(column, capacity) - old_values);
    if (old == 0 && (column->shape == SHAPE_BYTES || column->shape == SHAPE_LIST))
        ((int32 *) column->values)[0] = 0;
    column->capacity = capacity;
    if (column->shape == SHAPE_STRUCT)
        for (int i = 0; i < column->child_count; i++)
            column_reserve(&column->children[i], capacity);
}

void
column_reserve_data(Column *column, Size more)
{
    Size wanted = column->data_length + more;
    Size capacity = Max(Max(wanted, column->data_capacity * 2), 1024);

    if (wanted > MAX_DATA)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("column \"%s\": a chunk has more than 2 GiB of it", column->name),
                errhint("Ask for smaller chunks with the options chunk_rows and chunk_bytes."));
    column->data = grown(column, column->data, column->data_capacity, capacity);
    column->data_capacity = capacity;
}

void
column_put_null(Column *column, uint32 row)
{
    column->validity[row / 8] &= ~(1 << (row % 8));
    column->null_count++;
    switch ((ColumnShape) column->shape) {
        case SHAPE_FIXED:
        case SHAPE_DICTIONARY:
            memset(column->values + (Size) row * column->width, 0, column->width);
            break;
        case SHAPE_BITS:
            break;
        case SHAPE_BYTES:
            ((int32 *) column->values)[row + 1] = (int32) column->data_length;
            break;
        case SHAPE_LIST:
            ((int32 *) column->values)[row + 1] = (int32) column->detail.list.items;
            break;
        case SHAPE_STRUCT:
            for (int i = 0; i < column->child_count; i++)
                column_put_null(&column->children[i], row);
            break;
    }
}

ColonnadeColumn *
column_describe(const Column *column, uint32 rows, ColonnadeColumn *out)
{
    const int32 *offsets = (const int32 *) column->values;

    memset(out, 0, sizeof(*out));
    out->rows = rows;
    if (column->null_count > 0)
        out->validity = column->validity;
    out->values = (const uint8 *) column->values;
    out->values_length = values_bytes(column, rows);
    if (column->values == NULL && column->shape != SHAPE_STRUCT) {
        /* No row ever arrived: a list that is always empty. */
        static const int32 no_offset = 0;

        out->values = (const uint8 *) &no_offset;
        out->values_length = out->values_length == 0 ? 0 : sizeof(no_offset);
        rows = 0;
        offsets = &no_offset;
    }
    if (column->shape == SHAPE_BYTES) {
        out->data = (const uint8 *) column->data;
        out->data_length = offsets[rows];
    }
    out++;
    for (int i = 0; i < column->child_count; i++) {
        uint32 child_rows = rows;

        if (column->shape == SHAPE_LIST)
            child_rows = offsets[rows];
        else if (column->shape == SHAPE_DICTIONARY)
            child_rows = column->detail.labels.count;
        out = column_describe(&column->children[i], child_rows, out);
    }
    return out;
}

static inline bool
bit_at(const uint8 *bits, uint32 at)
{
    return bits[at / 8] >> (at % 8) & 1;
}

static void
keep_validity(Column *column, uint32 first, uint32 count)
{
    uint32 nulls = 0;

    if (column->null_count == 0)
        return;
    for (uint32 row = 0; row < count; row++) {
        bool valid = bit_at(column->validity, first + row);

        nulls += !valid;
        if (valid)
            column->validity[row / 8] |= 1 << (row % 8);
        else
            column->validity[row / 8] &= ~(1 << (row % 8));
    }
    for (uint32 row = count; row % 8 != 0; row++)
        column->validity[row / 8] |= 1 << (row % 8);
    memset(column->validity + bitmap_bytes(count), ALL_VALID, bitmap_bytes(column->capacity) - bitmap_bytes(count));
    column->null_count = nulls;
}

static void
keep_bits(Column *column, uint32 first, uint32 count)
{
    uint8 *bits = (uint8 *) column->values;
    uint8 byte = 0;

    /* A byte is written only after all bits that move into it, and into earlier bytes, were read. */
    for (uint32 row = 0; row < count; row++) {
        byte |= bit_at(bits, first + row) << (row % 8);
        if (row % 8 == 7 || row == count - 1) {
            bits[row / 8] = byte;
            byte = 0;
        }
    }
    memset(bits + bitmap_bytes(count), 0, bitmap_bytes(column->capacity) - bitmap_bytes(count));
}

/* Moves the offsets of the rows to the front. Returns the start of the rows' bytes or items. */
static int32
keep_offsets(Column *column, uint32 first, uint32 count)
{
    int32 *offsets = (int32 *) column->values;
    int32 start = offsets[first];

    for (uint32 row = 0; row <= count; row++)
        offsets[row] = offsets[first + row] - start;
    return start;
}

void
column_keep(Column *column, uint32 first, uint32 count)
{
    int32 start;

    if (column->capacity == 0)
        return;
    keep_validity(column, first, count);
    switch ((ColumnShape) column->shape) {
        case SHAPE_FIXED:
        case SHAPE_DICTIONARY:
            memmove(column->values, column->values + (Size) first * column->width, (Size) count * column->width);
            break;
        case SHAPE_BITS:
            keep_bits(column, first, count);
            break;
        case SHAPE_BYTES:
            start = keep_offsets(column, first, count);
            column->data_length = ((int32 *) column->values)[count];
            if (column->data_length > 0)
                memmove(column->data, column->data + start, column->data_length);
            break;
        case SHAPE_LIST:
            start = keep_offsets(column, first, count);
            column->detail.list.items = ((int32 *) column->values)[count];
            column_keep(&column->children[0], start, column->detail.list.items);
            break;
        case SHAPE_STRUCT:
            for (int i = 0; i < column->child_count; i++)
                column_keep(&column->children[i], first, count);
            break;
    }
}

void
column_truncate(Column *column, uint32 first, uint32 count)
{
    for (uint32 row = first; row < first + count; row++) {
        column->null_count -= !bit_at(column->validity, row);
        column->validity[row / 8] |= 1 << (row % 8);
        if (column->shape == SHAPE_BITS)
            ((uint8 *) column->values)[row / 8] &= ~(1 << (row % 8));
    }
    if (column->shape == SHAPE_BYTES)
        column->data_length = ((int32 *) column->values)[first];
}

void
column_shrink(Column *column, Size most)
{
    if (column->shape == SHAPE_DICTIONARY)
        return;
    if (column->data_capacity > most) {
        pfree(column->data);
        column->data = NULL;
        column->data_capacity = 0;
    }
    for (int i = 0; i < column->child_count; i++) {
        Column *child = &column->children[i];

        column_shrink(child, most);
        /* Only a list's items can be many more than usual; a struct's children have its rows. */
        if (column->shape == SHAPE_LIST && child->shape != SHAPE_STRUCT && child->capacity > 0 &&
            values_bytes(child, child->capacity) > most) {
            pfree(child->values);
            pfree(child->validity);
            child->values = NULL;
            child->validity = NULL;
            child->capacity = 0;
        }
    }
}
