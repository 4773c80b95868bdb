/* Arrays as lists, composites as structs, enums as dictionaries. */
#ifndef COLONNADE_NESTED_H
#define COLONNADE_NESTED_H

#include "column.h"

/* KIND_OTHER. Errors of arrays: 0A000 for several dimensions and for one that does not start at 1. */
extern void array_put(Sink *sink, Column *column, uint32 row, Datum value);
extern void composite_put(Sink *sink, Column *column, uint32 row, Datum value);
extern void enum_put(Sink *sink, Column *column, uint32 row, Datum value);

/*
 * The labels of an enum, in its order, into the column's child (already a text column); how many there are. They stay as they
 * are for the whole stream.
 */
extern void enum_load(Column *column, Oid type);

#endif
