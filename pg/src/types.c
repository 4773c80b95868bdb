#include "compat.h"

#include "types.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nested.h"
#include "numeric.h"
#include "put.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/typcache.h"

/* FORMAT §4. */
#define MAX_DEPTH 64
#define MAX_CHILDREN 65535
#define MAX_DECIMAL128 38
#define MAX_DECIMAL256 76

#define TYPE_KEY "colonnade.type"

/* money has 64 bits. */
#define MONEY_DIGITS 19

static const char *
utf8(const char *text)
{
    Size length;

    return text_to_utf8(text, strlen(text), &length);
}

static ColonnadeField *
add_field(Columns *all, const char *name, uint8 type_id)
{
    ColonnadeField *field;

    if (all->field_count == all->field_room) {
        all->field_room = Max(16, 2 * all->field_room);
        all->fields = all->fields == NULL ? palloc(all->field_room * sizeof(ColonnadeField))
                                          : repalloc(all->fields, all->field_room * sizeof(ColonnadeField));
    }
    field = &all->fields[all->field_count++];
    memset(field, 0, sizeof(*field));
    field->name = utf8(name);
    field->type_id = type_id;
    field->nullable = 1;
    return field;
}

static void
build_fixed(Column *column, ColumnKind kind, uint8 width)
{
    column->kind = kind;
    column->shape = SHAPE_FIXED;
    column->width = width;
    column->row_bits = 8 * (uint64) width + 1;
}

static void
build_bytes(Column *column, PutValue put)
{
    column->kind = put == NULL ? KIND_TEXT : KIND_OTHER;
    column->shape = SHAPE_BYTES;
    column->put = put;
    column->row_bits = 8 * sizeof(int32) + 1;
}

/* utf8 from the bytes of text, varchar, char(n) or json. */
static void
build_stored_text(Columns *all, Column *column, const Source *source)
{
    build_bytes(column, GetDatabaseEncoding() == PG_UTF8 ? NULL : text_put_converted);
    add_field(all, source->name, COLONNADE_UTF8);
}

/* utf8 from the type's output function. */
static void
build_output_text(Columns *all, Column *column, const Source *source, Oid type)
{
    Oid function;
    bool is_varlena;

    getTypeOutputInfo(type, &function, &is_varlena);
    fmgr_info(function, &column->output);
    build_bytes(column, text_put_output);
    add_field(all, source->name, COLONNADE_UTF8);
}

/* The same if Arrow has no such type: the type's name is added as metadata. */
static void
build_foreign_text(Columns *all, Column *column, const Source *source, Oid type)
{
    ColonnadePair *pair = palloc(sizeof(ColonnadePair));
    ColonnadeField *field;

    build_output_text(all, column, source, type);
    pair->key = TYPE_KEY;
    pair->value = utf8(column->type_name);
    field = &all->fields[all->field_count - 1];
    field->pairs = pair;
    field->pair_count = 1;
}

static void
build_decimal(Columns *all, Column *column, const Source *source, int precision, int scale)
{
    bool narrow = precision <= MAX_DECIMAL128;
    ColonnadeField *field = add_field(all, source->name, narrow ? COLONNADE_DECIMAL128 : COLONNADE_DECIMAL256);

    field->parameter = (uint8) precision;
    field->scale = (int8) scale;
    build_fixed(column, narrow ? KIND_NUMERIC : KIND_OTHER, narrow ? 16 : 32);
    column->put = numeric_put_wide;
    numeric_prepare(column, precision, scale);
}

static void
build_numeric(Columns *all, const CopyOptions *options, Column *column, const Source *source, int32 typmod)
{
    int precision = options->numeric_precision;
    int scale = options->numeric_scale;

    /* As numeric.c encodes them; 15 added scales below 0 and above the precision. */
    if (typmod >= (int32) VARHDRSZ) {
        precision = ((typmod - VARHDRSZ) >> 16) & 0xFFFF;
        scale = (((typmod - VARHDRSZ) & 0x7FF) ^ 1024) - 1024;
    }
    if (precision < 1 || precision > MAX_DECIMAL256 || scale < 0 || scale > precision)
        build_foreign_text(all, column, source, NUMERICOID);
    else
        build_decimal(all, column, source, precision, scale);
}

static void
build_money(Columns *all, Column *column, const Source *source)
{
    int scale = PGLC_localeconv()->frac_digits;

    /* As in cash.c: the default is 2 if the locale does not define it. */
    if (scale < 0 || scale > 10)
        scale = 2;
    build_decimal(all, column, source, MONEY_DIGITS, scale);
    column->kind = KIND_OTHER;
    column->put = money_put;
}

static void
build_timestamp(Columns *all, Column *column, const Source *source, const char *zone)
{
    ColonnadeField *field = add_field(all, source->name, COLONNADE_TIMESTAMP);

    field->parameter = COLONNADE_MICROSECONDS;
    field->zone = zone;
    build_fixed(column, KIND_TIMESTAMP, 8);
}

static void
build_array(Columns *all, const CopyOptions *options, Column *column, const Source *source, Oid item, int32 typmod)
{
    ListDetail *list = &column->detail.list;
    Source below = {.type = item, .typmod = typmod, .name = "item", .path = source->path, .depth = source->depth + 1};
    ColonnadeField *field = add_field(all, source->name, COLONNADE_LIST);

    field->children = 1;
    column->kind = KIND_OTHER;
    column->shape = SHAPE_LIST;
    column->put = array_put;
    column->row_bits = 8 * sizeof(int32) + 1;
    get_typlenbyvalalign(item, &list->length, &list->by_value, &list->align);
    column->child_count = 1;
    column->children = palloc0(sizeof(Column));
    column_build(all, options, column->children, &below);
    all->constant += sizeof(int32) + 1;
}

/* False if the type has more attributes than a struct can have fields. */
static bool
build_composite(Columns *all, const CopyOptions *options, Column *column, const Source *source, Oid type, int32 typmod)
{
    StructDetail *detail = &column->detail.row;
    TupleDesc row_type = lookup_rowtype_tupdesc_copy(type, typmod);
    int field = all->field_count;

    if (row_type->natts > MAX_CHILDREN)
        return false;
    detail->row_type = row_type;
    detail->values = palloc(Max(1, row_type->natts) * sizeof(Datum));
    detail->nulls = palloc(Max(1, row_type->natts) * sizeof(bool));
    detail->attribute = palloc0(Max(1, row_type->natts) * sizeof(Column *));
    add_field(all, source->name, COLONNADE_STRUCT);
    column->kind = KIND_OTHER;
    column->shape = SHAPE_STRUCT;
    column->put = composite_put;
    column->row_bits = 1;
    column->children = palloc0(Max(1, row_type->natts) * sizeof(Column));
    for (int i = 0; i < row_type->natts; i++) {
        Form_pg_attribute attribute = TupleDescAttr(row_type, i);
        Column *child = &column->children[column->child_count];
        Source below = {.type = attribute->atttypid, .typmod = attribute->atttypmod, .depth = source->depth + 1};

        if (attribute->attisdropped)
            continue;
        below.name = pstrdup(NameStr(attribute->attname));
        below.path = psprintf("%s.%s", source->path, below.name);
        column_build(all, options, child, &below);
        column->row_bits += child->row_bits;
        detail->attribute[i] = child;
        column->child_count++;
    }
    all->fields[field].children = column->child_count;
    return true;
}

static void
build_enumeration(Columns *all, Column *column, const Source *source, Oid type)
{
    ColonnadeField *field = add_field(all, source->name, COLONNADE_DICTIONARY);
    Column *text;
    uint8 index;

    field->children = 1;
    field->ordered = 1;
    column->children = text = palloc0(sizeof(Column));
    column->child_count = 1;
    text->context = column->context;
    text->name = column->name;
    build_bytes(text, NULL);
    enum_load(column, type);
    index = column->detail.labels.count <= 256 ? 1 : column->detail.labels.count <= 65536 ? 2 : 4;
    field->parameter = index == 1 ? COLONNADE_UINT8 : index == 2 ? COLONNADE_UINT16 : COLONNADE_UINT32;
    build_fixed(column, KIND_OTHER, index);
    column->shape = SHAPE_DICTIONARY;
    column->put = enum_put;
    all->constant += (column->detail.labels.count + 1) * sizeof(int32) + text->data_length;
    add_field(all, "values", COLONNADE_UTF8);
}

/* A type whose number is not in the switch below. */
static void
build_other(Columns *all, const CopyOptions *options, Column *column, const Source *source, Oid type, int32 typmod)
{
    char kind = get_typtype(type);
    /* These two look like arrays of one dimension, but start at 0. */
    bool vector = type == INT2VECTOROID || type == OIDVECTOROID;
    Oid item = vector ? InvalidOid : get_element_type(type);

    if (source->depth >= MAX_DEPTH)
        build_foreign_text(all, column, source, type);
    else if (kind == TYPTYPE_ENUM)
        build_enumeration(all, column, source, type);
    else if (OidIsValid(item))
        build_array(all, options, column, source, item, typmod);
    else if (kind != TYPTYPE_COMPOSITE || !build_composite(all, options, column, source, type, typmod))
        build_foreign_text(all, column, source, type);
}

void
column_build(Columns *all, const CopyOptions *options, Column *column, const Source *source)
{
    int32 typmod = source->typmod;
    Oid type = getBaseTypeAndTypmod(source->type, &typmod);

    column->name = source->path;
    column->context = CurrentMemoryContext;
    column->type_name = format_type_with_typemod(type, typmod);
    if (source->as_text) {
        build_foreign_text(all, column, source, type);
        return;
    }
    switch (type) {
        case BOOLOID:
            column->kind = KIND_BOOL;
            column->shape = SHAPE_BITS;
            column->row_bits = 2;
            add_field(all, source->name, COLONNADE_BOOL);
            break;
        case INT2OID:
            build_fixed(column, KIND_FIXED2, 2);
            add_field(all, source->name, COLONNADE_INT16);
            break;
        case INT4OID:
            build_fixed(column, KIND_FIXED4, 4);
            add_field(all, source->name, COLONNADE_INT32);
            break;
        case INT8OID:
            build_fixed(column, KIND_FIXED8, 8);
            add_field(all, source->name, COLONNADE_INT64);
            break;
        case OIDOID:
            build_fixed(column, KIND_FIXED4, 4);
            add_field(all, source->name, COLONNADE_UINT32);
            break;
        case FLOAT4OID:
            build_fixed(column, KIND_FIXED4, 4);
            add_field(all, source->name, COLONNADE_FLOAT32);
            break;
        case FLOAT8OID:
            build_fixed(column, KIND_FIXED8, 8);
            add_field(all, source->name, COLONNADE_FLOAT64);
            break;
        case NUMERICOID:
            build_numeric(all, options, column, source, typmod);
            break;
        case CASHOID:
            build_money(all, column, source);
            break;
        case TEXTOID:
        case VARCHAROID:
        case BPCHAROID:
        case JSONOID:
            build_stored_text(all, column, source);
            break;
        case CHAROID:
        case JSONBOID:
            build_output_text(all, column, source, type);
            break;
        case NAMEOID:
            build_bytes(column, text_put_name);
            add_field(all, source->name, COLONNADE_UTF8);
            break;
        case UUIDOID:
            build_bytes(column, text_put_uuid);
            add_field(all, source->name, COLONNADE_UTF8);
            break;
        case BYTEAOID:
            build_bytes(column, NULL);
            add_field(all, source->name, COLONNADE_BINARY);
            break;
        case DATEOID:
            build_fixed(column, KIND_DATE, 4);
            add_field(all, source->name, COLONNADE_DATE32);
            break;
        case TIMEOID:
            build_fixed(column, KIND_FIXED8, 8);
            add_field(all, source->name, COLONNADE_TIME64)->parameter = COLONNADE_MICROSECONDS;
            break;
        case TIMESTAMPOID:
            build_timestamp(all, column, source, NULL);
            break;
        case TIMESTAMPTZOID:
            build_timestamp(all, column, source, "UTC");
            break;
        case INTERVALOID:
            build_fixed(column, KIND_OTHER, 16);
            column->put = interval_put;
            add_field(all, source->name, COLONNADE_INTERVAL);
            break;
        default:
            build_other(all, options, column, source, type, typmod);
    }
}
