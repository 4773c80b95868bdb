#include "compat.h"

#include "types.h"

static bool
named(const List *names, const char *name)
{
    const ListCell *cell;

    foreach (cell, names)
        if (strcmp(lfirst(cell), name) == 0)
            return true;
    return false;
}

static void
check_names(TupleDesc result, const List *names)
{
    const ListCell *cell;

    foreach (cell, names) {
        const char *name = lfirst(cell);
        int i = 0;

        while (i < result->natts && strcmp(NameStr(TupleDescAttr(result, i)->attname), name) != 0)
            i++;
        if (i == result->natts)
            ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("COPY option \"as_text\" names \"%s\", which is no column of the result", name));
    }
}

Columns *
columns_of_result(TupleDesc result, const CopyOptions *options)
{
    Columns *all = palloc0(sizeof(Columns));

    check_names(result, options->as_text);
    all->columns = palloc0(Max(1, result->natts) * sizeof(Column));
    for (int i = 0; i < result->natts; i++) {
        Form_pg_attribute attribute = TupleDescAttr(result, i);
        Source source = {.type = attribute->atttypid, .typmod = attribute->atttypmod, .depth = 1};

        source.name = source.path = pstrdup(NameStr(attribute->attname));
        source.as_text = named(options->as_text, source.name);
        column_build(all, options, &all->columns[i], &source);
        all->row_bits += all->columns[i].row_bits;
        all->count++;
    }
    /* Each buffer is rounded up to whole bytes, and there is one more offset than rows. */
    all->constant += (Size) all->field_count * (sizeof(int32) + 1);
    return all;
}
