/*
 * COPY ... FROM STDIN (FORMAT colonnade) is in copy_from.c. COPY ... TO STDOUT (FORMAT colonnade) runs as core's COPY (query) TO STDOUT (FORMAT text). Core, and every hook below this
 * one, does parse analysis, permissions, row-level security, planning and progress as always, and reports its own errors.
 * Only the receiver of the executor's rows is replaced, during ExecutorRun.
 */
#include "compat.h"

#include "hook.h"

#include "copy_from.h"
#include "executor/executor.h"
#include "link.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "options.h"
#include "parallel.h"
#include "receiver.h"
#include "shape.h"
#include "table.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "text.h"
#include "utils/memutils.h"

static ProcessUtility_hook_type next_process_utility;
static ExecutorRun_hook_type next_executor_run;
static planner_hook_type next_planner;

/* The statement that core's COPY runs for us, until its rows have been received. */
static Statement *active;

#define UTILITY_PARAMETERS                                                                                            \
    PlannedStmt *planned, const char *query_string, bool read_only_tree, ProcessUtilityContext context,               \
        ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion
#define UTILITY_ARGUMENTS planned, query_string, read_only_tree, context, params, environment, dest, completion

static void
next_utility(UTILITY_PARAMETERS)
{
    if (next_process_utility)
        next_process_utility(UTILITY_ARGUMENTS);
    else
        standard_ProcessUtility(UTILITY_ARGUMENTS);
}

static void
next_run(EXECUTOR_RUN_PARAMETERS)
{
    if (next_executor_run)
        next_executor_run(EXECUTOR_RUN_ARGUMENTS);
    else
        standard_ExecutorRun(EXECUTOR_RUN_ARGUMENTS);
}

/* The same with `statement` as the active one, which is also reset after an error. */
static void
next_utility_for(Statement *statement, UTILITY_PARAMETERS)
{
    Statement *outer = active;

    active = statement;
    PG_TRY();
    {
        next_utility(UTILITY_ARGUMENTS);
    }
    PG_FINALLY();
    {
        active = outer;
    }
    PG_END_TRY();
}

static void
refuse_target(const CopyStmt *copy)
{
    if (copy->is_program || copy->filename != NULL)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("COPY %s a %s is not possible with FORMAT colonnade", copy->is_from ? "FROM" : "TO",
                       copy->is_program ? "program" : "file"),
                copy->is_from ? errhint("Use COPY ... FROM STDIN and let the client send the file.")
                              : errhint("Use COPY ... TO STDOUT and let the client write what it receives."));
    if (whereToSendOutput != DestRemote || MyProcPort == NULL)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("COPY with FORMAT colonnade needs a client that is connected by PostgreSQL's protocol"));
}

static void
run(UTILITY_PARAMETERS)
{
    Statement statement = {0};
    MemoryContext caller;
    CopyStmt *copy;

    refuse_target((CopyStmt *) planned->utilityStmt);
    /* A child of the portal's context, so that it is freed with the portal after an error. */
    statement.context = AllocSetContextCreate(CurrentMemoryContext, "colonnade", ALLOCSET_DEFAULT_SIZES);
    caller = MemoryContextSwitchTo(statement.context);
    statement.query_string = query_string;
    statement.options = options_parse((CopyStmt *) planned->utilityStmt, query_string);

    /* The plan cache may own the tree, so it is copied. */
    planned = copyObject(planned);
    copy = (CopyStmt *) planned->utilityStmt;
    copy->options = list_make1(makeDefElem("format", (Node *) makeString("text"), -1));
    if (copy->relation != NULL)
        statement.table = table_to_query(copy);
    MemoryContextSwitchTo(caller);

    next_utility_for(&statement, UTILITY_ARGUMENTS);
    if (!statement.ran)
        ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("COPY ran without FORMAT colonnade's receiver"),
                errhint("Another extension's hook may have taken it over."));
    MemoryContextDelete(statement.context);
}

/* Core's COPY FROM cannot be given other bytes than the client's, so neither it nor the next hooks see this statement. */
static void
run_from(UTILITY_PARAMETERS)
{
    MemoryContext caller = CurrentMemoryContext;
    MemoryContext own;
    uint64 rows;

    (void) read_only_tree;
    (void) context;
    (void) params;
    (void) dest;
    refuse_target((CopyStmt *) planned->utilityStmt);
    own = AllocSetContextCreate(caller, "colonnade", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(own);
    rows = copy_from_run(planned, query_string, environment);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(own);
    if (completion != NULL)
        SetQueryCompletion(completion, CMDTAG_COPY, rows);
}

static void
process_utility(UTILITY_PARAMETERS)
{
    bool is_ours = IsA(planned->utilityStmt, CopyStmt) && options_name_our_format((CopyStmt *) planned->utilityStmt);

    if (is_ours && ((CopyStmt *) planned->utilityStmt)->is_from)
        run_from(UTILITY_ARGUMENTS);
    else if (is_ours)
        run(UTILITY_ARGUMENTS);
    else if (active != NULL)
        /* A function in our query may run a COPY to a file, which is not ours. */
        next_utility_for(NULL, UTILITY_ARGUMENTS);
    else
        next_utility(UTILITY_ARGUMENTS);
}

static void
executor_run(EXECUTOR_RUN_PARAMETERS)
{
    DestReceiver *core = query->dest;
    DestReceiver *ours;

    if (active == NULL || active->ran || core->mydest != DestCopyOut) {
        next_run(EXECUTOR_RUN_ARGUMENTS);
        return;
    }
    active->ran = true;
    ours = receiver_create(active, query, count == 0);
    query->dest = ours;
    PG_TRY();
    {
        next_run(EXECUTOR_RUN_ARGUMENTS);
    }
    PG_FINALLY();
    {
        query->dest = core;
        text_restore_settings();
    }
    PG_END_TRY();
    ((CoreCopyReceiver *) core)->processed = receiver_rows(ours);
}

static PlannedStmt *
plan_next(PLANNER_PARAMETERS)
{
    if (next_planner)
        return next_planner(PLANNER_ARGUMENTS(parse));
    return standard_planner(PLANNER_ARGUMENTS(parse));
}

/*
 * Plans as if passing on workers' results cost nothing. At the top, workers return chunks, so the cost per row does not
 * apply; elsewhere it does. So the result is NULL if there are workers elsewhere, or none at the top.
 */
static PlannedStmt *
plan_for_workers(PLANNER_PARAMETERS)
{
    const double setup_cost = parallel_setup_cost;
    const double tuple_cost = parallel_tuple_cost;
    PlannedStmt *planned;

    parallel_setup_cost = 0;
    parallel_tuple_cost = 0;
    PG_TRY();
    {
        planned = plan_next(PLANNER_ARGUMENTS(parse));
    }
    PG_FINALLY();
    {
        parallel_setup_cost = setup_cost;
        parallel_tuple_cost = tuple_cost;
    }
    PG_END_TRY();
    return shape_is_forwarding(planned) && !shape_gathers_inside(planned) ? planned : NULL;
}

static PlannedStmt *
plan(PLANNER_PARAMETERS)
{
    Statement *statement = active;
    MemoryContext caller;
    PlannedStmt *planned = NULL;

    if (statement == NULL || statement->planned || query_string != statement->query_string)
        return plan_next(PLANNER_ARGUMENTS(parse));
    /* Set before planning, because functions that the planner calls may plan queries of their own. */
    statement->planned = true;
    if (statement->options->parallel == PARALLEL_ON)
        /* Planning changes the query, so a copy is planned. */
        planned = plan_for_workers(PLANNER_ARGUMENTS(copyObject(parse)));
    if (planned == NULL)
        planned = plan_next(PLANNER_ARGUMENTS(parse));
    caller = MemoryContextSwitchTo(statement->context);
    statement->chunk_rows = parallel_plan(planned, statement->options, link_to_client());
    MemoryContextSwitchTo(caller);
    return planned;
}

void
hook_install(void)
{
    next_planner = planner_hook;
    planner_hook = plan;
    next_process_utility = ProcessUtility_hook;
    ProcessUtility_hook = process_utility;
    next_executor_run = ExecutorRun_hook;
    ExecutorRun_hook = executor_run;
}
