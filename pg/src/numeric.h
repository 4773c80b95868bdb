/*
 * numeric to decimals.
 *
 * The layout of a stored numeric is private to src/backend/utils/adt/numeric.c; this is the one place that mirrors it. It has not
 * changed since 9.1 (14 added the infinities) and cannot without a new on-disk format.
 */
#ifndef COLONNADE_NUMERIC_H
#define COLONNADE_NUMERIC_H

#include "column.h"

/* A header of 16 bits. */
#define HEADER_KIND 0xC000         /* its two highest bits: */
#define HEADER_LONG_NEGATIVE 0x4000 /* … otherwise 0 is long and positive */
#define HEADER_SHORT 0x8000
#define HEADER_SPECIAL 0xC000      /* NaN and infinities */
#define SHORT_NEGATIVE 0x2000
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT 0x003F

/* A stored numeric: digits in base 10000, the first one worth 10000^weight. */
typedef struct NumericView {
    const char *digits;            /* 2 bytes each, unaligned */
    int count;
    int weight;
    bool negative;
    bool special;
} NumericView;

/* Prepares a column for decimals of `precision` digits. */
extern void numeric_prepare(Column *column, int precision, int scale);

/* Any value into a decimal128 or decimal256. Errors: 22003 for what does not fit. */
extern void numeric_put_any(Column *column, uint32 row, const NumericView *view);

/* KIND_OTHER: decimal256, and money. */
extern void numeric_put_wide(Sink *sink, Column *column, uint32 row, Datum value);
extern void money_put(Sink *sink, Column *column, uint32 row, Datum value);

/* `body` is what follows the varlena header. */
static inline NumericView
numeric_view(const char *body, Size length)
{
    NumericView view;
    uint16 header;

    memcpy(&header, body, sizeof(header));
    view.special = (header & HEADER_KIND) == HEADER_SPECIAL;
    if ((header & HEADER_KIND) == HEADER_SHORT) {
        view.negative = (header & SHORT_NEGATIVE) != 0;
        view.weight = (int) (header & SHORT_WEIGHT) - (int) (header & SHORT_WEIGHT_SIGN);
        view.digits = body + 2;
        view.count = (int) (length - 2) / 2;
    } else {
        int16 weight = 0;

        view.negative = (header & HEADER_KIND) == HEADER_LONG_NEGATIVE;
        if (length >= 4)
            memcpy(&weight, body + 2, sizeof(weight));
        view.weight = weight;
        view.digits = body + 4;
        view.count = length >= 4 ? (int) (length - 4) / 2 : 0;
    }
    return view;
}

/* A decimal128 from up to four digits, which is nearly always enough; the rest goes to numeric_put_any. */
static inline void
numeric_put(Column *column, uint32 row, const char *body, Size length)
{
    NumericView view = numeric_view(body, length);
    uint64 magnitude = 0;
    uint64 whole;
    uint64 *out = (uint64 *) (column->values + (Size) row * 16);

    if (unlikely(view.count > 4 || view.special))
        goto any;
    for (int i = 0; i < view.count; i++) {
        uint16 digit;

        memcpy(&digit, view.digits + 2 * i, sizeof(digit));
        magnitude = magnitude * 10000 + digit;
    }
    /* Below 10^16 until here; the last digit is worth 10^(4 × (weight − count + 1)), and `scale` more as a decimal. */
    switch (4 * (view.weight - view.count + 1) + column->scale) {
        case 0:
            break;
        case 1:
            magnitude *= 10;
            break;
        case 2:
            magnitude *= 100;
            break;
        case 3:
            magnitude *= 1000;
            break;
        case -1:
            whole = magnitude / 10;
            if (whole * 10 != magnitude)
                goto any;
            magnitude = whole;
            break;
        case -2:
            whole = magnitude / 100;
            if (whole * 100 != magnitude)
                goto any;
            magnitude = whole;
            break;
        case -3:
            whole = magnitude / 1000;
            if (whole * 1000 != magnitude)
                goto any;
            magnitude = whole;
            break;
        default:
            if (view.count > 0)
                goto any;
    }
    if (unlikely(magnitude >= column->decimal_limit))
        goto any;
    out[0] = view.negative ? 0 - magnitude : magnitude;
    out[1] = view.negative && magnitude != 0 ? PG_UINT64_MAX : 0;
    return;

any:
    numeric_put_any(column, row, &view);
}

#endif
