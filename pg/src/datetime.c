#include "compat.h"

#include "datetime.h"

#include "common/int.h"

/* In format 1 the parts of an interval are contiguous. */
typedef struct IntervalValue {
    int32 months;
    int32 days;
    int64 nanoseconds;
} IntervalValue;

static void
refuse(const Column *column, const char *what)
{
    ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("column \"%s\": %s", column->name, what),
            errhint("Cast the column to text, or name it in the COPY option \"as_text\"."));
}

int64
timestamp_extreme(const Column *column, Timestamp timestamp)
{
    if (TIMESTAMP_IS_NOEND(timestamp))
        return PG_INT64_MAX;
    if (TIMESTAMP_IS_NOBEGIN(timestamp))
        return -PG_INT64_MAX;
    refuse(column, "microseconds from 1970 do not reach beyond 294247-01-10 04:00:54.775806");
    return 0;
}

void
interval_put(Sink *sink, Column *column, uint32 row, Datum value)
{
    const Interval *interval = DatumGetIntervalP(value);
    IntervalValue *out = (IntervalValue *) (column->values + (Size) row * sizeof(IntervalValue));

    (void) sink;
    out->months = interval->month;
    out->days = interval->day;
    /* This also refuses the infinite intervals of 17. */
    if (pg_mul_s64_overflow(interval->time, 1000, &out->nanoseconds))
        refuse(column, "an interval is infinite or has 2562047 hours or more, which nanoseconds do not reach");
}
