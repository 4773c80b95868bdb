/*
 * The inverse of a Column: reads the values of a decoded column as Datums, row by row.
 *
 * A Datum that is passed by reference is valid until the next row is read, as core's own COPY FROM makes it.
 */
#ifndef COLONNADE_READER_H
#define COLONNADE_READER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "colonnade_decoder.h"
#include "fmgr.h"

typedef struct Reader Reader;

/* Reads the value of a row that is not NULL in the column itself. It may still become NULL, in a dictionary. */
typedef Datum (*ReadValue)(Reader *reader, uint32 row, bool *is_null);

/* The first kinds are handled in place, the others by `read`. */
typedef enum ReaderKind {
    READ_NULL,
    READ_FIXED2,
    READ_FIXED4,
    READ_UINT4,
    READ_FIXED8,
    READ_BOOL,
    READ_BYTES,
    READ_TEXT,    /* UTF-8 that is stored unchanged */
    READ_DECIMAL, /* decimal128 */
    READ_OTHER
} ReaderKind;

typedef struct ArrayReader {
    Oid item_type;
    int16 length;              /* the item type's typlen, typbyval and typalign */
    bool by_value;
    char align;
} ArrayReader;

typedef struct RowReader {
    TupleDesc row_type;
    Reader **attribute;        /* the reader of each attribute; NULL where it was dropped */
} RowReader;

typedef struct DecimalReader {
    uint64 limit;              /* 10^precision if it fits, otherwise the largest number */
    uint64 factor;             /* aligns the decimal point with a base-10000 digit */
    uint8 precision;
    uint8 scale;
    uint8 places;              /* the scale in base-10000 digits, rounded up */
} DecimalReader;

struct Reader {
    const uint8 *validity;     /* of the current chunk, as the following buffers; NULL if all rows are valid */
    const char *values;
    const char *data;
    bool has_nul;              /* `data` has a NUL character */
    bool is_nested;            /* several values of a row are needed at once */
    uint8 kind;
    uint8 width;               /* bytes of a value or an index */
    char *room;                /* memory for the current row's value */
    Size capacity;
    int32 limit;               /* the maximum length of varchar(n) and the length of char(n) in characters; otherwise -1 */

    ReadValue read;
    DecimalReader decimal;
    uint32 rows;               /* of the current chunk */
    Oid type;                  /* without domains */
    int32 typmod;
    Oid domain;                /* InvalidOid if the column's type is not a domain */
    void *domain_state;
    MemoryContext context;     /* of the reader */
    FmgrInfo input;
    Oid input_parameter;
    Oid *labels;               /* of an enum: the OIDs of the chunk's dictionary, as far as they were needed */
    Reader *children;
    int child_count;
    union {
        ArrayReader array;
        RowReader row;
    } detail;
};

/*
 * Initializes `reader` in CurrentMemoryContext for a column of the type, from the field at `*field`, which the column accepts.
 * `*field` becomes the next field that is not part of this column.
 */
extern void reader_build(Reader *reader, Oid type, int32 typmod, bool is_nested, const ColonnadeField **field);

/* Reads from these buffers from now on. Returns the buffers of the next column. */
extern const ColonnadeColumn *reader_bind(Reader *reader, const ColonnadeColumn *column);

/* Memory for one value: until the next row, or for nested readers in CurrentMemoryContext. */
extern char *reader_room(Reader *reader, Size size);

/* Checks a domain's constraints. */
extern void reader_check_domain(Reader *reader, Datum value, bool is_null);

/* KIND_OTHER, one for each conversion; in the files that are named as these functions. */
extern Datum read_date(Reader *reader, uint32 row, bool *is_null);
extern Datum read_time(Reader *reader, uint32 row, bool *is_null);
extern Datum read_timestamp(Reader *reader, uint32 row, bool *is_null);
extern Datum read_interval(Reader *reader, uint32 row, bool *is_null);
extern Datum read_wide_decimal(Reader *reader, uint32 row, bool *is_null);
extern Datum read_money(Reader *reader, uint32 row, bool *is_null);
extern Datum read_checked_text(Reader *reader, uint32 row, bool *is_null);
extern Datum read_name(Reader *reader, uint32 row, bool *is_null);
extern Datum read_by_input(Reader *reader, uint32 row, bool *is_null);
extern Datum read_array(Reader *reader, uint32 row, bool *is_null);
extern Datum read_row(Reader *reader, uint32 row, bool *is_null);
extern Datum read_enum(Reader *reader, uint32 row, bool *is_null);

#endif
