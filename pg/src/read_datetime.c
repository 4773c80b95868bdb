#include "compat.h"

#include "datetime.h"
#include "read.h"
#include "utils/fmgrprotos.h"

/* The largest number of fractional digits of a second. */
#define MAX_FRACTION 6

static void
refuse_range(const char *what)
{
    ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("%s out of range", what));
}

/* Refuses microseconds that time(p), timestamp(p) or timestamptz(p) would round. */
static void
check_fraction(const Reader *reader, int64 microseconds)
{
    int64 unit = 1;

    if (likely(reader->typmod < 0))
        return;
    for (int i = reader->typmod; i < MAX_FRACTION; i++)
        unit *= 10;
    if (microseconds % unit != 0)
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                errmsg("a fraction of a second has more than %d digits", reader->typmod));
}

/* The inverse of date_of(). */
Datum
read_date(Reader *reader, uint32 row, bool *is_null)
{
    const int32 days = int4_at(reader->values, row);
    int64 date = (int64) days - EPOCH_DAYS;

    (void) is_null;
    if (unlikely(days == PG_INT32_MAX))
        return DateADTGetDatum(DATEVAL_NOEND);
    if (unlikely(days == -PG_INT32_MAX))
        return DateADTGetDatum(DATEVAL_NOBEGIN);
    if (unlikely(!IS_VALID_DATE(date)))
        refuse_range("date");
    return DateADTGetDatum((DateADT) date);
}

Datum
read_time(Reader *reader, uint32 row, bool *is_null)
{
    const int64 time = int8_at(reader->values, row);

    (void) is_null;
    /* 24:00:00 is a time. */
    if (unlikely(time < 0 || time > USECS_PER_DAY))
        refuse_range("time");
    check_fraction(reader, time);
    return TimeADTGetDatum(time);
}

/* The inverse of timestamp_of(). */
Datum
read_timestamp(Reader *reader, uint32 row, bool *is_null)
{
    const int64 microseconds = int8_at(reader->values, row);
    Timestamp timestamp;

    (void) is_null;
    if (unlikely(microseconds == PG_INT64_MAX))
        TIMESTAMP_NOEND(timestamp);
    else if (unlikely(microseconds == -PG_INT64_MAX))
        TIMESTAMP_NOBEGIN(timestamp);
    else {
        if (unlikely(pg_sub_s64_overflow(microseconds, EPOCH_MICROSECONDS, &timestamp) || !IS_VALID_TIMESTAMP(timestamp)))
            refuse_range("timestamp");
        check_fraction(reader, timestamp);
    }
    return TimestampGetDatum(timestamp);
}

/* interval(p), or with fields such as YEAR TO MONTH, would round the value or drop parts of it. */
static void
check_interval(const Reader *reader, const Interval *interval)
{
    const Interval *adjusted = DatumGetIntervalP(
        DirectFunctionCall2(interval_scale, IntervalPGetDatum(interval), Int32GetDatum(reader->typmod)));

    if (adjusted->month != interval->month || adjusted->day != interval->day || adjusted->time != interval->time)
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                errmsg("an interval has parts that its column does not store"));
}

Datum
read_interval(Reader *reader, uint32 row, bool *is_null)
{
    const char *from = reader->values + (Size) row * sizeof(Interval);
    Interval *interval = (Interval *) reader_room(reader, sizeof(Interval));
    const int64 nanoseconds = int8_at(from, 1);

    (void) is_null;
    if (unlikely(nanoseconds % 1000 != 0))
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                errmsg("an interval has a fraction of a microsecond"));
    interval->month = int4_at(from, 0);
    interval->day = int4_at(from, 1);
    interval->time = nanoseconds / 1000;
    if (unlikely(reader->typmod >= 0))
        check_interval(reader, interval);
    return IntervalPGetDatum(interval);
}
