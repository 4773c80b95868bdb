/* Some rows of a heap page, whose attributes are read one after the other. */
#ifndef COLONNADE_PAGE_ROWS_H
#define COLONNADE_PAGE_ROWS_H

#include "postgres.h"

#include "column.h"
#include "deform.h"

typedef struct PageRows {
    const Layout *layout;       /* of the table's attributes */
    uint32 count;
    Size bytes;                 /* of the rows' tuples */
    const char *end;            /* of the page */
    Size offset;                /* the next attribute's earliest start is at[row] + offset; */
    Size align_mask;            /* at[row] is a multiple of this + 1 */
    const char *at[MaxHeapTuplesPerPage];
    const uint8 *nulls[MaxHeapTuplesPerPage];        /* a bitmap as in a tuple: 0 for NULL */
    uint8 present[(MaxTupleAttributeNumber + 7) / 8]; /* 1 if no row has a NULL */
} PageRows;

/*
 * Adds the values of an attribute to `column` as the rows from `first` on, for which there must be room. Each attribute is
 * taken or passed, in order. If a value was compressed or moved out of its row, `count` becomes the number of rows before it.
 */
extern void page_rows_take(PageRows *rows, int attribute, Column *column, uint32 first);

/* Passes over an attribute. */
extern void page_rows_pass(PageRows *rows, int attribute);

#endif
