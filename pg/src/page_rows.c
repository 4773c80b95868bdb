#include "compat.h"

#include "page_rows.h"

#include "access/tupmacs.h"
#include "put.h"

/* Up to this length, text is copied without a branch on its length. It needs this room after the text's end. */
#define WIDE_COPY 64
#define NARROW_COPY 16

static inline const char *
aligned_pointer(const char *at, Size mask)
{
    return (const char *) (((uintptr_t) at + mask) & ~(uintptr_t) mask);
}

/* Moves at[] to the next attribute's start, if that has this alignment. */
static void
align_rows(PageRows *rows, Size mask)
{
    for (uint32 row = 0; row < rows->count; row++)
        rows->at[row] = aligned_pointer(rows->at[row] + rows->offset, mask);
    rows->offset = 0;
    rows->align_mask = mask;
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
take_nullable(PageRows *rows, int attribute, Column *column, uint32 first, ColumnKind kind, Size size)
{
    static const int64 zero = 0;
    static const DateADT zero_date = -EPOCH_DAYS;
    static const Timestamp zero_timestamp = -EPOCH_MICROSECONDS;
    const uintptr_t absent = kind == KIND_DATE        ? (uintptr_t) &zero_date
                             : kind == KIND_TIMESTAMP ? (uintptr_t) &zero_timestamp
                                                      : (uintptr_t) &zero;
    const uintptr_t mask = rows->layout[attribute].align_mask;
    const Size offset = rows->offset;
    uint8 *validity = column->validity;
    uint32 nulls = 0;

    for (uint32 row = 0; row < rows->count; row++) {
        const uint32 at = first + row;
        const uint8 null = ~rows->nulls[row][attribute / 8] >> (attribute % 8) & 1;
        const uintptr_t select = -(uintptr_t) null;
        const uintptr_t start = (uintptr_t) rows->at[row] + offset;
        const uintptr_t from = (start + mask) & ~mask;

        put_fixed(column, at, (const char *) ((absent & select) | (from & ~select)), kind);
        validity[at / 8] &= ~(null << (at % 8));
        nulls += null;
        rows->at[row] = (const char *) ((start & select) | ((from + size) & ~select));
    }
    column->null_count += nulls;
    rows->offset = 0;
    rows->align_mask = 0;
}

/* An attribute of a fixed size, which is a constant in each call, as `kind` is. */
static pg_attribute_always_inline void
take_fixed(PageRows *rows, int attribute, Column *column, uint32 first, ColumnKind kind, Size size)
{
    const Size mask = rows->layout[attribute].align_mask;

    if (likely(!att_isnull(attribute, rows->present))) {
        if (mask > rows->align_mask)
            align_rows(rows, mask);
        rows->offset = (rows->offset + mask) & ~mask;
        for (uint32 row = 0; row < rows->count; row++)
            put_fixed(column, first + row, rows->at[row] + rows->offset, kind);
        rows->offset += size;
        return;
    }
    take_nullable(rows, attribute, column, first, kind, size);
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

/*
 * Copies a text to a place with WIDE_COPY bytes more room. Most text is short, and a call of memcpy costs more than the
 * copy.
 */
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
take_variable(PageRows *rows, int attribute, Column *column, uint32 first, ColumnKind kind)
{
    const Size mask = rows->layout[attribute].align_mask;
    const bool any_null = att_isnull(attribute, rows->present);
    const Size offset = rows->offset;
    const char *const end = rows->end;
    int32 *offsets = (int32 *) column->values + first + 1;
    char *data = NULL;
    Size filled = column->data_length;

    if (kind == KIND_TEXT) {
        if (column->data_capacity - filled < rows->bytes + WIDE_COPY)
            column_reserve_data(column, rows->bytes + WIDE_COPY);
        data = column->data;
    }
    for (uint32 row = 0; row < rows->count; row++) {
        const char *at = rows->at[row] + offset;
        const char *body;
        Size length;

        if (any_null && att_isnull(attribute, rows->nulls[row])) {
            column->data_length = filled;
            column_put_null(column, first + row);
            rows->at[row] = at;
            continue;
        }
        body = take_varlena(&at, mask, &length);
        if (unlikely(body == NULL)) {
            rows->count = row;
            break;
        }
        rows->at[row] = at;
        if (kind == KIND_NUMERIC)
            numeric_put(column, first + row, body, length);
        else {
            copy_text(data + filled, body, length, end);
            filled += length;
            offsets[row] = (int32) filled;
        }
    }
    column->data_length = filled;
    rows->offset = 0;
    rows->align_mask = 0;
}

void
page_rows_pass(PageRows *rows, int attribute)
{
    const Layout *layout = &rows->layout[attribute];
    const Size mask = layout->align_mask;

    if (layout->length > 0 && !att_isnull(attribute, rows->present) && mask <= rows->align_mask) {
        rows->offset = ((rows->offset + mask) & ~mask) + (Size) layout->length;
        return;
    }
    align_rows(rows, 0);
    for (uint32 row = 0; row < rows->count; row++) {
        const char *at = rows->at[row];

        if (att_isnull(attribute, rows->nulls[row]))
            continue;
        if (layout->length == -1)
            at = VARATT_NOT_PAD_BYTE(at) ? at : aligned_pointer(at, mask);
        else
            at = aligned_pointer(at, mask);
        if (layout->length == -1)
            at += VARSIZE_ANY(at);
        else
            at += layout->length == -2 ? strlen(at) + 1 : (Size) layout->length;
        rows->at[row] = at;
    }
}

void
page_rows_take(PageRows *rows, int attribute, Column *column, uint32 first)
{
    switch ((ColumnKind) column->kind) {
        case KIND_FIXED2:
            take_fixed(rows, attribute, column, first, KIND_FIXED2, sizeof(int16));
            break;
        case KIND_FIXED4:
            take_fixed(rows, attribute, column, first, KIND_FIXED4, sizeof(int32));
            break;
        case KIND_FIXED8:
            take_fixed(rows, attribute, column, first, KIND_FIXED8, sizeof(int64));
            break;
        case KIND_DATE:
            take_fixed(rows, attribute, column, first, KIND_DATE, sizeof(DateADT));
            break;
        case KIND_TIMESTAMP:
            take_fixed(rows, attribute, column, first, KIND_TIMESTAMP, sizeof(Timestamp));
            break;
        case KIND_BOOL:
            take_fixed(rows, attribute, column, first, KIND_BOOL, sizeof(bool));
            break;
        case KIND_NUMERIC:
            take_variable(rows, attribute, column, first, KIND_NUMERIC);
            break;
        case KIND_TEXT:
            take_variable(rows, attribute, column, first, KIND_TEXT);
            break;
        case KIND_OTHER:
            break;
    }
}
