#include "compat.h"

#include "table.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* The relations that core's COPY TO can read directly. */
static bool
core_copies(Relation relation)
{
    switch (relation->rd_rel->relkind) {
        case RELKIND_RELATION:
            return true;
        case RELKIND_MATVIEW:
            return COPY_TAKES_MATVIEWS && RelationIsPopulated(relation);
        case RELKIND_PARTITIONED_TABLE:
            return COPY_TAKES_PARTITIONED;
        default:
            return false;
    }
}

static Form_pg_attribute
column_named(TupleDesc row_type, const char *name)
{
    for (int i = 0; i < row_type->natts; i++) {
        Form_pg_attribute attribute = TupleDescAttr(row_type, i);

        if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), name) == 0)
            return attribute;
    }
    return NULL;
}

static int
times_among(List *names, const char *name)
{
    ListCell *cell;
    int count = 0;

    foreach (cell, names)
        count += strcmp(strVal(lfirst(cell)), name) == 0;
    return count;
}

/* Whether core would accept the list: only existing columns, none generated, none twice. */
static bool
core_takes(TupleDesc row_type, List *names)
{
    ListCell *cell;

    foreach (cell, names) {
        const char *name = strVal(lfirst(cell));
        Form_pg_attribute attribute = column_named(row_type, name);

        if (attribute == NULL || attribute->attgenerated != '\0' || times_among(names, name) > 1)
            return false;
    }
    return true;
}

/* Whether core would grant the right to read all of these columns, which it checks before row-level security. */
static bool
may_read(Oid table, TupleDesc row_type, List *names)
{
    Oid user = GetUserId();
    bool any = false;

    if (pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK)
        return true;
    for (int i = 0; i < row_type->natts; i++) {
        Form_pg_attribute attribute = TupleDescAttr(row_type, i);

        if (attribute->attisdropped || attribute->attgenerated != '\0' ||
            (names != NIL && times_among(names, NameStr(attribute->attname)) == 0))
            continue;
        if (pg_attribute_aclcheck(table, attribute->attnum, user, ACL_SELECT) != ACLCHECK_OK)
            return false;
        any = true;
    }
    return any;
}

static ResTarget *
target(const char *column)
{
    ColumnRef *reference = makeNode(ColumnRef);
    ResTarget *result = makeNode(ResTarget);

    reference->fields = list_make1(makeString(pstrdup(column)));
    reference->location = -1;
    result->val = (Node *) reference;
    result->location = -1;
    return result;
}

static List *
targets(TupleDesc row_type, List *names)
{
    List *list = NIL;
    ListCell *cell;

    foreach (cell, names)
        list = lappend(list, target(strVal(lfirst(cell))));
    for (int i = 0; names == NIL && i < row_type->natts; i++) {
        Form_pg_attribute attribute = TupleDescAttr(row_type, i);

        if (!attribute->attisdropped && attribute->attgenerated == '\0')
            list = lappend(list, target(NameStr(attribute->attname)));
    }
    return list;
}

Oid
table_to_query(CopyStmt *statement)
{
    /* As core's DoCopy(). The lock is kept, so the result is still valid when the query is analyzed or core refuses it. */
    Relation relation = table_openrv(statement->relation, AccessShareLock);
    Oid oid = RelationGetRelid(relation);
    TupleDesc row_type = RelationGetDescr(relation);
    SelectStmt *select;
    RangeVar *from;

    if (!core_copies(relation) || !core_takes(row_type, statement->attlist) ||
        !may_read(oid, row_type, statement->attlist)) {
        table_close(relation, NoLock);
        return InvalidOid;
    }
    from = makeRangeVar(get_namespace_name(RelationGetNamespace(relation)),
                        pstrdup(RelationGetRelationName(relation)), -1);
    /* COPY of a table does not include its children. A partitioned table has no rows of its own. */
    from->inh = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
    select = makeNode(SelectStmt);
    select->targetList = targets(row_type, statement->attlist);
    select->fromClause = list_make1(from);
    table_close(relation, NoLock);

    statement->relation = NULL;
    statement->attlist = NIL;
    statement->query = (Node *) select;
    return oid;
}
