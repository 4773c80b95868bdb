#include "compat.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "read.h"
#include "text.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

/* The row's text in the database's encoding, in place or in CurrentMemoryContext. */
static const char *
text_of(const Reader *reader, uint32 row, Size *length)
{
    const char *text = bytes_of(reader, row, length);
    char *converted;

    /* In core's words. The decoder has checked that it is UTF-8, which may contain this character. */
    if (reader->has_nul && memchr(text, '\0', *length) != NULL)
        ereport(ERROR, errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
                errmsg("invalid byte sequence for encoding \"%s\": 0x00", pg_encoding_to_char(PG_UTF8)));
    if (GetDatabaseEncoding() == PG_UTF8 || *length == 0)
        return text;
    converted = pg_any_to_server(text, (int) *length, PG_UTF8);
    if (converted != text)
        *length = strlen(converted);
    return converted;
}

static Size
characters(const char *text, Size length)
{
    Size count = 0;

    if (GetDatabaseEncoding() != PG_UTF8)
        return pg_mbstrlen_with_len(text, (int) length);
    /* All bytes but continuation bytes. */
    for (Size i = 0; i < length; i++)
        count += ((signed char) text[i]) >= -64;
    return count;
}

static void
check_length(const Reader *reader, const char *text, Size length)
{
    const char *type = reader->type == BPCHAROID ? "character" : "character varying";
    Size count = characters(text, length);

    if (count > (Size) reader->limit)
        ereport(ERROR, errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
                errmsg("value too long for type %s(%d)", type, reader->limit));
    if (count < (Size) reader->limit && reader->type == BPCHAROID)
        ereport(ERROR, errcode(ERRCODE_STRING_DATA_LENGTH_MISMATCH),
                errmsg("value too short for type %s(%d)", type, reader->limit),
                errhint("Add the spaces with which the type fills a value."));
}

Datum
read_checked_text(Reader *reader, uint32 row, bool *is_null)
{
    Size length;
    const char *text = text_of(reader, row, &length);

    (void) is_null;
    if (reader->limit >= 0)
        check_length(reader, text, length);
    return varlena_of(reader, text, length);
}

Datum
read_name(Reader *reader, uint32 row, bool *is_null)
{
    Size length;
    const char *text = text_of(reader, row, &length);
    char *name;

    (void) is_null;
    /* The type's input function would truncate it. */
    if (length >= NAMEDATALEN)
        ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG), errmsg("identifier too long"),
                errdetail("Identifier must be less than %d characters.", NAMEDATALEN));
    name = reader_room(reader, NAMEDATALEN);
    memset(name, 0, NAMEDATALEN);
    memcpy(name, text, length);
    return NameGetDatum((Name) name);
}

/* numeric(p,s) for which no decimal type exists. The type's input function would round the value. */
static Datum
read_numeric(Reader *reader, char *text)
{
    Datum exact = InputFunctionCall(&reader->input, text, reader->input_parameter, -1);
    Datum stored = DirectFunctionCall2(numeric, exact, Int32GetDatum(reader->typmod));

    if (!DatumGetBool(DirectFunctionCall2(numeric_eq, exact, stored)))
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("a value has more digits after the decimal point than its column stores"));
    return stored;
}

/* "char" stores one byte; its input function drops all others. */
static Datum
read_char(Reader *reader, char *text)
{
    Datum value = InputFunctionCall(&reader->input, text, reader->input_parameter, -1);

    if (strcmp(DatumGetCString(DirectFunctionCall1(charout, value)), text) != 0)
        ereport(ERROR, errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION), errmsg("value too long for type \"char\""));
    return value;
}

Datum
read_by_input(Reader *reader, uint32 row, bool *is_null)
{
    Size length;
    const char *text = text_of(reader, row, &length);
    char *terminated = pnstrdup(text, length);
    Datum value;

    (void) is_null;
    if (reader->type == NUMERICOID && reader->typmod >= 0)
        return read_numeric(reader, terminated);
    if (reader->type == CHAROID)
        return read_char(reader, terminated);
    /* With the settings under which COPY TO writes the text. */
    text_set_settings();
    value = InputFunctionCall(&reader->input, terminated, reader->input_parameter, reader->typmod);
    text_restore_settings();
    return value;
}
