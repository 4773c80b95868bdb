/* COPY table [(columns)] as COPY (SELECT …). */
#ifndef COLONNADE_TABLE_H
#define COLONNADE_TABLE_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Turns `statement`, a copy that may be changed, into COPY (query); gives the table's Oid. Where core itself would refuse, the
 * statement stays as it is, so that core does, and InvalidOid is given.
 */
extern Oid table_to_query(CopyStmt *statement);

#endif
