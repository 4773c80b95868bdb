/* What the executor gives rows to, in place of core's receiver of COPY. */
#ifndef COLONNADE_RECEIVER_H
#define COLONNADE_RECEIVER_H

#include "postgres.h"

#include "options.h"
#include "tcop/dest.h"

/* A COPY in our format, from the utility hook to its end. */
typedef struct Statement {
    const CopyOptions *options;
    MemoryContext context;      /* lives as long */
    Oid table;                  /* of COPY table; else InvalidOid */
    bool ran;                   /* the executor has been seen; what it runs below is not ours */
} Statement;

/* A receiver in the statement's context. It ends the stream when the executor says that there are no more rows. */
extern DestReceiver *receiver_create(const Statement *statement);

/* How many rows came. */
extern uint64 receiver_rows(const DestReceiver *receiver);

#endif
