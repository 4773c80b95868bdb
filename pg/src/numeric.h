/*
 * Converts numeric to decimals; decimal.h is the inverse.
 *
 * The layout of a stored numeric is private to src/backend/utils/adt/numeric.c; only these two files repeat it. It has not
 * changed since 9.1 (14 added the infinities), and cannot change without a new on-disk format.
 */
#ifndef COLONNADE_NUMERIC_H
#define COLONNADE_NUMERIC_H

#include "column.h"
#include "common/int.h"

/* A header of 16 bits. */
#define HEADER_KIND 0xC000         /* its two highest bits: */
#define HEADER_LONG_NEGATIVE 0x4000 /* … otherwise 0 is long and positive */
#define HEADER_SHORT 0x8000
#define HEADER_SPECIAL 0xC000      /* NaN and infinities */
#define SHORT_NEGATIVE 0x2000
#define SHORT_SCALE_SHIFT 7
#define SHORT_SCALE_MAX 63
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT 0x003F

/* A stored numeric: digits in base 10000. The first one has the value digit × 10000^weight. */
typedef struct NumericView {
    const char *digits;            /* 2 bytes each, unaligned */
    int count;
    int weight;
    bool negative;
    bool special;
} NumericView;

/*
 * A non-negative integer in DECIMAL_LIMBS × 32 bits, the lowest first. It can represent 96 decimal digits.
 * limbs_power() sets it to 10^exponent, and limbs_divide() returns the remainder.
 */
extern void limbs_power(uint32 *limbs, int exponent);
extern void limbs_multiply_add(uint32 *limbs, uint32 factor, uint32 addend);
extern uint32 limbs_divide(uint32 *limbs, uint32 divisor);
extern bool limbs_less(const uint32 *left, const uint32 *right);
extern bool limbs_are_zero(const uint32 *limbs);

/* Prepares a column for decimals of `precision` digits. */
extern void numeric_prepare(Column *column, int precision, int scale);

/* Converts any value to a decimal128 or decimal256. Errors: 22003 if it does not fit. */
extern void numeric_put_any(Column *column, uint32 row, const char *body, Size length);

/* KIND_OTHER: decimal256, and money. */
extern void numeric_put_wide(Sink *sink, Column *column, uint32 row, Datum value);
extern void money_put(Sink *sink, Column *column, uint32 row, Datum value);

/* `body` is the bytes after the varlena header. */
static pg_attribute_always_inline NumericView
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
        view.count = (int) ((length - 2) / 2);
    } else {
        int16 weight = 0;

        view.negative = (header & HEADER_KIND) == HEADER_LONG_NEGATIVE;
        if (length >= 4)
            memcpy(&weight, body + 2, sizeof(weight));
        view.weight = weight;
        view.digits = body + 4;
        view.count = length >= 4 ? (int) ((length - 4) / 2) : 0;
    }
    return view;
}

/*
 * A decimal128 from up to four digits, which is nearly always sufficient; otherwise numeric_put_any is called.
 *
 * The number of digits and the position of the decimal point change from value to value. A mispredicted branch costs more
 * than all of the arithmetic, so no branch depends on them. The last four digits before the value's end are read, and those
 * that do not belong to the value are masked. The bytes read before the value are the header of the tuple, array or memory
 * chunk that contains it.
 */
static pg_attribute_always_inline void
numeric_put(Column *column, uint32 row, const char *body, Size length)
{
    static const uint64 powers[] = {1, UINT64CONST(10000), UINT64CONST(100000000), UINT64CONST(1000000000000),
                                    UINT64CONST(10000000000000000)};
    static const uint64 masks[] = {0, UINT64CONST(0xFFFF000000000000), UINT64CONST(0xFFFFFFFF00000000),
                                   UINT64CONST(0xFFFFFFFFFFFF0000), PG_UINT64_MAX};
    const NumericView view = numeric_view(body, length);
    /* The position of the last digit, counted from the column's last position. */
    const int place = view.weight - view.count + 1 + column->decimal_places;
    uint64 *out = (uint64 *) (column->values + (Size) row * 16);
    uint64 digits;
    uint64 magnitude;
    uint64 rest = 0;

    if (unlikely(view.special || view.count > 4 || (place < 0 && view.count > 0) || place > 4))
        goto any;
    memcpy(&digits, view.digits + 2 * view.count - sizeof(digits), sizeof(digits));
    digits &= masks[view.count];
    magnitude = (digits >> 48) + powers[1] * (digits >> 32 & 0xFFFF) + powers[2] * (digits >> 16 & 0xFFFF) +
                powers[3] * (digits & 0xFFFF);
    if (unlikely(view.count > 0 && pg_mul_u64_overflow(magnitude, powers[place], &magnitude)))
        goto any;
    switch (column->decimal_excess) {
        case 0:
            break;
        case 1:
            rest = magnitude % 10;
            magnitude /= 10;
            break;
        case 2:
            rest = magnitude % 100;
            magnitude /= 100;
            break;
        case 3:
            rest = magnitude % 1000;
            magnitude /= 1000;
            break;
    }
    if (unlikely(rest != 0 || magnitude >= column->decimal_limit))
        goto any;
    out[0] = view.negative ? 0 - magnitude : magnitude;
    out[1] = view.negative && magnitude != 0 ? PG_UINT64_MAX : 0;
    return;

any:
    numeric_put_any(column, row, body, length);
}

#endif
