/*
 * Reads a row directly from its heap tuple into the columns.
 *
 * slot_getallattrs() converts a tuple into Datums, which are then read again, one by one. For a table that is sent
 * unchanged, doing both in one pass saves about a tenth of the backend's time. The memory layout of a tuple:
 * access/htup_details.h and access/tupmacs.h.
 */
#ifndef COLONNADE_DEFORM_H
#define COLONNADE_DEFORM_H

#include "access/htup_details.h"
#include "column.h"
#include "executor/tuptable.h"

/* The layout of one attribute in a tuple. */
typedef struct Layout {
    uint8 align_mask;          /* alignment - 1 */
    bool by_value;
    int16 length;              /* as pg_attribute.attlen */
} Layout;

/* The layout of `result`'s attributes, in CurrentMemoryContext. */
extern Layout *deform_layout(TupleDesc result);

/* Whether the slot contains a heap tuple with all of its attributes, of which none has been read. */
static inline bool
deform_applies(const TupleTableSlot *slot)
{
    const HeapTuple tuple = ((const HeapTupleTableSlot *) slot)->tuple;

    return (slot->tts_ops == &TTSOpsBufferHeapTuple || slot->tts_ops == &TTSOpsHeapTuple) && slot->tts_nvalid == 0 &&
           tuple != NULL && HeapTupleHeaderGetNatts(tuple->t_data) >= slot->tts_tupleDescriptor->natts;
}

/* Adds the row in `slot` as row number `row`. deform_applies() must hold for the slot, and there must be room. */
extern void deform_row(Sink *sink, Column *columns, int count, const Layout *layout, const TupleTableSlot *slot,
                       uint32 row);

#endif
