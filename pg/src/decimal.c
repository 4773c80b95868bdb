#include "compat.h"

#include "decimal.h"

#include "read.h"
#include "utils/cash.h"

void
decimal_prepare(DecimalReader *decimal, int precision, int scale)
{
    uint32 limbs[DECIMAL_LIMBS];

    limbs_power(limbs, precision);
    decimal->limit = limbs[2] == 0 ? (uint64) limbs[1] << 32 | limbs[0] : PG_UINT64_MAX;
    decimal->precision = precision;
    decimal->scale = scale;
    decimal->places = (scale + DECIMALS_PER_DIGIT - 1) / DECIMALS_PER_DIGIT;
    decimal->factor = 1;
    for (int i = scale; i < decimal->places * DECIMALS_PER_DIGIT; i++)
        decimal->factor *= 10;
}

Datum
decimal_read_any(Reader *reader, const char *bytes, int width)
{
    uint32 limbs[DECIMAL_LIMBS] = {0};
    uint32 limit[DECIMAL_LIMBS];
    uint16 digits[MAX_DIGITS];
    int count = 0;
    const bool negative = (bytes[width - 1] & 0x80) != 0;

    memcpy(limbs, bytes, width);
    if (negative) {
        uint64 carry = 1;

        for (int i = 0; i < width / (int) sizeof(uint32); i++) {
            carry += (uint32) ~limbs[i];
            limbs[i] = (uint32) carry;
            carry >>= 32;
        }
    }
    limbs_power(limit, reader->decimal.precision);
    if (!limbs_less(limbs, limit))
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("a value has more than %d digits", reader->decimal.precision));
    limbs_multiply_add(limbs, (uint32) reader->decimal.factor, 0);
    while (!limbs_are_zero(limbs))
        digits[count++] = (uint16) limbs_divide(limbs, DIGIT_BASE);
    return decimal_store(reader, digits, count, negative);
}

Datum
read_wide_decimal(Reader *reader, uint32 row, bool *is_null)
{
    (void) is_null;
    return decimal_read_any(reader, reader->values + (Size) row * 32, 32);
}

Datum
read_money(Reader *reader, uint32 row, bool *is_null)
{
    const int64 low = int8_at(reader->values, 2 * row);
    const int64 high = int8_at(reader->values, 2 * row + 1);

    (void) is_null;
    if (high != low >> 63)
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("money out of range"));
    return CashGetDatum(low);
}
