#include "compat.h"

#include "numeric.h"

#include "decimal.h"
#include "text.h"
#include "utils/cash.h"
#include "utils/numeric.h"

#define MAX_DECIMALS 95

void
limbs_multiply_add(uint32 *limbs, uint32 factor, uint32 addend)
{
    uint64 carry = addend;

    for (int i = 0; i < DECIMAL_LIMBS; i++) {
        carry += (uint64) limbs[i] * factor;
        limbs[i] = (uint32) carry;
        carry >>= 32;
    }
}

uint32
limbs_divide(uint32 *limbs, uint32 divisor)
{
    uint64 rest = 0;

    for (int i = DECIMAL_LIMBS - 1; i >= 0; i--) {
        rest = rest << 32 | limbs[i];
        limbs[i] = (uint32) (rest / divisor);
        rest %= divisor;
    }
    return (uint32) rest;
}

bool
limbs_less(const uint32 *left, const uint32 *right)
{
    for (int i = DECIMAL_LIMBS - 1; i >= 0; i--)
        if (left[i] != right[i])
            return left[i] < right[i];
    return false;
}

bool
limbs_are_zero(const uint32 *limbs)
{
    for (int i = 0; i < DECIMAL_LIMBS; i++)
        if (limbs[i] != 0)
            return false;
    return true;
}

void
limbs_power(uint32 *limbs, int exponent)
{
    memset(limbs, 0, DECIMAL_LIMBS * sizeof(*limbs));
    limbs[0] = 1;
    for (int i = 0; i < exponent; i++)
        limbs_multiply_add(limbs, 10, 0);
}

void
numeric_prepare(Column *column, int precision, int scale)
{
    DecimalDetail *decimal = &column->detail.decimal;

    decimal->precision = precision;
    limbs_power(decimal->limit, precision);
    column->scale = (int8) scale;
    column->decimal_places = (scale + DECIMALS_PER_DIGIT - 1) / DECIMALS_PER_DIGIT;
    column->decimal_excess = column->decimal_places * DECIMALS_PER_DIGIT - scale;
    column->decimal_limit = decimal->limit[2] == 0 ? (uint64) decimal->limit[1] << 32 | decimal->limit[0]
                                                   : PG_UINT64_MAX;
}

static void
refuse(const Column *column, const char *why)
{
    ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("column \"%s\": %s", column->name, why),
            errhint("Cast the column to text, or name it in the COPY option \"as_text\"."));
}

void
numeric_put_any(Column *column, uint32 row, const char *body, Size length)
{
    const NumericView view = numeric_view(body, length);
    const DecimalDetail *decimal = &column->detail.decimal;
    uint32 limbs[DECIMAL_LIMBS] = {0};
    uint32 divisor = 1;
    uint64 carry;
    int shift;

    if (view.special)
        refuse(column, "NaN and infinity have no form in a decimal column");
    if (view.count > 0) {
        /* Neither the last digit nor the first is 0, so the scaled value has about this number of decimal digits. */
        shift = DECIMALS_PER_DIGIT * (view.weight - view.count + 1) + column->scale;
        if (DECIMALS_PER_DIGIT * (view.weight + 1) + column->scale > MAX_DECIMALS)
            goto too_large;
        if (shift <= -DECIMALS_PER_DIGIT)
            goto too_fine;
        for (int i = 0; i < view.count; i++) {
            uint16 digit;

            memcpy(&digit, view.digits + 2 * i, sizeof(digit));
            limbs_multiply_add(limbs, DIGIT_BASE, digit);
        }
        for (; shift > 0; shift--)
            limbs_multiply_add(limbs, 10, 0);
        for (; shift < 0; shift++)
            divisor *= 10;
        if (limbs_divide(limbs, divisor) != 0)
            goto too_fine;
    }
    if (!limbs_less(limbs, decimal->limit))
        goto too_large;
    if (view.negative) {
        carry = 1;
        for (int i = 0; i < DECIMAL_LIMBS; i++) {
            carry += (uint32) ~limbs[i];
            limbs[i] = (uint32) carry;
            carry >>= 32;
        }
    }
    memcpy(column->values + (Size) row * column->width, limbs, column->width);
    return;

too_large:
    refuse(column, psprintf("a value has more than %d digits before the decimal point",
                            decimal->precision - column->scale));
too_fine:
    refuse(column, psprintf("a value has more than %d digits after the decimal point", column->scale));
}

void
numeric_put_wide(Sink *sink, Column *column, uint32 row, Datum value)
{
    Size length;
    const char *body = varlena_body(sink, value, &length);

    numeric_put_any(column, row, body, length);
}

void
money_put(Sink *sink, Column *column, uint32 row, Datum value)
{
    int64 *out = (int64 *) (column->values + (Size) row * 16);
    Cash cash = DatumGetCash(value);

    (void) sink;
    out[0] = cash;
    out[1] = cash < 0 ? -1 : 0;
}
