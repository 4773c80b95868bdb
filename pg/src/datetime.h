/* Converts dates, timestamps and intervals from PostgreSQL's epoch to Unix's. */
#ifndef COLONNADE_DATETIME_H
#define COLONNADE_DATETIME_H

#include "column.h"
#include "datatype/timestamp.h"
#include "utils/date.h"
#include "utils/timestamp.h"

/* 2000-01-01 in days and microseconds from 1970-01-01. */
#define EPOCH_DAYS (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)
#define EPOCH_MICROSECONDS ((int64) EPOCH_DAYS * USECS_PER_DAY)

/* Converts a timestamp that is infinite or out of range. Errors: 22008. */
extern int64 timestamp_extreme(const Column *column, Timestamp timestamp);

/* interval, as months, days and nanoseconds. Errors: 22008. */
extern void interval_put(Sink *sink, Column *column, uint32 row, Datum value);

/* TYPES.md: infinity is the largest number and the smallest one plus one. All finite values fit. */
static inline int32
date_of(DateADT date)
{
    if (unlikely(DATE_NOT_FINITE(date)))
        return DATE_IS_NOEND(date) ? PG_INT32_MAX : -PG_INT32_MAX;
    return date + EPOCH_DAYS;
}

static inline int64
timestamp_of(const Column *column, Timestamp timestamp)
{
    if (unlikely(timestamp >= PG_INT64_MAX - EPOCH_MICROSECONDS || timestamp == PG_INT64_MIN))
        return timestamp_extreme(column, timestamp);
    return timestamp + EPOCH_MICROSECONDS;
}

#endif
