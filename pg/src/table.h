/* Converts COPY table [(columns)] to COPY (SELECT …). */
#ifndef COLONNADE_TABLE_H
#define COLONNADE_TABLE_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Converts `statement`, a copy that may be changed, to COPY (query). Returns the table's Oid. If core would refuse the
 * statement, it is not changed, so that core refuses it, and the result is InvalidOid.
 */
extern Oid table_to_query(CopyStmt *statement);

#endif
