/* Connects the columns of a client's stream with core's loop for COPY FROM. */
#ifndef COLONNADE_COPY_SOURCE_H
#define COLONNADE_COPY_SOURCE_H

#include "postgres.h"

#include "incoming.h"
#include "nodes/pg_list.h"
#include "parser/parse_node.h"
#include "utils/rel.h"

typedef struct CopySourceColumns CopySourceColumns;

/*
 * Finds a column of the table for each field of the stream, among the columns `numbers`, and checks its type. If `is_list`,
 * each of these columns must have a field. Errors: 42703 and 42701 for names, 42804 for types, 22P04 for a missing field.
 */
extern CopySourceColumns *copy_source_create(Incoming *incoming, Relation table, List *numbers, bool is_list);

/* The names of these columns, as a list for BeginCopyFrom(). */
extern List *copy_source_names(const CopySourceColumns *source);

/* Core's COPY FROM text; the rows come from the stream. */
extern uint64 copy_source_run(CopySourceColumns *source, ParseState *state, Relation table, Node *where, List *options);

#endif
