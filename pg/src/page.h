/*
 * Reads the rows of a heap page together, column by column.
 *
 * A sequential scan returns the rows of a page one by one, each through the executor, and a row's attributes are found one
 * after the other, because each starts where the one before ends. If the plan is only the scan, the receiver gets a page's
 * first row from the executor, reads the other visible ones from the page, and marks them as returned. A column of a page is
 * one loop: there is no decision for each value, and the rows' attributes are found independently of each other.
 */
#ifndef COLONNADE_PAGE_H
#define COLONNADE_PAGE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "types.h"

typedef struct PageScan PageScan;

/*
 * For the rows of `node`, which become `columns`; in CurrentMemoryContext. NULL if it is not only a sequential scan of
 * columns that are stored as they are sent.
 */
extern PageScan *page_scan_create(PlanState *node, const Columns *columns);

/*
 * Adds rows of the current page that the executor has not returned yet, as the rows from `first` on, and marks them as
 * returned. Returns their number: at most `room`, which must be allocated, and as many as certainly need fewer than
 * `budget` bytes. Rows that have fewer attributes than the table, or values that were compressed or moved out of the row,
 * end it: the executor returns them.
 */
extern uint32 page_scan_take(PageScan *scan, Sink *sink, Columns *columns, uint32 first, uint32 room, Size budget);

#endif
