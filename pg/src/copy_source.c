/*
 * Core's loop for COPY FROM inserts the rows, so everything that follows from a row is core's. It gets the rows like this:
 *
 * PostgreSQL 18 has a routine for each format that fills in a row. Ours does it from the columns.
 *
 * Earlier versions have formats in the loop itself. It is begun for text, which needs no header and no receive function, and is
 * then told to read binary rows of no fields: two zero bytes for each row. Core evaluates the default expressions of the columns
 * that are not in a row. Ours are all among them, before the real ones, with an evaluation function that reads the column.
 */
#include "compat.h"

#include "copy_source.h"

#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "read.h"
#include "text.h"
#include "types.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#if COPY_HAS_ROUTINES
#include "commands/copyapi.h"
#endif

/* In COPY's binary format, the number of a row's fields. */
#define ROW_BYTES 2

typedef struct SourceColumn {
    ExprState state;           /* first, because core evaluates this as an expression */
    CopySourceColumns *source;
    const char *name;
    int index;                 /* of the attribute, from 0 */
    Reader reader;
} SourceColumn;

struct CopySourceColumns {
    Incoming *incoming;
    CopyFromState core;
    uint32 row;                /* the current one in the chunk */
    uint32 left;               /* rows of the chunk that core has not asked for */
    int count;
    SourceColumn *columns;
};

/* The statement that core runs. Core's callbacks have no argument of the caller's. */
static CopySourceColumns *running;

static char *
from_utf8(const char *text)
{
    return pg_any_to_server(text, (int) strlen(text), PG_UTF8);
}

static const ColonnadeField *
field_after(const ColonnadeField *field)
{
    for (int64 left = 1; left > 0; field++)
        left += (int64) field->children - 1;
    return field;
}

/*
 * A numeric column without a precision takes text, which COPY TO sends, or decimals, which it sends with the option numeric.
 * Returns options for which it sends what the field has.
 */
static CopyOptions
options_for(const ColonnadeField *field)
{
    CopyOptions options = {0};

    for (const ColonnadeField *end = field_after(field); field < end; field++)
        if (field->type_id == COLONNADE_DECIMAL128 || field->type_id == COLONNADE_DECIMAL256) {
            options.numeric_precision = field->parameter;
            options.numeric_scale = field->scale;
            break;
        }
    return options;
}

static void
check_type(const Incoming *incoming, size_t number, const ColonnadeField *field, Form_pg_attribute attribute)
{
    const CopyOptions options = options_for(field);
    const char *name = NameStr(attribute->attname);
    Source source = {.type = attribute->atttypid, .typmod = attribute->atttypmod, .name = name, .path = name};
    Columns expected = {0};
    Column column = {0};
    ColonnadeError wanted = {""};
    ColonnadeError found = {""};

    column_build(&expected, &options, &column, &source);
    if (colonnade_decoder_accepts(incoming->decoder, number, expected.fields, expected.field_count, &wanted, &found) !=
        COLONNADE_OK)
        ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" is of type %s but its field in the stream is of type %s", name,
                       format_type_with_typemod(attribute->atttypid, attribute->atttypmod), from_utf8(found.message)),
                errhint("Send %s, as COPY TO does.", from_utf8(wanted.message)));
}

/* The index of the column, among `numbers`, of which the field has the name. */
static int
column_of(const char *name, TupleDesc row_type, List *numbers)
{
    ListCell *cell;

    foreach (cell, numbers) {
        int index = lfirst_int(cell) - 1;

        if (strcmp(NameStr(TupleDescAttr(row_type, index)->attname), name) == 0)
            return index;
    }
    ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
            errmsg("field \"%s\" of the stream is not among the columns of COPY", name));
    return -1;
}

static void
check_complete(const bool *used, TupleDesc row_type, List *numbers)
{
    ListCell *cell;

    foreach (cell, numbers) {
        int index = lfirst_int(cell) - 1;

        if (!used[index])
            ereport(ERROR, errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
                    errmsg("column \"%s\" has no field in the stream",
                           NameStr(TupleDescAttr(row_type, index)->attname)));
    }
}

CopySourceColumns *
copy_source_create(Incoming *incoming, Relation table, List *numbers, bool is_list)
{
    CopySourceColumns *source = palloc0(sizeof(CopySourceColumns));
    TupleDesc row_type = RelationGetDescr(table);
    const ColonnadeField *field = incoming->fields;
    const ColonnadeField *end = incoming->fields + incoming->field_count;
    bool *used = palloc0(Max(1, row_type->natts) * sizeof(bool));

    source->incoming = incoming;
    /* A field that is one too many is refused before its column is initialized. */
    source->columns = palloc0(Max(1, list_length(numbers)) * sizeof(SourceColumn));
    while (field < end) {
        const char *name = from_utf8(field->name);
        int index = column_of(name, row_type, numbers);
        Form_pg_attribute attribute = TupleDescAttr(row_type, index);
        SourceColumn *column;

        if (used[index])
            ereport(ERROR, errcode(ERRCODE_DUPLICATE_COLUMN), errmsg("field \"%s\" occurs twice in the stream", name));
        used[index] = true;
        check_type(incoming, source->count, field, attribute);
        column = &source->columns[source->count++];
        column->source = source;
        column->name = NameStr(attribute->attname);
        column->index = index;
        reader_build(&column->reader, attribute->atttypid, attribute->atttypmod, false, &field);
    }
    if (is_list)
        check_complete(used, row_type, numbers);
    /* Core takes an empty list of columns for all of them. */
    if (source->count == 0 && numbers != NIL)
        ereport(ERROR, errcode(ERRCODE_BAD_COPY_FILE_FORMAT), errmsg("the stream has no fields"));
    return source;
}

List *
copy_source_names(const CopySourceColumns *source)
{
    List *names = NIL;

    for (int i = 0; i < source->count; i++)
        names = lappend(names, makeString(pstrdup(source->columns[i].name)));
    return names;
}

/* False at the end of the stream. */
static bool
next_chunk(CopySourceColumns *source)
{
    const ColonnadeColumn *column;

    source->left = incoming_chunk(source->incoming);
    source->row = 0;
    column = source->incoming->columns;
    for (int i = 0; i < source->count && source->left > 0; i++)
        column = reader_bind(&source->columns[i].reader, column);
    return source->left > 0;
}

/* Errors of a value get the context "COPY table, line 17, column day" from core. */
static inline Datum
read_column(SourceColumn *column, uint32 row, bool *is_null)
{
    CopyFromState core = column->source->core;
    Datum value;

    core->cur_attname = column->name;
    value = reader_datum(&column->reader, row, is_null);
    core->cur_attname = NULL;
    return value;
}

#if COPY_HAS_ROUTINES

static bool
next_row(CopyFromState core, ExprContext *context, Datum *values, bool *nulls)
{
    CopySourceColumns *source = running;

    (void) context;
    core->cur_lineno++;
    if (source->left == 0) {
        bool is_any = next_chunk(source);

        core->bytes_processed = source->incoming->bytes;
        pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, core->bytes_processed);
        if (!is_any)
            return false;
    }
    for (int i = 0; i < source->count; i++) {
        SourceColumn *column = &source->columns[i];

        values[column->index] = read_column(column, source->row, &nulls[column->index]);
    }
    source->row++;
    source->left--;
    return true;
}

static void
end(CopyFromState core)
{
    (void) core;
}

/* The other two members are called only while COPY begins. */
static const CopyFromRoutine routine = {.CopyFromOneRow = next_row, .CopyFromEnd = end};

static int
provide_rows(void *buffer, int least, int most)
{
    (void) buffer;
    (void) least;
    (void) most;
    elog(ERROR, "COPY read bytes where it should have read rows");
    return 0;
}

static void
replace_format(CopySourceColumns *source)
{
    source->core->routine = &routine;
}

#else

/*
 * Rows for core: zeros, for no fields. Core asks again after it has used all of them, so the chunk is then no longer needed.
 */
static int
provide_rows(void *buffer, int least, int most)
{
    CopySourceColumns *source = running;
    uint32 rows;
    int length;

    (void) least;
    if (source->left == 0)
        next_chunk(source);
    rows = Min(source->left, (uint32) most / ROW_BYTES);
    length = (int) rows * ROW_BYTES;
    memset(buffer, 0, length);
    source->left -= rows;
    /* For the progress view: core adds what it has read, modulo 2^64. */
    source->core->bytes_processed = source->incoming->bytes - length;
    return length;
}

static Datum
evaluate(ExprState *state, ExprContext *context, bool *is_null)
{
    SourceColumn *column = (SourceColumn *) state;

    (void) context;
    return read_column(column, column->source->row, is_null);
}

/* The column that is evaluated last for each row. */
static Datum
evaluate_last(ExprState *state, ExprContext *context, bool *is_null)
{
    Datum value = evaluate(state, context, is_null);

    ((SourceColumn *) state)->source->row++;
    return value;
}

static void
replace_format(CopySourceColumns *source)
{
    CopyFromState core = source->core;
    MemoryContext caller = MemoryContextSwitchTo(core->copycontext);
    const int attributes = Max(1, RelationGetDescr(core->rel)->natts);
    int *map = palloc(attributes * sizeof(int));
    ExprState **expressions = palloc0(attributes * sizeof(ExprState *));

    for (int i = 0; i < source->count; i++) {
        SourceColumn *column = &source->columns[i];

        column->state.type = T_ExprState;
        column->state.evalfunc = i == source->count - 1 ? evaluate_last : evaluate;
        map[i] = column->index;
        *COLUMN_DEFAULT(expressions, i, column->index) = &column->state;
    }
    for (int i = 0; i < core->num_defaults; i++) {
        int number = source->count + i;

        map[number] = core->defmap[i];
        *COLUMN_DEFAULT(expressions, number, map[number]) = *COLUMN_DEFAULT(core->defexprs, i, map[number]);
    }
    core->defmap = map;
    core->defexprs = expressions;
    core->num_defaults += source->count;
    core->attnumlist = NIL;
    /* As in binary COPY. */
    core->input_buf = NULL;
    MemoryContextSwitchTo(caller);
}

#endif

uint64
copy_source_run(CopySourceColumns *source, ParseState *state, Relation table, Node *where, List *options)
{
    CopySourceColumns *outer = running;
    volatile uint64 rows = 0;

    source->core = BeginCopyFrom(state, table, where, NULL, false, provide_rows, copy_source_names(source), options);
    replace_format(source);
    /* Then core does not show a line in an error's context. */
    COPY_BECOMES_BINARY(source->core->opts);
    pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
    running = source;
    PG_TRY();
    {
        rows = CopyFrom(source->core);
    }
    PG_FINALLY();
    {
        running = outer;
        text_restore_settings();
    }
    PG_END_TRY();
    EndCopyFrom(source->core);
    return rows;
}
