//! Chooses the CAST for a value. A value of NUMERIC has any number of digits, but DuckDB's DECIMAL has a fixed number.

use colonnade_server::parameter::{InputError, ParameterValue};
use colonnade_server::value::types::{Type, TypeKind};

use crate::types::is_decimal;

/// The maximum number of digits of DuckDB's DECIMAL.
const MAX_DIGITS: usize = 38;

/// The name of the type to which `value` is cast.
pub fn cast(type_: &Type, value: &ParameterValue) -> Result<String, InputError> {
    let (mut item, mut depth) = (type_, 0);
    while let TypeKind::List(inner) = &item.kind {
        (item, depth) = (inner, depth + 1);
    }
    let depth = depth.max(value.dimensions());
    if !is_decimal(item) {
        // A list of fixed length keeps its name. PostgreSQL's type of an array does not have the number of dimensions.
        let is_known = matches!(type_.kind, TypeKind::List(_)) && dimensions(&type_.name) >= depth;
        return Ok(if is_known { type_.name.clone() } else { format!("{}{}", item.name, "[]".repeat(depth)) });
    }
    let mut digits = Digits::default();
    digits.add(value, item)?;
    Ok(format!("{}{}", digits.type_name()?, "[]".repeat(depth)))
}

/// How many lists a type is.
pub(crate) fn dimensions(name: &str) -> usize {
    let mut count = 0;
    let mut rest = name;
    while let Some((item, _)) = rest.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        (rest, count) = (item, count + 1);
    }
    count
}

/// The digits of a DECIMAL that can hold all added numbers.
#[derive(Default)]
struct Digits {
    whole: usize,
    fraction: usize,
    /// Whether one of the numbers is not finite, so that only a DOUBLE can hold it.
    is_double: bool,
}

impl Digits {
    fn add(&mut self, value: &ParameterValue, type_: &Type) -> Result<(), InputError> {
        match value {
            ParameterValue::List(items) => items.iter().try_for_each(|item| self.add(item, type_)),
            ParameterValue::Text(text) => self.number(text).ok_or_else(|| InputError::syntax(type_, text)),
            ParameterValue::Null | ParameterValue::Bytes(_) => Ok(()),
            ParameterValue::Sent { .. } => Err(InputError::NoBinary(type_.name.clone())),
        }
    }

    fn number(&mut self, text: &str) -> Option<()> {
        let number = text.strip_prefix(['-', '+']).unwrap_or(text);
        if ["nan", "infinity", "inf"].iter().any(|name| number.eq_ignore_ascii_case(name)) {
            self.is_double = true;
            return Some(());
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if number.len() < 2 && whole.is_empty()
            || !is_digits(whole)
            || !is_digits(fraction)
            || whole.len() + fraction.len() == 0
        {
            return None;
        }
        self.whole = self.whole.max(whole.trim_start_matches('0').len());
        self.fraction = self.fraction.max(fraction.len());
        Some(())
    }

    fn type_name(&self) -> Result<String, InputError> {
        let precision = (self.whole + self.fraction).max(1);
        if self.is_double {
            Ok("DOUBLE".to_owned())
        } else if precision > MAX_DIGITS {
            Err(InputError::Range(format!("DECIMAL, which has {MAX_DIGITS} digits at most")))
        } else {
            Ok(format!("DECIMAL({precision},{})", self.fraction))
        }
    }
}

#[cfg(test)]
mod tests {
    use colonnade_server::parameter::from_text;

    use super::*;
    use crate::types::{named, of_oid};

    fn text(text: &str) -> ParameterValue {
        ParameterValue::Text(text.to_owned())
    }

    #[test]
    fn a_decimal_has_the_digits_of_its_value() {
        let of = |value: ParameterValue| cast(&of_oid(colonnade_server::value::oid::NUMERIC).unwrap(), &value);
        assert_eq!(of(text("-12.340")).unwrap(), "DECIMAL(5,3)");
        assert_eq!(of(text("0")).unwrap(), "DECIMAL(1,0)");
        assert_eq!(of(text(".5")).unwrap(), "DECIMAL(1,1)");
        assert_eq!(of(ParameterValue::Null).unwrap(), "DECIMAL(1,0)");
        assert_eq!(of(text("NaN")).unwrap(), "DOUBLE");
        assert!(matches!(of(text(&"9".repeat(39))), Err(InputError::Range(_))));
        for wrong in ["", "-", ".", "1x", "1.2.3", "--1"] {
            assert!(of(text(wrong)).is_err(), "{wrong}");
        }
        let list = ParameterValue::List(vec![text("1.5"), ParameterValue::Null, text("100")]);
        assert_eq!(cast(&of_oid(1231).unwrap(), &list).unwrap(), "DECIMAL(4,1)[]");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_values_never_panic(given in r#"[{}\[\]"\\,a0-9é :+.eTZBC-]{0,24}"#) {
            for name in ["BLOB", "DATE", "TIMESTAMP WITH TIME ZONE", "DECIMAL", "VARCHAR[]", "BLOB[][]", "DECIMAL(9,2)[]"] {
                if let Ok(value) = from_text(&named(name), &given) {
                    let _ = cast(&named(name), &value);
                }
            }
        }
    }

    #[test]
    fn dimensions_come_from_the_value() {
        let list = ParameterValue::List(vec![ParameterValue::List(vec![text("1")])]);
        assert_eq!(cast(&of_oid(1007).unwrap(), &list).unwrap(), "INTEGER[][]");
        assert_eq!(cast(&named("INTEGER[2]"), &ParameterValue::List(vec![])).unwrap(), "INTEGER[2]");
        assert_eq!(cast(&named("HUGEINT"), &text("1")).unwrap(), "HUGEINT");
    }
}
