/* Which PostgreSQL type becomes which column; spec/TYPES.md. */
#ifndef COLONNADE_TYPES_H
#define COLONNADE_TYPES_H

#include "column.h"
#include "options.h"

/* A result's columns, and their description for the encoder. All of it is in the context in which it was created. */
typedef struct Columns {
    Column *columns;           /* one for each result column */
    int count;
    ColonnadeField *fields;    /* depth first, including nested ones */
    int field_count;
    int field_room;
    uint64 row_bits;           /* bits of every row in plain buffers */
    Size constant;             /* additional bytes of every chunk */
} Columns;

/* A type, or an attribute of one, that is converted to a column. */
typedef struct Source {
    Oid type;
    int32 typmod;
    const char *name;          /* of the field */
    const char *path;          /* for messages */
    bool as_text;
    int depth;
} Source;

/* Initializes `column` for the source's type, and adds its fields. */
extern void column_build(Columns *all, const CopyOptions *options, Column *column, const Source *source);

/* The columns of a result in CurrentMemoryContext. Errors: 42703 for a name in as_text that is not one of its columns. */
extern Columns *columns_of_result(TupleDesc result, const CopyOptions *options);

#endif
