/*
 * A column that is being filled: Arrow's buffers, row by row.
 *
 * `column_put` and its parts run once for each value. The members of Column that they need are in its first 64 bytes. They
 * do not check for room, because `column_reserve` made room for many rows at once (except for the bytes of text, whose size
 * is unknown).
 */
#ifndef COLONNADE_COLUMN_H
#define COLONNADE_COLUMN_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "colonnade_encoder.h"
#include "fmgr.h"

typedef struct Column Column;

/* The state for writing a row's values; one for all columns of a result. */
typedef struct Sink {
    Size variable;             /* bytes of the chunk that do not follow from the number of rows */
    MemoryContext row_context; /* for allocations of one row; CurrentMemoryContext while rows are received */
    bool row_context_used;
} Sink;

typedef void (*PutValue)(Sink *sink, Column *column, uint32 row, Datum value);

/* How a value is added to a column. The first kinds are handled in place, the others by `put`. */
typedef enum ColumnKind {
    KIND_FIXED2,
    KIND_FIXED4,
    KIND_FIXED8,
    KIND_DATE,
    KIND_TIMESTAMP,
    KIND_NUMERIC, /* decimal128 */
    KIND_TEXT,    /* varlena whose bytes are sent unchanged */
    KIND_BOOL,
    KIND_OTHER
} ColumnKind;

/* The kind of buffers. */
typedef enum ColumnShape { SHAPE_FIXED, SHAPE_BITS, SHAPE_BYTES, SHAPE_LIST, SHAPE_STRUCT, SHAPE_DICTIONARY } ColumnShape;

#define DECIMAL_LIMBS 10

/* Members that only some columns have. */
typedef struct ListDetail {
    uint32 items;              /* rows of the child */
    int16 length;              /* the item type's typlen, typbyval and typalign */
    bool by_value;
    char align;
} ListDetail;

typedef struct StructDetail {
    TupleDesc row_type;
    Datum *values;             /* room for one row */
    bool *nulls;
    Column **attribute;        /* the child of each attribute; NULL where it was dropped */
} StructDetail;

typedef struct EnumDetail {
    int count;
    Oid *oids;                 /* ascending */
    uint32 *codes;             /* the position of each in the enum's order */
} EnumDetail;

typedef struct DecimalDetail {
    int precision;
    uint32 limit[DECIMAL_LIMBS]; /* 10^precision */
} DecimalDetail;

struct Column {
    char *values;              /* values, bits, offsets or indices */
    char *data;                /* SHAPE_BYTES */
    Size data_length;
    Size data_capacity;
    uint8 *validity;           /* all ones except for NULLs */
    uint32 null_count;
    uint32 capacity;           /* allocated rows */
    uint64 decimal_limit;      /* 10^precision if it fits, otherwise the largest number */
    uint8 kind;
    uint8 shape;
    uint8 width;               /* bytes of a value or an index */
    int8 scale;                /* of a decimal */
    int8 decimal_places;       /* the scale in base-10000 digits, rounded up */
    uint8 decimal_excess;      /* decimal digits by which decimal_places is rounded up */

    PutValue put;
    uint64 row_bits;           /* bits of each row, including validity */
    Column *children;
    int child_count;
    const char *name;          /* for messages; a path if it is nested */
    const char *type_name;
    MemoryContext context;     /* where the buffers are */
    FmgrInfo output;
    union {
        ListDetail list;
        StructDetail row;
        EnumDetail labels;
        DecimalDetail decimal;
    } detail;
};

/* Makes room for `rows` rows in total. */
extern void column_reserve(Column *column, uint32 rows);

/* Makes room for `more` bytes in a SHAPE_BYTES column. */
extern void column_reserve_data(Column *column, Size more);

/* Adds a NULL, also in all columns below. There must be room. */
extern void column_put_null(Column *column, uint32 row);

/* Describes `rows` rows for the encoder, depth first. Returns the next free element. */
extern ColonnadeColumn *column_describe(const Column *column, uint32 rows, ColonnadeColumn *out);

/* Keeps only the rows `first` to `first + count - 1`, and moves them to the front. */
extern void column_keep(Column *column, uint32 first, uint32 count);

/*
 * Removes the `count` rows from `first` on, if they are the last ones. The column has no children. Does nothing for rows that
 * were never added.
 */
extern void column_truncate(Column *column, uint32 first, uint32 count);

/* Frees buffers beyond `most` bytes each. The column must be empty. */
extern void column_shrink(Column *column, Size most);

static pg_attribute_always_inline void
column_append(Sink *sink, Column *column, uint32 row, const char *bytes, Size length)
{
    char *to;

    if (unlikely(column->data_capacity - column->data_length < length))
        column_reserve_data(column, length);
    to = column->data + column->data_length;
    /* Most text is short, and a call of memcpy costs more than these copies. */
    if (length <= 16) {
        if (length >= 8) {
            uint64 head, tail;

            memcpy(&head, bytes, 8);
            memcpy(&tail, bytes + length - 8, 8);
            memcpy(to, &head, 8);
            memcpy(to + length - 8, &tail, 8);
        } else if (length >= 4) {
            uint32 head, tail;

            memcpy(&head, bytes, 4);
            memcpy(&tail, bytes + length - 4, 4);
            memcpy(to, &head, 4);
            memcpy(to + length - 4, &tail, 4);
        } else if (length > 0) {
            to[0] = bytes[0];
            to[length / 2] = bytes[length / 2];
            to[length - 1] = bytes[length - 1];
        }
    } else if (length <= 32) {
        memcpy(to, bytes, 16);
        memcpy(to + length - 16, bytes + length - 16, 16);
    } else
        memcpy(to, bytes, length);
    column->data_length += length;
    ((int32 *) column->values)[row + 1] = (int32) column->data_length;
    sink->variable += length;
}

#endif
