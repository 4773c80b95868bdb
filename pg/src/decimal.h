/* Converts decimals to numeric, as numeric.h converts numeric to decimals. */
#ifndef COLONNADE_DECIMAL_H
#define COLONNADE_DECIMAL_H

#include "common/int.h"
#include "numeric.h"
#include "reader.h"

/* A digit of numeric. */
#define DIGIT_BASE 10000
#define DECIMALS_PER_DIGIT 4

/* Digits of the largest decimal256 whose decimal point was aligned. */
#define MAX_DIGITS 21

/* Prepares a reader for decimals of `precision` digits, `scale` of them after the decimal point. */
extern void decimal_prepare(DecimalReader *decimal, int precision, int scale);

/* Any decimal of `width` bytes at `bytes`. Errors: 22003 if it has more digits than its precision. */
extern Datum decimal_read_any(Reader *reader, const char *bytes, int width);

/*
 * The numeric of `count` digits, the lowest first, of which `reader->decimal.places` are after the decimal point. The highest
 * digit is not 0.
 */
static pg_attribute_always_inline Datum
decimal_store(Reader *reader, const uint16 *digits, int count, bool negative)
{
    const DecimalReader *decimal = &reader->decimal;
    const bool is_short = decimal->scale <= SHORT_SCALE_MAX;
    const int weight = count == 0 ? 0 : count - 1 - decimal->places;
    int first = 0;
    Size size = is_short ? sizeof(uint16) : 2 * sizeof(uint16);
    uint16 header;
    char *start;
    char *to;

    while (first < count && digits[first] == 0)
        first++;
    size += (count - first) * sizeof(uint16);
    if (likely(!reader->is_nested && size + VARHDRSZ_SHORT <= reader->capacity)) {
        start = reader->room;
        SET_VARSIZE_SHORT(start, size + VARHDRSZ_SHORT);
        to = start + VARHDRSZ_SHORT;
    } else {
        start = reader_room(reader, size + VARHDRSZ);
        SET_VARSIZE(start, size + VARHDRSZ);
        to = start + VARHDRSZ;
    }
    if (likely(is_short)) {
        header = HEADER_SHORT | (negative ? SHORT_NEGATIVE : 0) | decimal->scale << SHORT_SCALE_SHIFT |
                 (weight < 0 ? SHORT_WEIGHT_SIGN : 0) | (weight & SHORT_WEIGHT);
        memcpy(to, &header, sizeof(header));
        to += sizeof(header);
    } else {
        const int16 long_weight = (int16) weight;

        header = (negative ? HEADER_LONG_NEGATIVE : 0) | decimal->scale;
        memcpy(to, &header, sizeof(header));
        memcpy(to + sizeof(header), &long_weight, sizeof(long_weight));
        to += 2 * sizeof(header);
    }
    for (int i = count - 1; i >= first; i--) {
        memcpy(to, &digits[i], sizeof(uint16));
        to += sizeof(uint16);
    }
    return PointerGetDatum(start);
}

/* A decimal128; nearly all of them fit into 64 bits. */
static pg_attribute_always_inline Datum
decimal_read(Reader *reader, uint32 row)
{
    const DecimalReader *decimal = &reader->decimal;
    const char *bytes = reader->values + (Size) row * 16;
    uint16 digits[MAX_DIGITS];
    uint64 low;
    uint64 high;
    uint64 magnitude;
    int count = 0;

    memcpy(&low, bytes, sizeof(low));
    memcpy(&high, bytes + sizeof(low), sizeof(high));
    magnitude = (int64) high < 0 ? 0 - low : low;
    if (unlikely(high != (uint64) ((int64) low >> 63) || magnitude >= decimal->limit ||
                 pg_mul_u64_overflow(magnitude, decimal->factor, &magnitude)))
        return decimal_read_any(reader, bytes, 16);
    while (magnitude != 0) {
        const uint64 rest = magnitude / DIGIT_BASE;

        digits[count++] = (uint16) (magnitude - rest * DIGIT_BASE);
        magnitude = rest;
    }
    return decimal_store(reader, digits, count, (int64) high < 0);
}

#endif
