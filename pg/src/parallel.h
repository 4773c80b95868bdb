/*
 * Workers encode, the leader forwards.
 *
 * If the planner has put a Gather at the top, our node is inserted between it and the plan that the workers run. It takes
 * that plan's rows, encodes them into chunks and returns each as one bytea; the leader's receiver adds them to its stream.
 * This applies to plans whose top is a Gather (not a Gather Merge, which keeps an order) that adds nothing of its own: no
 * filter, no expression, no InitPlan. All other plans run unchanged, and the backend encodes.
 */
#ifndef COLONNADE_PARALLEL_H
#define COLONNADE_PARALLEL_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/plannodes.h"
#include "options.h"

/* Registers the node by name, in the leader and in workers. */
extern void parallel_register(void);

/*
 * Changes `planned` so that it returns chunks, if it has the required shape. Returns the description of the rows in the
 * chunks (in CurrentMemoryContext), or NULL. `link` is that of ColonnadeOptions, which workers cannot determine.
 */
extern TupleDesc parallel_plan(PlannedStmt *planned, const CopyOptions *options, uint8 link);

#endif
