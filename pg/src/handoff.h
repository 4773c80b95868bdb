/* How a worker's chunk reaches the leader: as values of type bytea that go through Gather. */
#ifndef COLONNADE_HANDOFF_H
#define COLONNADE_HANDOFF_H

#include "postgres.h"

#include "colonnade_encoder.h"
#include "nodes/execnodes.h"
#include "utils/dsa.h"

/* What a leader has of chunks that come in parts. */
typedef struct Handoff Handoff;

/*
 * `values` and the chunk's bytea, one or more, in CurrentMemoryContext. `shared` is memory that the leader has, too, or NULL.
 */
extern List *handoff_pack(List *values, const ColonnadeMessage *message, dsa_area *shared);

/* For one statement; it and chunks in parts lie in CurrentMemoryContext. */
extern Handoff *handoff_create(void);

/*
 * The chunk that `value` brings or ends, `gather` being the plan's state; NULL if there is more of it to come. It stays until
 * handoff_release(), which follows in any case.
 */
extern const char *handoff_unpack(Handoff *handoff, const struct varlena *value, const PlanState *gather, Size *length);
extern void handoff_release(Handoff *handoff, const struct varlena *value, const PlanState *gather);

#endif
