/* Text, by the bytes it is stored in or by the type's output function; bytea. */
#ifndef COLONNADE_TEXT_H
#define COLONNADE_TEXT_H

#include "column.h"

/* Any text of the server, as UTF-8, in CurrentMemoryContext or where it is. Errors: 22021, 22P05 for what has no such form. */
extern const char *text_to_utf8(const char *text, Size length, Size *utf8_length);

/* KIND_OTHER. */
extern void text_put_converted(Sink *sink, Column *column, uint32 row, Datum value);
extern void text_put_name(Sink *sink, Column *column, uint32 row, Datum value);
extern void text_put_uuid(Sink *sink, Column *column, uint32 row, Datum value);
extern void text_put_output(Sink *sink, Column *column, uint32 row, Datum value);

/* After an error: puts the settings back that text_put_output() had set for an output function. */
extern void text_restore_settings(void);

/* A varlena that was compressed or moved out of its row, for as long as the row lasts. */
extern struct varlena *varlena_fetched(Sink *sink, struct varlena *stored);

/* What follows a varlena's header, wherever it is. */
static inline const char *
varlena_body(Sink *sink, Datum value, Size *length)
{
    struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

    if (unlikely(VARATT_IS_EXTERNAL(varlena) || VARATT_IS_COMPRESSED(varlena)))
        varlena = varlena_fetched(sink, varlena);
    *length = VARSIZE_ANY_EXHDR(varlena);
    return VARDATA_ANY(varlena);
}

#endif
