/*
 * Workers encode, the leader forwards.
 *
 * Where the planner has put a Gather on top, a node of ours goes between it and what the workers run. It takes that node's rows,
 * makes chunks of them and gives each as one bytea; the leader's receiver takes them over into its stream. Which plans that
 * are: the top is a Gather (not a Gather Merge, since that is about order) that adds nothing of its own: no filter, no
 * expression, no InitPlan. All others run as ever, and the backend encodes.
 */
#ifndef COLONNADE_PARALLEL_H
#define COLONNADE_PARALLEL_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/plannodes.h"
#include "options.h"

/* Makes the node known by name, in the leader as in workers. */
extern void parallel_register(void);

/*
 * Changes `planned` such that it gives chunks, if it is of the shape; gives the description of the rows that are in them (in
 * CurrentMemoryContext), or NULL. `link` is that of ColonnadeOptions, which workers cannot know.
 */
extern TupleDesc parallel_plan(PlannedStmt *planned, const CopyOptions *options, uint8 link);

#endif
