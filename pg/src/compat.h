/*
 * Everything that depends on PostgreSQL's version, 14 to 18, and the one structure of its that no header shows.
 */
#ifndef COLONNADE_COMPAT_H
#define COLONNADE_COMPAT_H

#include "postgres.h"

#include "tcop/dest.h"

#if PG_VERSION_NUM < 140000 || PG_VERSION_NUM >= 190000
#error "Colonnade is written for PostgreSQL 14 to 18"
#endif

#ifdef WORDS_BIGENDIAN
#error "column buffers are little-endian (FORMAT.md §1), and values are copied into them as they are"
#endif

/*
 * What core's COPY (query) TO hands to the executor, DR_copy in src/backend/commands/copyto.c. Only `processed` is written here;
 * command tag, pg_stat_statements and COPY's progress take the number of rows from it, and the regression tests, which
 * have run on 15, 16 and 18, see it in the tag.
 */
typedef struct CoreCopyReceiver {
    DestReceiver pub;
    void *cstate;
    uint64 processed;
} CoreCopyReceiver;

/* 18 took execute_once away. */
#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS query, direction, count
#else
#define EXECUTOR_RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count, bool execute_once
#define EXECUTOR_RUN_ARGUMENTS query, direction, count, execute_once
#endif

/* 18 lets COPY read a materialized view. */
#define COPY_TAKES_MATVIEWS (PG_VERSION_NUM >= 180000)

/* Whether libpq holds bytes of the client's that are not read yet. 17 counts them. */
#if PG_VERSION_NUM >= 170000
#define CLIENT_HAS_SENT_MORE (pq_buffer_remaining_data() > 0)
#else
#define CLIENT_HAS_SENT_MORE pq_buffer_has_data()
#endif

/* From 16 on fmgr.h says so itself. */
extern PGDLLEXPORT void _PG_init(void);

/*
 * Port, for the client's address. Where PostgreSQL was built with GSSAPI, its header asks for Kerberos's headers, which
 * PostgreSQL's own development package does not bring; without the symbol the structure is the same (it says so itself).
 */
#undef ENABLE_GSS
#include "libpq/libpq-be.h"

/* 17 has names for the letters of messages. */
#define COPY_DATA_MESSAGE 'd'

#endif
