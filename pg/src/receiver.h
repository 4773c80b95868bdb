/* Receives rows from the executor, instead of core's receiver of COPY. */
#ifndef COLONNADE_RECEIVER_H
#define COLONNADE_RECEIVER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/execdesc.h"
#include "options.h"
#include "tcop/dest.h"

/* A COPY in our format, from the utility hook to its end. */
typedef struct Statement {
    const CopyOptions *options;
    MemoryContext context;      /* has the same lifetime */
    const char *query_string;   /* identifies its planning */
    Oid table;                  /* of COPY table; otherwise InvalidOid */
    TupleDesc chunk_rows;       /* the rows in the chunks of workers; NULL if the executor returns rows */
    bool planned;               /* the planner has been called */
    bool ran;                   /* the executor has been called; statements that it runs below are not ours */
} Statement;

/*
 * A receiver in the statement's context. It ends the stream when the executor reports the end of the rows. `all_rows` says
 * that the executor does not stop at a number of rows.
 */
extern DestReceiver *receiver_create(const Statement *statement, const QueryDesc *query, bool all_rows);

/* The number of received rows. */
extern uint64 receiver_rows(const DestReceiver *receiver);

#endif
