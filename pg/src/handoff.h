/* How a worker's chunk reaches the leader: as values of type bytea that pass through Gather. */
#ifndef COLONNADE_HANDOFF_H
#define COLONNADE_HANDOFF_H

#include "postgres.h"

#include "colonnade_encoder.h"
#include "nodes/execnodes.h"
#include "utils/dsa.h"

/* The leader's state for chunks that arrive in parts. */
typedef struct Handoff Handoff;

/*
 * `values` and the chunk as one or more bytea, in CurrentMemoryContext. `shared` is memory that the leader can also access,
 * or NULL.
 */
extern List *handoff_pack(List *values, const ColonnadeMessage *message, dsa_area *shared);

/* For one statement. It and chunks in parts are in CurrentMemoryContext. */
extern Handoff *handoff_create(void);

/*
 * The chunk that `value` contains or completes; `gather` is the plan's state. NULL if more parts follow. The result is valid
 * until handoff_release(), which must be called in any case.
 */
extern const char *handoff_unpack(Handoff *handoff, const struct varlena *value, const PlanState *gather, Size *length);
extern void handoff_release(Handoff *handoff, const struct varlena *value, const PlanState *gather);

#endif
