/* The shape of plans in which parallel workers can encode chunks. */
#ifndef COLONNADE_SHAPE_H
#define COLONNADE_SHAPE_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Whether the top is a Gather that returns its child's columns unchanged and does nothing else. */
extern bool shape_is_forwarding(const PlannedStmt *planned);

/* Whether a Gather is anywhere but at the top. */
extern bool shape_gathers_inside(const PlannedStmt *planned);

#endif
