/* Text, from its stored bytes or from the type's output function; bytea. */
#ifndef COLONNADE_TEXT_H
#define COLONNADE_TEXT_H

#include "column.h"

/*
 * Any text of the server as UTF-8, either in CurrentMemoryContext or in place. Errors: 22021, 22P05 if it cannot be
 * converted.
 */
extern const char *text_to_utf8(const char *text, Size length, Size *utf8_length);

/* KIND_OTHER. */
extern void text_put_converted(Sink *sink, Column *column, uint32 row, Datum value);
extern void text_put_name(Sink *sink, Column *column, uint32 row, Datum value);
extern void text_put_uuid(Sink *sink, Column *column, uint32 row, Datum value);
extern void text_put_output(Sink *sink, Column *column, uint32 row, Datum value);

/* For the call of one output or input function: settings under which text is exact and the same in every session. */
extern void text_set_settings(void);

/* Restores the session's settings, after the call or after an error. */
extern void text_restore_settings(void);

/* A varlena that was compressed or moved out of its row. It is valid until the next row. */
extern struct varlena *varlena_fetched(Sink *sink, struct varlena *stored);

/* The bytes after a varlena's header, wherever it is stored. */
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
