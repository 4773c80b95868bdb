#include "compat.h"

#include "shape.h"

#include "nodes/nodeFuncs.h"

/* Whether the Gather returns its child's columns unchanged. */
static bool
only_forwards(const Gather *gather)
{
    const Plan *plan = &gather->plan;
    const Plan *child = plan->lefttree;
    ListCell *above;
    ListCell *below;

    if (child == NULL || !child->parallel_safe || plan->qual != NIL || plan->initPlan != NIL ||
        !bms_is_empty(gather->initParam) || list_length(plan->targetlist) != list_length(child->targetlist))
        return false;
    forboth (above, plan->targetlist, below, child->targetlist) {
        TargetEntry *entry = lfirst_node(TargetEntry, above);
        TargetEntry *source = lfirst_node(TargetEntry, below);
        const Var *var = (const Var *) entry->expr;

        if (entry->resjunk || source->resjunk || !IsA(var, Var) || var->varno != OUTER_VAR ||
            var->varattno != source->resno || exprType((Node *) source->expr) != var->vartype ||
            exprTypmod((Node *) source->expr) != var->vartypmod)
            return false;
    }
    return true;
}

bool
shape_is_forwarding(const PlannedStmt *planned)
{
    return planned->commandType == CMD_SELECT && IsA(planned->planTree, Gather) &&
           only_forwards((const Gather *) planned->planTree);
}

static bool gathers(const Plan *plan);

static bool
any_gathers(const List *plans)
{
    const ListCell *cell;

    foreach (cell, plans)
        if (gathers(lfirst(cell)))
            return true;
    return false;
}

static bool
gathers(const Plan *plan)
{
    if (plan == NULL)
        return false;
    switch (nodeTag(plan)) {
        case T_Gather:
        case T_GatherMerge:
            return true;
        case T_Append:
            return any_gathers(((const Append *) plan)->appendplans);
        case T_MergeAppend:
            return any_gathers(((const MergeAppend *) plan)->mergeplans);
        case T_SubqueryScan:
            return gathers(((const SubqueryScan *) plan)->subplan);
        case T_CustomScan:
            return any_gathers(((const CustomScan *) plan)->custom_plans);
        default:
            return gathers(plan->lefttree) || gathers(plan->righttree);
    }
}

bool
shape_gathers_inside(const PlannedStmt *planned)
{
    const Plan *top = planned->planTree;
    bool is_gather = IsA(top, Gather) || IsA(top, GatherMerge);

    /* A Gather is never below another one. The plans of subqueries are separate from the tree. */
    return any_gathers(planned->subplans) || (!is_gather && gathers(top));
}
