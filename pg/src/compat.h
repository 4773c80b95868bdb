/* Everything that depends on PostgreSQL's version, 14 to 19, and the one structure of PostgreSQL that is in no header. */
#ifndef COLONNADE_COMPAT_H
#define COLONNADE_COMPAT_H

#include "postgres.h"

#include "tcop/dest.h"

/* 19 no longer includes it in postgres.h, and 16 is the first version that has it. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 140000 || PG_VERSION_NUM >= 200000
#error "Colonnade is written for PostgreSQL 14 to 19"
#endif

#ifdef WORDS_BIGENDIAN
#error "column buffers are little-endian (FORMAT.md §1), and values are copied into them unchanged"
#endif

/* With some of the compiler flags of servers, gcc warns about the variable that 16's PG_TRY declares and never changes. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

/*
 * The receiver that core's COPY (query) TO passes to the executor, DR_copy in src/backend/commands/copyto.c. Only
 * `processed` is written here. The command tag, pg_stat_statements and COPY's progress take the number of rows from it. The
 * regression tests, which have run on 15 to 19, check it in the tag.
 */
typedef struct CoreCopyReceiver {
    DestReceiver pub;
    void *cstate;
    uint64 processed;
} CoreCopyReceiver;

/* 18 removed execute_once. */
#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS query, direction, count
#else
#define EXECUTOR_RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count, bool execute_once
#define EXECUTOR_RUN_ARGUMENTS query, direction, count, execute_once
#endif

/* 19 tells the planner whether EXPLAIN asks. */
#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS \
    Query *parse, const char *query_string, int options, ParamListInfo params, struct ExplainState *explain
#define PLANNER_ARGUMENTS(query) query, query_string, options, params, explain
#else
#define PLANNER_PARAMETERS Query *parse, const char *query_string, int options, ParamListInfo params
#define PLANNER_ARGUMENTS(query) query, query_string, options, params
#endif

/* 19 has one field for the format, which was a flag for each. */
#if PG_VERSION_NUM >= 190000
#define COPY_BECOMES_BINARY(format_options) ((format_options).format = COPY_FORMAT_BINARY)
#else
#define COPY_BECOMES_BINARY(format_options) ((format_options).binary = true)
#endif

/* 18 lets COPY read a materialized view. */
#define COPY_TAKES_MATVIEWS (PG_VERSION_NUM >= 180000)
/* 19 lets it read all rows of a partitioned table. */
#define COPY_TAKES_PARTITIONED (PG_VERSION_NUM >= 190000)

/* Whether libpq has bytes from the client that are not read yet. 17 has a counter for them. */
#if PG_VERSION_NUM >= 170000
#define CLIENT_HAS_SENT_MORE (pq_buffer_remaining_data() > 0)
#else
#define CLIENT_HAS_SENT_MORE pq_buffer_has_data()
#endif

/*
 * COPY FROM: core's own loop runs, and our columns take the place of the format; copy_from.c.
 *
 * 18 has a routine for each format, which fills in a row. Before, core reads a row and then evaluates the columns' default
 * expressions; COLUMN_DEFAULT is the place of the expression of `column`, which is number `number` among them.
 */
#if PG_VERSION_NUM >= 180000
#define COPY_HAS_ROUTINES 1
#else
#define COPY_HAS_ROUTINES 0
#endif
#if PG_VERSION_NUM >= 160000
#define COLUMN_DEFAULT(expressions, number, column) ((void) (number), &(expressions)[column])
#else
#define COLUMN_DEFAULT(expressions, number, column) ((void) (column), &(expressions)[number])
#endif

/* 16 moved permissions from range table entries to a structure of their own. */
#if PG_VERSION_NUM >= 160000
#define ITEM_PERMISSIONS(item) ((item)->p_perminfo)
#define CHECK_PERMISSIONS(state, item) ExecCheckPermissions((state)->p_rtable, list_make1((item)->p_perminfo), true)
#else
#define ITEM_PERMISSIONS(item) ((item)->p_rte)
#define CHECK_PERMISSIONS(state, item) ExecCheckRTPerms((state)->p_rtable, true)
#endif

/* 18 refuses generated columns in COPY's WHERE; before, they are NULL there. */
#define COPY_WHERE_REFUSES_GENERATED (PG_VERSION_NUM >= 180000)

/* From 16 on fmgr.h declares it. */
extern PGDLLEXPORT void _PG_init(void);

/*
 * Port, for the client's address. If PostgreSQL was built with GSSAPI, its header needs Kerberos's headers, which
 * PostgreSQL's own development package does not contain. Without the symbol the structure is the same (as its comment says).
 */
#undef ENABLE_GSS
#include "libpq/libpq-be.h"

/* 17 defines names for message types. */
#define COPY_DATA_MESSAGE 'd'
#define COPY_DONE_MESSAGE 'c'
#define COPY_FAIL_MESSAGE 'f'
#define COPY_IN_RESPONSE_MESSAGE 'G'
#define FLUSH_MESSAGE 'H'
#define SYNC_MESSAGE 'S'

#endif
