/* The options of COPY … (FORMAT colonnade, …); PROTOCOL §2. */
#ifndef COLONNADE_OPTIONS_H
#define COLONNADE_OPTIONS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* PROTOCOL §2. */
#define MAX_CHUNK_ROWS 16777216

typedef enum ParallelMode { PARALLEL_AUTO, PARALLEL_ON, PARALLEL_OFF } ParallelMode;

typedef struct CopyOptions {
    const char *compression;  /* NULL: auto */
    const char *encodings;    /* NULL: all */
    const char *codecs;       /* NULL: all */
    uint32 chunk_rows;        /* the maximum rows of a chunk */
    Size chunk_bytes;         /* the maximum bytes of plain buffers of a chunk */
    Size max_message_bytes;   /* the maximum bytes of a message */
    int numeric_precision;    /* for numeric columns without a precision; 0: these become text */
    int numeric_scale;
    List *as_text;            /* char *: result columns that are sent as text */
    ParallelMode parallel;
} CopyOptions;

/* Whether `statement` names our format, with TO or FROM. */
extern bool options_name_our_format(const CopyStmt *statement);

/* The options, in CurrentMemoryContext. Errors: 22023 an unknown option or value, 42601 an option given twice. */
extern CopyOptions *options_parse(const CopyStmt *statement, const char *query_string);

/*
 * The options of COPY FROM as core's own: FORMAT text, and FREEZE if the statement has it. Errors: as above, also for options of
 * COPY TO.
 */
extern List *options_for_core(const CopyStmt *statement, const char *query_string);

#endif
