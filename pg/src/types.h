/* Which PostgreSQL type becomes which column; spec/TYPES.md. */
#ifndef COLONNADE_TYPES_H
#define COLONNADE_TYPES_H

#include "column.h"
#include "options.h"

/* A result's columns, and the same for the encoder. All of it lies in the context it was made in. */
typedef struct Columns {
    Column *columns;           /* one a result column */
    int count;
    ColonnadeField *fields;    /* depth first; nested ones included */
    int field_count;
    int field_room;
    uint64 row_bits;           /* bits that every row takes in plain buffers */
    Size constant;             /* bytes that every chunk takes besides */
} Columns;

/* A type, or an attribute of one, on its way to a column. */
typedef struct Source {
    Oid type;
    int32 typmod;
    const char *name;          /* of the field */
    const char *path;          /* for messages */
    bool as_text;
    int depth;
} Source;

/* Makes `column` one for the source's type, and adds its fields. */
extern void column_build(Columns *all, const CopyOptions *options, Column *column, const Source *source);

/* The columns of a result in CurrentMemoryContext. Errors: 42703 for a name in as_text that is no column of it. */
extern Columns *columns_of_result(TupleDesc result, const CopyOptions *options);

#endif
