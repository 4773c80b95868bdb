//! PostgreSQL's binary forms, as its `…recv` functions read them.

use arrow_schema::TimeUnit;

use super::{InputError, ParameterValue, composite, from_text};
use crate::value::types::{Type, TypeKind};
use crate::value::{DateStyle, POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_MICROS, Zone, datetime};

/// Reads a value's bytes.
///
/// # Errors
/// If they are not a value of this type, or the server does not read the type's binary form.
pub fn from_binary(type_: &Type, bytes: &[u8]) -> Result<ParameterValue, InputError> {
    let mut fields = Fields { rest: bytes, type_ };
    let value = fields.value(type_)?;
    if fields.rest.is_empty() { Ok(value) } else { Err(fields.invalid()) }
}

/// The maximum number of digits of a numeric in an array, unless four digits for each of its bytes are more. The
/// engine's numbers have no more digits. Without the limit, a hostile numeric of eight bytes would become 80,000 zeros.
pub(super) const MAX_DIGITS: usize = 80;

/// The number of items that an array claims to have, but no more than its bytes can have: an item has at least four
/// bytes for its length. Inner lists count as items.
pub(super) fn claimed_items(bytes: &[u8]) -> usize {
    let number = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let dimensions = number(0).map_or(0, |count| count.min(8) as usize);
    let lengths = (0..dimensions).map(|at| number(12 + 8 * at).unwrap_or(0) as usize);
    lengths.fold(1, usize::saturating_mul).min(bytes.len() / 4) * dimensions.max(1)
}

struct Fields<'a> {
    rest: &'a [u8],
    type_: &'a Type,
}

impl<'a> Fields<'a> {
    fn invalid(&self) -> InputError {
        InputError::Binary(self.type_.name.clone())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], InputError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.invalid())?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InputError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| self.invalid())?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn i16(&mut self) -> Result<i16, InputError> {
        self.array().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, InputError> {
        self.array().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, InputError> {
        self.array().map(i64::from_be_bytes)
    }

    fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn value(&mut self, type_: &Type) -> Result<ParameterValue, InputError> {
        let out_of_range = || InputError::Range(type_.name.clone());
        let text = match &type_.kind {
            TypeKind::Bytes => return Ok(ParameterValue::Bytes(self.take_rest().to_vec())),
            TypeKind::List(item) => return self.list(item),
            TypeKind::Composite { fields, .. } => return self.row(fields),
            TypeKind::Bool => match self.array()? {
                [0] => "false".to_owned(),
                _ => "true".to_owned(),
            },
            TypeKind::Int2 => self.i16()?.to_string(),
            TypeKind::Int4 => self.i32()?.to_string(),
            TypeKind::Int8 => self.i64()?.to_string(),
            TypeKind::Oid => u32::from_be_bytes(self.array()?).to_string(),
            // These are the shortest digits that read back as the same number.
            TypeKind::Float4 => f32::from_be_bytes(self.array()?).to_string(),
            TypeKind::Float8 => f64::from_be_bytes(self.array()?).to_string(),
            TypeKind::Numeric(_) => self.numeric()?,
            TypeKind::Text | TypeKind::Name | TypeKind::Enum(_) | TypeKind::Unknown => self.text()?.to_owned(),
            // The first byte of jsonb is its version, 1.
            TypeKind::Json => self.text()?.trim_start_matches('\u{1}').to_owned(),
            TypeKind::Date => {
                let days = match self.i32()? {
                    i32::MAX => i32::MAX,
                    i32::MIN => i32::MIN,
                    // The engine's largest numbers are its infinities.
                    days => days
                        .checked_add(POSTGRES_EPOCH_DAYS)
                        .filter(|days| days.unsigned_abs() < i32::MAX.unsigned_abs())
                        .ok_or_else(out_of_range)?,
                };
                to_text(|out| datetime::date(days, DateStyle::default(), out))
            }
            TypeKind::Time => {
                let micros = self.time_of_day(type_)?;
                to_text(|out| datetime::time(micros, TimeUnit::Microsecond, out))
            }
            TypeKind::TimeTz => {
                let (micros, west) = (self.time_of_day(type_)?, self.i32()?);
                to_text(|out| datetime::time(micros, TimeUnit::Microsecond, out)) + &offset(west)
            }
            TypeKind::Timestamp | TypeKind::TimestampTz => {
                let micros = match self.i64()? {
                    i64::MAX => i64::MAX,
                    i64::MIN => i64::MIN,
                    micros => micros
                        .checked_add(POSTGRES_EPOCH_MICROS)
                        .filter(|micros| micros.unsigned_abs() < i64::MAX.unsigned_abs())
                        .ok_or_else(out_of_range)?,
                };
                let zone = (type_.kind == TypeKind::TimestampTz).then_some(Zone::UTC);
                to_text(|out| {
                    datetime::timestamp(micros, TimeUnit::Microsecond, zone.as_ref(), DateStyle::default(), out);
                })
            }
            TypeKind::Interval => {
                let (micros, days, months) = (self.i64()?, self.i32()?, self.i32()?);
                format!("{months} months {days} days {micros} microseconds")
            }
            TypeKind::Uuid => self.array::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect(),
            TypeKind::Bits => self.bits()?,
            TypeKind::Keyed(keyed) => super::keyed::text(*keyed, self.take_rest()).ok_or_else(|| self.invalid())?,
            TypeKind::Record | TypeKind::Map | TypeKind::Vector(_) | TypeKind::Unsupported => {
                return Err(InputError::NoBinary(type_.name.clone()));
            }
        };
        from_text(type_, &text)
    }

    /// The microseconds of a day. Others have no text.
    fn time_of_day(&mut self, type_: &Type) -> Result<i64, InputError> {
        const DAY: i64 = 86_400_000_000;
        let micros = self.i64()?;
        if (0..=DAY).contains(&micros) { Ok(micros) } else { Err(InputError::Range(type_.name.clone())) }
    }

    fn text(&mut self) -> Result<&'a str, InputError> {
        std::str::from_utf8(self.take_rest()).map_err(|_| InputError::Encoding)
    }

    fn bits(&mut self) -> Result<String, InputError> {
        let count = usize::try_from(self.i32()?).map_err(|_| self.invalid())?;
        let bytes = self.take(count.div_ceil(8))?;
        let bit = |at: usize| if bytes[at / 8] >> (7 - at % 8) & 1 == 1 { '1' } else { '0' };
        Ok((0..count).map(bit).collect())
    }

    /// Reads a NUMERIC (`numeric_recv`): base-10000 digits, the weight of the first one, the sign, and the number of
    /// decimal digits to show.
    fn numeric(&mut self) -> Result<String, InputError> {
        /// PostgreSQL's limit. Without it, a hostile scale would become a gigabyte of zeros.
        const MAX_POSITIONS: i32 = 16_383;
        let (count, weight) = (self.i16()?, i32::from(self.i16()?));
        let (sign, scale) = (self.i16()? as u16, i32::from(self.i16()?));
        match sign {
            0xc000 => return Ok("NaN".to_owned()),
            0xd000 => return Ok("Infinity".to_owned()),
            0xf000 => return Ok("-Infinity".to_owned()),
            0 | 0x4000 => {}
            _ => return Err(self.invalid()),
        }
        if count < 0 || !(0..=MAX_POSITIONS).contains(&scale) || weight.abs() > MAX_POSITIONS {
            return Err(self.invalid());
        }
        let groups: Vec<i16> = (0..count).map(|_| self.i16()).collect::<Result<_, _>>()?;
        if groups.iter().any(|group| !(0..10_000).contains(group)) {
            return Err(self.invalid());
        }
        let group = |at: i32| usize::try_from(at).ok().and_then(|at| groups.get(at)).copied().unwrap_or(0);
        let whole: String = (0..=weight).map(|at| format!("{:04}", group(at))).collect();
        let behind = scale.max((i32::from(count) - weight - 1) * 4);
        let mut fraction: String = (0..(behind + 3) / 4).map(|at| format!("{:04}", group(weight + 1 + at))).collect();
        // PostgreSQL's own numbers have no digits beyond the scale. If there are any, only zeros are removed.
        while fraction.len() > scale as usize && fraction.ends_with('0') {
            fraction.pop();
        }
        let whole = whole.trim_start_matches('0');
        let sign = if sign == 0 { "" } else { "-" };
        let point = if fraction.is_empty() { "" } else { "." };
        Ok(format!("{sign}{}{point}{fraction}", if whole.is_empty() { "0" } else { whole }))
    }

    /// Reads an array (`array_recv`): the dimensions, whether there are NULLs, the items' type, and the items.
    fn list(&mut self, item: &Type) -> Result<ParameterValue, InputError> {
        const MAX_DIMENSIONS: i32 = 6;
        let (dimensions, _, oid) = (self.i32()?, self.i32()?, u32::from_be_bytes(self.array()?));
        let mut inner = item;
        while let TypeKind::List(deeper) = &inner.kind {
            inner = deeper;
        }
        let is_alike = Type::of_oid(oid).is_some_and(|given| given.kind == inner.kind) || oid == inner.parameter_oid();
        if !(0..=MAX_DIMENSIONS).contains(&dimensions) || !is_alike {
            return Err(self.invalid());
        }
        let mut lengths = Vec::new();
        let mut total = 1usize;
        for _ in 0..dimensions {
            let length = usize::try_from(self.i32()?).map_err(|_| self.invalid())?;
            self.i32()?; // The lower bound, which the engine's lists do not have.
            total = total.checked_mul(length).ok_or_else(|| self.invalid())?;
            lengths.push(length);
        }
        // An array without items may have dimensions, as pgx sends it.
        if dimensions == 0 || total == 0 {
            return Ok(ParameterValue::List(Vec::new()));
        }
        // Each item has at least the four bytes of its length.
        if total.checked_mul(4).is_none_or(|least| least > self.rest.len()) {
            return Err(self.invalid());
        }
        self.items(inner, &lengths)
    }

    /// Reads a row (`record_recv`): the number of fields, and the type and the value of each.
    fn row(&mut self, fields: &[Type]) -> Result<ParameterValue, InputError> {
        let count = self.i32()?;
        if usize::try_from(count).ok() != Some(fields.len()) {
            return Err(InputError::FieldCount { sent: count, expected: fields.len() });
        }
        let mut values = Vec::with_capacity(fields.len());
        for (at, field) in fields.iter().enumerate() {
            let sent = u32::from_be_bytes(self.array()?);
            // Of several types of texts the server has one.
            let known = Type::of_oid(sent).map_or(sent, |type_| type_.oid());
            if known != field.oid() {
                return Err(InputError::FieldType { column: at + 1, sent, expected: field.oid() });
            }
            values.push(self.items(field, &[])?);
        }
        composite::from_values(fields, &values)
    }

    fn items(&mut self, item: &Type, lengths: &[usize]) -> Result<ParameterValue, InputError> {
        let Some((&length, deeper)) = lengths.split_first() else {
            return match usize::try_from(self.i32()?) {
                Ok(length) => match from_binary(item, self.take(length)?)? {
                    ParameterValue::Text(digits) if item.is_numeric() && digits.len() > MAX_DIGITS.max(4 * length) => {
                        Err(InputError::Range(item.name.clone()))
                    }
                    value => Ok(value),
                },
                Err(_) => Ok(ParameterValue::Null),
            };
        };
        (0..length).map(|_| self.items(item, deeper)).collect::<Result<_, _>>().map(ParameterValue::List)
    }
}

fn to_text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    out.into_iter().map(char::from).collect()
}

/// The offset for a number of seconds west of Greenwich.
fn offset(west: i32) -> String {
    let east = i64::from(west).abs();
    let sign = if west > 0 { '-' } else { '+' };
    let seconds = if east % 60 == 0 { String::new() } else { format!(":{:02}", east % 60) };
    format!("{sign}{:02}:{:02}{seconds}", east / 3600, east / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::oid;

    fn read(oid: u32, bytes: &[u8]) -> Result<ParameterValue, InputError> {
        from_binary(&Type::of_oid(oid).unwrap(), bytes)
    }

    fn shown(oid: u32, bytes: &[u8]) -> String {
        match read(oid, bytes).unwrap() {
            ParameterValue::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_as_postgresql_sends_them() {
        // Taken from PostgreSQL 15: select …send(x).
        assert_eq!(shown(oid::INT4, &(-7i32).to_be_bytes()), "-7");
        assert_eq!(shown(oid::FLOAT8, &0.1f64.to_be_bytes()), "0.1");
        assert_eq!(shown(oid::NUMERIC, b"\0\x03\0\x01\x40\0\0\x03\0\x01\x09\x29\x1a\x7c"), "-12345.678");
        assert_eq!(shown(oid::NUMERIC, b"\0\0\0\0\0\0\0\x02"), "0.00");
        assert_eq!(shown(oid::NUMERIC, b"\0\x01\0\x01\0\0\0\0\0\x01"), "10000");
        assert_eq!(shown(oid::NUMERIC, b"\0\x01\xff\xfd\0\0\0\x09\x13\x88"), "0.000000005");
        assert_eq!(shown(oid::NUMERIC, b"\0\0\0\0\xc0\0\0\0"), "NaN");
        assert_eq!(shown(oid::DATE, &0i32.to_be_bytes()), "2000-01-01");
        assert_eq!(shown(oid::DATE, &i32::MIN.to_be_bytes()), "-infinity");
        assert_eq!(shown(oid::TIMESTAMPTZ, &1_500_000i64.to_be_bytes()), "2000-01-01 00:00:01.5+00");
        assert_eq!(shown(oid::TIMETZ, b"\0\0\0\x0a\x0f\xe7\x75\x20\xff\xff\xb2\xa8"), "12:00:16.5+05:30");
        let interval = b"\xff\xff\xff\xff\xff\xff\xff\xfb\0\0\0\x02\xff\xff\xff\xff";
        assert_eq!(shown(oid::INTERVAL, interval), "-1 months 2 days -5 microseconds");
        assert_eq!(shown(oid::VARBIT, b"\0\0\0\x0a\xa0\xc0"), "1010000011");
        assert_eq!(shown(oid::JSONB, b"\x01{}"), "{}");
        assert_eq!(read(oid::INT4, b"\0\0\0"), Err(InputError::Binary("integer".to_owned())));
        assert_eq!(read(oid::INT2, b"\0\0\0"), Err(InputError::Binary("smallint".to_owned())));
        assert_eq!(read(oid::TEXT, b"\xff"), Err(InputError::Encoding));
    }

    #[test]
    fn values_out_of_range_are_errors() {
        for (oid, bytes) in [
            (oid::TIME, &(-1i64).to_be_bytes()[..]),
            (oid::TIME, &86_400_000_001i64.to_be_bytes()),
            (oid::TIMETZ, b"\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"),
            // They would be infinities.
            (oid::DATE, &(i32::MAX - POSTGRES_EPOCH_DAYS).to_be_bytes()),
            (oid::TIMESTAMP, &(i64::MAX - POSTGRES_EPOCH_MICROS).to_be_bytes()),
        ] {
            assert!(matches!(read(oid, bytes), Err(InputError::Range(_))), "{oid} {bytes:?}");
        }
        assert_eq!(shown(oid::TIME, &86_400_000_000i64.to_be_bytes()), "24:00:00");
    }

    #[test]
    fn arrays_are_checked() {
        let head = |dimensions: &[i32]| {
            let mut out = [dimensions.len() as i32, 0, oid::INT4 as i32].map(i32::to_be_bytes).concat();
            dimensions.iter().for_each(|length| out.extend([*length, 1].map(i32::to_be_bytes).concat()));
            out
        };
        let mut two = head(&[2]);
        two.extend(b"\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff");
        assert_eq!(
            read(1007, &two),
            Ok(ParameterValue::List(vec![ParameterValue::Text("7".to_owned()), ParameterValue::Null]))
        );
        for dimensions in [&[][..], &[0], &[2, 0], &[0, i32::MAX]] {
            assert_eq!(read(1007, &head(dimensions)), Ok(ParameterValue::List(vec![])), "{dimensions:?}");
        }
        assert!(read(1007, &[head(&[0]), vec![0; 4]].concat()).is_err());
        assert!(read(1007, &head(&[i32::MAX])).is_err());
        assert!(read(1007, &head(&[i32::MAX; 6])).is_err());
        assert!(read(1016, &two).is_err());
    }

    #[test]
    fn decoded_arrays_are_no_larger_than_their_bound() {
        let zeros = |weight: i16| [&[0, 1][..], &weight.to_be_bytes(), &[0, 0, 0, 0, 0, 1]].concat();
        let array = |weight: i16, count: usize| {
            let head = [1, 0, oid::NUMERIC as i32, count as i32, 1].map(i32::to_be_bytes).concat();
            [head, [&10u32.to_be_bytes()[..], &zeros(weight)].concat().repeat(count)].concat()
        };
        let type_ = Type::of_oid(1231).unwrap();
        assert_eq!(from_binary(&type_, &array(16_000, 2)), Err(InputError::Range("numeric".to_owned())));
        let largest = array(18, 1000);
        let value = from_binary(&type_, &largest).unwrap();
        assert!(value.bytes() <= super::super::max_bytes(&type_, &largest, true), "{}", value.bytes());
        // A list of lists of one.
        let nested = [6, 0, oid::INT4 as i32, 100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1].map(i32::to_be_bytes).concat();
        let nested = [nested, b"\0\0\0\x04\0\0\0\x07".repeat(100)].concat();
        let type_ = Type::of_oid(1007).unwrap();
        let value = from_binary(&type_, &nested).unwrap();
        assert!(value.bytes() <= super::super::max_bytes(&type_, &nested, true), "{}", value.bytes());
        for text in ["{}", "{1,2,NULL}", "{{1},{2},{3}}", "{{{{{{1}}}}}}"] {
            let value = super::super::from_text(&type_, text).unwrap();
            assert!(value.bytes() <= super::super::max_bytes(&type_, text.as_bytes(), false), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            for number in [16, 17, 20, 21, 23, 25, 26, 114, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 1562, 1700, 2950,
                           1001, 1007, 1231] {
                let _ = read(number, &bytes);
            }
        }
    }
}
