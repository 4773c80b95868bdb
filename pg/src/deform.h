/*
 * A row straight from its heap tuple into the columns.
 *
 * slot_getallattrs() takes a tuple apart into Datums, which then are read again, one by one; for a table that is sent as it is,
 * doing both in one pass saves about a tenth of the backend's time. How a tuple lies in memory: access/htup_details.h and
 * access/tupmacs.h.
 */
#ifndef COLONNADE_DEFORM_H
#define COLONNADE_DEFORM_H

#include "access/htup_details.h"
#include "column.h"
#include "executor/tuptable.h"

/* How one attribute lies in a tuple. */
typedef struct Layout {
    uint8 align_mask;          /* alignment - 1 */
    bool by_value;
    int16 length;              /* as pg_attribute.attlen */
} Layout;

/* The layout of `result`'s attributes, in CurrentMemoryContext. */
extern Layout *deform_layout(TupleDesc result);

/* Whether the slot holds a heap tuple that nobody has looked into, with all of its attributes. */
static inline bool
deform_applies(const TupleTableSlot *slot)
{
    const HeapTuple tuple = ((const HeapTupleTableSlot *) slot)->tuple;

    return (slot->tts_ops == &TTSOpsBufferHeapTuple || slot->tts_ops == &TTSOpsHeapTuple) && slot->tts_nvalid == 0 &&
           tuple != NULL && HeapTupleHeaderGetNatts(tuple->t_data) >= slot->tts_tupleDescriptor->natts;
}

/* The row in `slot` as row number `row`. It must apply, and there must be room. */
extern void deform_row(Sink *sink, Column *columns, int count, const Layout *layout, const TupleTableSlot *slot,
                       uint32 row);

#endif
