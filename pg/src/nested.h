/* Arrays as lists, composites as structs, enums as dictionaries. */
#ifndef COLONNADE_NESTED_H
#define COLONNADE_NESTED_H

#include "column.h"

/* KIND_OTHER. Errors of arrays: 0A000 for several dimensions, and for an array that does not start at 1. */
extern void array_put(Sink *sink, Column *column, uint32 row, Datum value);
extern void composite_put(Sink *sink, Column *column, uint32 row, Datum value);
extern void enum_put(Sink *sink, Column *column, uint32 row, Datum value);

/*
 * Adds the labels of an enum, in its order, to the column's child (already a text column). Returns their number. They do not
 * change during the stream.
 */
extern void enum_load(Column *column, Oid type);

#endif
