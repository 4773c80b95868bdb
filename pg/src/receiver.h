/* What the executor gives rows to, in place of core's receiver of COPY. */
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
    MemoryContext context;      /* lives as long */
    const char *query_string;   /* by which its planning is known */
    Oid table;                  /* of COPY table; else InvalidOid */
    TupleDesc chunk_rows;       /* the rows in the chunks that workers make; NULL where the executor gives rows */
    bool planned;               /* the planner has been seen */
    bool ran;                   /* the executor has been seen; what it runs below is not ours */
} Statement;

/* A receiver in the statement's context. It ends the stream when the executor says that there are no more rows. */
extern DestReceiver *receiver_create(const Statement *statement, const QueryDesc *query);

/* How many rows came. */
extern uint64 receiver_rows(const DestReceiver *receiver);

#endif
