#include "compat.h"

#include "reader.h"

#include "catalog/pg_type.h"
#include "decimal.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

/* Values of this size are stored in the reader's own memory, which it keeps. */
#define KEPT_ROOM 65536
#define FIRST_ROOM 256

char *
reader_room(Reader *reader, Size size)
{
    Size capacity = Max(FIRST_ROOM, reader->capacity);

    if (size > MaxAllocSize)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("a value of %zu bytes exceeds PostgreSQL's limit of 1 GB", size));
    if (reader->is_nested || size > KEPT_ROOM)
        return palloc(size);
    while (capacity < size)
        capacity *= 2;
    if (capacity > reader->capacity) {
        if (reader->room != NULL)
            pfree(reader->room);
        reader->capacity = 0;
        reader->room = MemoryContextAlloc(reader->context, capacity);
        reader->capacity = capacity;
    }
    return reader->room;
}

void
reader_check_domain(Reader *reader, Datum value, bool is_null)
{
    domain_check(value, is_null, reader->domain, &reader->domain_state, reader->context);
}

static void
set_kind(Reader *reader, ReaderKind kind, uint8 width)
{
    reader->kind = kind;
    reader->width = width;
}

static void
set_read(Reader *reader, ReadValue read)
{
    reader->kind = READ_OTHER;
    reader->read = read;
}

static void
build_input(Reader *reader)
{
    Oid function;

    getTypeInputInfo(reader->type, &function, &reader->input_parameter);
    fmgr_info_cxt(function, &reader->input, reader->context);
    set_read(reader, read_by_input);
}

static void
build_text(Reader *reader)
{
    switch (reader->type) {
        case VARCHAROID:
        case BPCHAROID:
            if (reader->typmod >= (int32) VARHDRSZ)
                reader->limit = reader->typmod - (int32) VARHDRSZ;
            /* fall through */
        case TEXTOID:
            if (GetDatabaseEncoding() == PG_UTF8 && reader->limit < 0)
                set_kind(reader, READ_TEXT, 0);
            else
                set_read(reader, read_checked_text);
            break;
        case NAMEOID:
            set_read(reader, read_name);
            break;
        default:
            build_input(reader);
    }
}

static void
build_decimal(Reader *reader, const ColonnadeField *field)
{
    if (reader->type == CASHOID) {
        set_read(reader, read_money);
        return;
    }
    decimal_prepare(&reader->decimal, field->parameter, field->scale);
    if (field->type_id == COLONNADE_DECIMAL128)
        set_kind(reader, READ_DECIMAL, 16);
    else
        set_read(reader, read_wide_decimal);
}

static void
build_array(Reader *reader, const ColonnadeField **field)
{
    ArrayReader *array = &reader->detail.array;

    array->item_type = get_element_type(reader->type);
    get_typlenbyvalalign(array->item_type, &array->length, &array->by_value, &array->align);
    reader->children = palloc0(sizeof(Reader));
    reader->child_count = 1;
    reader_build(reader->children, array->item_type, reader->typmod, true, field);
    set_read(reader, read_array);
}

static void
build_row(Reader *reader, const ColonnadeField **field)
{
    RowReader *row = &reader->detail.row;
    int count;

    row->row_type = lookup_rowtype_tupdesc_copy(reader->type, reader->typmod);
    count = row->row_type->natts;
    row->attribute = palloc0(Max(1, count) * sizeof(Reader *));
    reader->children = palloc0(Max(1, count) * sizeof(Reader));
    for (int i = 0; i < count; i++) {
        Form_pg_attribute attribute = TupleDescAttr(row->row_type, i);

        if (attribute->attisdropped)
            continue;
        row->attribute[i] = &reader->children[reader->child_count++];
        reader_build(row->attribute[i], attribute->atttypid, attribute->atttypmod, true, field);
    }
    set_read(reader, read_row);
}

/* The width of a dictionary's indices; FORMAT §4. */
static uint8
index_width(uint8 index_type)
{
    switch (index_type) {
        case 2:
        case COLONNADE_UINT8:
            return 1;
        case 3:
        case COLONNADE_UINT16:
            return 2;
        case 4:
        case COLONNADE_UINT32:
            return 4;
        default:
            return 8;
    }
}

static void
build_enumeration(Reader *reader, const ColonnadeField *dictionary, const ColonnadeField **field)
{
    build_input(reader);
    reader->children = palloc0(sizeof(Reader));
    reader->child_count = 1;
    reader_build(reader->children, TEXTOID, -1, true, field);
    set_read(reader, read_enum);
    reader->width = index_width(dictionary->parameter);
}

void
reader_build(Reader *reader, Oid type, int32 typmod, bool is_nested, const ColonnadeField **field)
{
    const ColonnadeField *own = (*field)++;

    reader->typmod = typmod;
    reader->type = getBaseTypeAndTypmod(type, &reader->typmod);
    reader->domain = reader->type == type ? InvalidOid : type;
    reader->context = CurrentMemoryContext;
    reader->is_nested = is_nested;
    reader->limit = -1;
    switch (own->type_id) {
        case COLONNADE_NULL:
            set_kind(reader, READ_NULL, 0);
            break;
        case COLONNADE_BOOL:
            set_kind(reader, READ_BOOL, 0);
            break;
        case COLONNADE_INT16:
            set_kind(reader, READ_FIXED2, 2);
            break;
        case COLONNADE_INT32:
        case COLONNADE_FLOAT32:
            set_kind(reader, READ_FIXED4, 4);
            break;
        case COLONNADE_UINT32:
            set_kind(reader, READ_UINT4, 4);
            break;
        case COLONNADE_INT64:
        case COLONNADE_FLOAT64:
            set_kind(reader, READ_FIXED8, 8);
            break;
        case COLONNADE_DECIMAL128:
        case COLONNADE_DECIMAL256:
            build_decimal(reader, own);
            break;
        case COLONNADE_DATE32:
            set_read(reader, read_date);
            break;
        case COLONNADE_TIME64:
            set_read(reader, read_time);
            break;
        case COLONNADE_TIMESTAMP:
            set_read(reader, read_timestamp);
            break;
        case COLONNADE_INTERVAL:
            set_read(reader, read_interval);
            break;
        case COLONNADE_UTF8:
            build_text(reader);
            break;
        case COLONNADE_BINARY:
            set_kind(reader, READ_BYTES, 0);
            break;
        case COLONNADE_LIST:
            build_array(reader, field);
            break;
        case COLONNADE_STRUCT:
            build_row(reader, field);
            break;
        case COLONNADE_DICTIONARY:
            build_enumeration(reader, own, field);
            break;
        default:
            /* The column did not accept the field. */
            elog(ERROR, "no reader for type %d", own->type_id);
    }
}

const ColonnadeColumn *
reader_bind(Reader *reader, const ColonnadeColumn *column)
{
    reader->rows = (uint32) column->rows;
    reader->validity = column->validity;
    reader->values = (const char *) column->values;
    reader->data = (const char *) column->data;
    /* One search for the whole column is faster than one for each value. Bytea may contain NUL characters. */
    reader->has_nul = column->data_length > 0 && memchr(column->data, '\0', column->data_length) != NULL;
    if (reader->labels != NULL) {
        pfree(reader->labels);
        reader->labels = NULL;
    }
    column++;
    for (int i = 0; i < reader->child_count; i++)
        column = reader_bind(&reader->children[i], column);
    return column;
}
