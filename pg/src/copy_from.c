/*
 * What core's DoCopy() does around its loop: the table's lock, WHERE, privileges, row-level security. It cannot be asked to do
 * this, because it also begins to read from the client, whose bytes an extension cannot replace.
 */
#include "compat.h"

#include "copy_from.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/copy.h"
#include "copy_source.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "options.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

/* Generated columns are computed after the rows were filtered. */
static void
refuse_generated(Relation table, Node *where)
{
    Bitmapset *columns = NULL;
    TupleDesc row_type = RelationGetDescr(table);
    bool is_whole_row;

    pull_varattnos(where, 1, &columns);
    is_whole_row = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, columns);
    for (int i = 0; i < row_type->natts; i++) {
        Form_pg_attribute attribute = TupleDescAttr(row_type, i);

        if (attribute->attgenerated != '\0' &&
            (is_whole_row || bms_is_member(attribute->attnum - FirstLowInvalidHeapAttributeNumber, columns)))
            ereport(ERROR, errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                    errmsg("generated columns are not supported in COPY FROM WHERE conditions"),
                    errdetail("Column \"%s\" is a generated column.", NameStr(attribute->attname)));
    }
}

static Node *
transform_where(ParseState *state, ParseNamespaceItem *item, Relation table, Node *raw)
{
    Node *where;

    addNSItemToQuery(state, item, false, true, true);
    where = transformExpr(state, raw, EXPR_KIND_COPY_WHERE);
    where = coerce_to_boolean(state, where, "WHERE");
    assign_expr_collations(state, where);
    if (COPY_WHERE_REFUSES_GENERATED)
        refuse_generated(table, where);
    where = eval_const_expressions(NULL, where);
    where = (Node *) canonicalize_qual((Expr *) where, false);
    return (Node *) make_ands_implicit((Expr *) where);
}

static void
check_rights(ParseState *state, ParseNamespaceItem *item, Relation table, List *numbers)
{
    ListCell *cell;

    ITEM_PERMISSIONS(item)->requiredPerms = ACL_INSERT;
    foreach (cell, numbers)
        ITEM_PERMISSIONS(item)->insertedCols =
            bms_add_member(ITEM_PERMISSIONS(item)->insertedCols, lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber);
    CHECK_PERMISSIONS(state, item);
    if (check_enable_rls(RelationGetRelid(table), InvalidOid, false) == RLS_ENABLED)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("COPY FROM not supported with row-level security"),
                errhint("Use INSERT statements instead."));
}

uint64
copy_from_run(const PlannedStmt *planned, const char *query_string, QueryEnvironment *environment)
{
    const CopyStmt *copy = (const CopyStmt *) planned->utilityStmt;
    List *options = options_for_core(copy, query_string);
    ParseState *state = make_parsestate(NULL);
    ParseNamespaceItem *item;
    Relation table;
    List *numbers;
    Node *where = NULL;
    CopySourceColumns *source;
    uint64 rows;

    PreventCommandIfParallelMode("COPY");
    PreventCommandDuringRecovery("COPY FROM");
    state->p_sourcetext = query_string;
    state->p_queryEnv = environment;
    table = table_openrv(copy->relation, RowExclusiveLock);
    item = addRangeTableEntryForRelation(state, table, RowExclusiveLock, NULL, false, false);
    if (copy->whereClause != NULL)
        /* The plan cache may own the tree, and transformation changes it. */
        where = transform_where(state, item, table, copyObject(copy->whereClause));
    numbers = CopyGetAttnums(RelationGetDescr(table), table, copy->attlist);
    check_rights(state, item, table, numbers);
    if (XactReadOnly && !table->rd_islocaltemp)
        PreventCommandIfReadOnly("COPY FROM");

    source = copy_source_create(incoming_open(list_length(numbers)), table, numbers, copy->attlist != NIL);
    rows = copy_source_run(source, state, table, where, options);
    table_close(table, NoLock);
    free_parsestate(state);
    return rows;
}
