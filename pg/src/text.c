#include "compat.h"

#include "text.h"

#include "access/detoast.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/bytea.h"
#include "utils/float.h"
#include "utils/uuid.h"

/*
 * Output functions run with these settings, so that text is exact and the same in every session: DateStyle 'ISO',
 * IntervalStyle 'postgres', the shortest exact floats, bytea in hex. They are set only for the call, because the query's own
 * expressions use the session's. They are assigned directly, because the GUC functions cost more than most output functions.
 */
static struct {
    bool swapped;
    int date_style;
    int interval_style;
    int float_digits;
    int bytea;
} session;

void
text_set_settings(void)
{
    session.date_style = DateStyle;
    session.interval_style = IntervalStyle;
    session.float_digits = extra_float_digits;
    session.bytea = bytea_output;
    session.swapped = true;
    DateStyle = USE_ISO_DATES;
    IntervalStyle = INTSTYLE_POSTGRES;
    extra_float_digits = 1;
    bytea_output = BYTEA_OUTPUT_HEX;
}

void
text_restore_settings(void)
{
    if (!session.swapped)
        return;
    DateStyle = session.date_style;
    IntervalStyle = session.interval_style;
    extra_float_digits = session.float_digits;
    bytea_output = session.bytea;
    session.swapped = false;
}

struct varlena *
varlena_fetched(Sink *sink, struct varlena *stored)
{
    sink->row_context_used = true;
    return detoast_attr(stored);
}

const char *
text_to_utf8(const char *text, Size length, Size *utf8_length)
{
    char *converted = pg_server_to_any(text, (int) length, PG_UTF8);

    *utf8_length = converted == text ? length : strlen(converted);
    return converted;
}

static void
append_converted(Sink *sink, Column *column, uint32 row, const char *text, Size length)
{
    if (GetDatabaseEncoding() == PG_SQL_ASCII && !pg_verify_mbstr(PG_UTF8, text, (int) length, true))
        ereport(ERROR, errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
                errmsg("column \"%s\": it has text that is not UTF-8", column->name),
                errhint("Read its bytes: convert_to(COLUMN, 'SQL_ASCII'); spec/TYPES.md shows how to convert them."));
    if (GetDatabaseEncoding() != PG_UTF8) {
        text = text_to_utf8(text, length, &length);
        sink->row_context_used = true;
    }
    column_append(sink, column, row, text, length);
}

void
text_put_converted(Sink *sink, Column *column, uint32 row, Datum value)
{
    Size length;
    const char *body = varlena_body(sink, value, &length);

    append_converted(sink, column, row, body, length);
}

void
text_put_name(Sink *sink, Column *column, uint32 row, Datum value)
{
    const char *name = NameStr(*DatumGetName(value));

    append_converted(sink, column, row, name, strlen(name));
}

void
text_put_uuid(Sink *sink, Column *column, uint32 row, Datum value)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *bytes = DatumGetUUIDP(value)->data;
    char text[36];
    char *to = text;

    for (int i = 0; i < UUID_LEN; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = hex[bytes[i] >> 4];
        *to++ = hex[bytes[i] & 15];
    }
    column_append(sink, column, row, text, sizeof(text));
}

void
text_put_output(Sink *sink, Column *column, uint32 row, Datum value)
{
    char *text;

    sink->row_context_used = true;
    text_set_settings();
    text = OutputFunctionCall(&column->output, value);
    text_restore_settings();
    append_converted(sink, column, row, text, strlen(text));
}
