/* COPY table FROM STDIN (FORMAT colonnade). */
#ifndef COLONNADE_COPY_FROM_H
#define COLONNADE_COPY_FROM_H

#include "postgres.h"

#include "nodes/plannodes.h"
#include "utils/queryenvironment.h"

/*
 * Runs the statement and returns the number of rows. It has core's semantics, because core's own loop inserts the rows.
 * Memory is in CurrentMemoryContext, which must be deleted afterwards.
 */
extern uint64 copy_from_run(const PlannedStmt *planned, const char *query_string, QueryEnvironment *environment);

#endif
