//! Values for COM_STMT_EXECUTE.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>

use super::literal::{Atom, Expression};
use super::packet::put_counted;
use crate::parameter::replace;
use crate::{Dialect, Error, Statement, Value};

/// The number of executions, after the flags.
const ONCE: [u8; 4] = [1, 0, 0, 0];
/// The types follow.
const NEW_TYPES: u8 = 1;
/// The flag of an unsigned type.
const UNSIGNED: u8 = 0x80;

/// The numbers of types.
mod kind {
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const NULL: u8 = 6;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const BLOB: u8 = 252;
    pub(super) const VAR_STRING: u8 = 253;
}

/// A statement and its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BoundStatement {
    pub(super) sql: String,
    /// The number of values, and their bytes in COM_STMT_EXECUTE.
    pub(super) count: usize,
    values: Vec<u8>,
    /// The points in time among them, date and time in UTC. Their expressions depend on the session's zone.
    pub(super) instants: Vec<String>,
}

impl BoundStatement {
    /// The statement with `?` for each placeholder.
    ///
    /// # Errors
    /// As for [`bind`](crate::bind).
    pub(super) fn new(statement: Statement<'_>, dialect: Dialect) -> Result<Self, Error> {
        let Some(parameters) = statement.parameters else {
            return Ok(Self { sql: statement.sql.to_owned(), ..Self::default() });
        };
        let (mut atoms, mut instants) = (Vec::new(), Vec::new());
        let sql = replace(statement.sql, parameters, dialect, &mut |sql, value| {
            if let Value::Instant(date, time) = value {
                instants.push(format!("{date} {time}"));
            }
            let Expression { before, atom, after } = Expression::of(value)?;
            let (inner, close) = typed(&atom, &after);
            sql.push_str(before);
            sql.push_str(inner);
            sql.push('?');
            sql.push_str(close);
            sql.push_str(&after);
            atoms.push(atom);
            Ok(())
        })?;
        Ok(Self { sql, count: atoms.len(), values: encoded(&atoms), instants })
    }

    /// The arguments of COM_STMT_EXECUTE. Rows are sent at once, or kept by a cursor that only reads.
    pub(super) fn execution(&self, number: [u8; 4], cursor: bool) -> Vec<u8> {
        [&number[..], &[u8::from(cursor)], &ONCE, &self.values].concat()
    }
}

/// What stands around a placeholder so that it keeps the value's type. MySQL takes a placeholder's type from the
/// expression around it, and not from the value:
/// - bytes alone become text (MySQL 9.7: a VARCHAR of the connection's character set)
/// - the text of a time becomes a date first: `CAST(? AS TIME(6))` with '01:02:03.000004' gives 04:00:00
fn typed(atom: &Atom<'_>, after: &str) -> (&'static str, &'static str) {
    match atom {
        Atom::Bytes(_) => ("CAST(", " AS BINARY)"),
        Atom::Text(_) if !after.is_empty() => ("CAST(", " AS CHAR)"),
        _ => ("", ""),
    }
}

fn encoded(atoms: &[Atom<'_>]) -> Vec<u8> {
    if atoms.is_empty() {
        return Vec::new();
    }
    let (mut nulls, mut types, mut values) = (vec![0u8; atoms.len().div_ceil(8)], Vec::new(), Vec::new());
    for (place, atom) in atoms.iter().enumerate() {
        let (type_code, flag) = match atom {
            Atom::Null => {
                nulls[place / 8] |= 1 << (place % 8);
                (kind::NULL, 0)
            }
            Atom::Integer(number) => {
                values.extend_from_slice(&number.to_le_bytes());
                (kind::LONGLONG, 0)
            }
            Atom::Unsigned(number) => {
                values.extend_from_slice(&number.to_le_bytes());
                (kind::LONGLONG, UNSIGNED)
            }
            Atom::Double(number) => {
                values.extend_from_slice(&number.to_le_bytes());
                (kind::DOUBLE, 0)
            }
            Atom::Text(text) => {
                put_counted(&mut values, text.as_bytes());
                (kind::VAR_STRING, 0)
            }
            Atom::Bytes(bytes) => {
                put_counted(&mut values, bytes);
                (kind::BLOB, 0)
            }
        };
        types.extend_from_slice(&[type_code, flag]);
    }
    [&nulls[..], &[NEW_TYPES], &types, &values].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Parameters;

    #[test]
    fn values_are_beside_the_statement() {
        let values = [
            Value::Text("\\'".to_owned()),
            Value::Null,
            Value::Unsigned(u128::MAX),
            Value::Integer(-1),
            Value::Integer(u64::MAX.into()),
            Value::Float(1.5),
            Value::Bytes(vec![0, 39]),
        ];
        let parameters = Parameters::Positional(values.to_vec());
        let statement = Statement { sql: "select $1, $2, $3, $4, $5, $6, $7, '$1'", parameters: Some(&parameters) };
        let bound = BoundStatement::new(statement, Dialect::MySql { backslashes: true }).unwrap();
        assert_eq!(
            bound.sql,
            "select ? , ? , CAST(CAST(? AS CHAR) AS DECIMAL(39,0)) , ? , ? , ? , CAST(? AS BINARY) , '$1'"
        );
        assert_eq!(bound.count, 7);
        let head = [&b"\x07\0\0\0\0\x01\0\0\0\x02\x01"[..], b"\xfd\0\x06\0\xfd\0\x08\0\x08\x80\x05\0\xfc\0\x02\\'\x27"]
            .concat();
        assert_eq!(bound.execution([7, 0, 0, 0], false)[..head.len()], head);
        assert!(bound.execution([7, 0, 0, 0], false).ends_with(b"\0\0\0\0\0\0\xf8\x3f\x02\0'"));
    }

    #[test]
    fn each_place_has_its_value() {
        let parameters = Parameters::Named(vec![("a".to_owned(), Value::Bool(true))]);
        let statement = Statement { sql: "select $a, $a -- $a", parameters: Some(&parameters) };
        let bound = BoundStatement::new(statement, Dialect::MySql { backslashes: false }).unwrap();
        assert_eq!((bound.sql.as_str(), bound.count), ("select ? , ? -- $a", 2));
        let plain = BoundStatement::new("select $1".into(), Dialect::MySql { backslashes: false }).unwrap();
        assert_eq!((plain.sql.as_str(), plain.execution([1, 0, 0, 0], true).len()), ("select $1", 9));
    }
}
