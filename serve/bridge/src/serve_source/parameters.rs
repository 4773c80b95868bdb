//! The values of a client's statement for the source, and the statements that are not passed to a source.

use client::Parameters;
use colonnade_client as client;
use colonnade_server::{EngineError, Parameter, SqlState, parameter, parameter::ParameterValue};
use colonnade_server::{value::types::Type, value::types::TypeKind};

/// Refuses a statement that the source may read differently than the client means it.
pub(super) fn check(sql: &str, parameters: &[Parameter], dialect: client::Dialect) -> Result<(), EngineError> {
    let refused = |message: &str, hint: &str| {
        Err(EngineError { hint: Some(hint.to_owned()), ..EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message) })
    };
    match dialect {
        client::Dialect::Unknown => {}
        client::Dialect::Postgres { .. } => return Ok(()),
        // The source would read the column E.
        _ if colonnade_sql::lexer::has_escape_string(sql, dialect) => {
            return refused(
                "E'…' is a string of PostgreSQL, which this source does not have",
                "Pass the value as a parameter, bound by the server, or write the string without E.",
            );
        }
        _ => return Ok(()),
    }
    if !parameters.is_empty() {
        return refused(
            "parameters are not passed to this source, because its syntax of values is unknown",
            "Let the driver write them into the statement (a client-side cursor, preferQueryMode=simple).",
        );
    }
    // Drivers write backslashes of a value unchanged. If the source reads them as escapes, the value ends elsewhere.
    if sql.contains('\\') {
        return refused(
            "a statement with a backslash is not passed to this source, because the source may read it as an escape",
            "Write the character another way, such as chr(92), or serve the database by its own URI, such as mysql://.",
        );
    }
    Ok(())
}

/// The values in the form that the source's protocol binds.
pub(super) fn values(parameters: &[Parameter], dialect: client::Dialect) -> Result<Option<Parameters>, EngineError> {
    let values = parameters.iter().map(|parameter| value(&parameter.type_, &parameter.value, dialect));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok((!values.is_empty()).then_some(Parameters::Positional(values)))
}

fn value(type_: &Type, value: &ParameterValue, dialect: client::Dialect) -> Result<client::Value, EngineError> {
    let text = match value {
        ParameterValue::Null => return Ok(client::Value::Null),
        ParameterValue::Bytes(bytes) => return Ok(client::Value::Bytes(bytes.clone())),
        ParameterValue::List(items) => {
            let mut item = type_;
            while let TypeKind::List(inner) = &item.kind {
                item = inner;
            }
            let items = items.iter().map(|one| self::value(item, one, dialect));
            return items.collect::<Result<_, _>>().map(client::Value::List);
        }
        ParameterValue::Sent { type_oid, is_binary, bytes } => {
            return Ok(client::Value::Sent(client::Sent {
                type_oid: *type_oid,
                is_binary: *is_binary,
                bytes: bytes.clone(),
            }));
        }
        ParameterValue::Text(text) => text,
    };
    let is_mysql = matches!(dialect, client::Dialect::MySql { .. });
    let wrong = || {
        EngineError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {}: \"{text}\"", type_.name),
        )
    };
    Ok(match &type_.kind {
        TypeKind::Bool => client::Value::Bool(text == "true"),
        TypeKind::Int2 | TypeKind::Int4 | TypeKind::Int8 | TypeKind::Oid => {
            client::Value::Integer(text.trim().parse().map_err(|_| wrong())?)
        }
        TypeKind::Float4 | TypeKind::Float8 => client::Value::Float(text.trim().parse().map_err(|_| wrong())?),
        TypeKind::Numeric(_) => decimal(text.trim()).ok_or_else(wrong)?,
        TypeKind::Uuid => uuid(text).map(client::Value::Uuid).ok_or_else(wrong)?,
        // The server writes years before 1 in DuckDB's notation, which no source reads.
        kind if kind.is_temporal() && text.contains("(BC)") => return Err(wrong()),
        // MySQL would drop a time zone, and read the digits of a bit string as characters.
        TypeKind::TimestampTz if is_mysql => instant(text.trim()).ok_or_else(wrong)?,
        TypeKind::TimeTz | TypeKind::Bits if is_mysql => {
            let message = format!("MySQL has no values of type {}", type_.name);
            return Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        _ => client::Value::Text(text.clone()),
    })
}

fn instant(text: &str) -> Option<client::Value> {
    let parameter::Instant { year, month, day, hour, minute, second, microsecond } = parameter::parse_instant(text)?;
    let (date, time) = (client::Date { year, month, day }, client::Time { hour, minute, second, microsecond });
    Some(client::Value::Instant(date, time))
}

fn decimal(text: &str) -> Option<client::Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = u8::try_from(fraction.len()).ok()?;
    let is_number = fraction.bytes().all(|b| b.is_ascii_digit());
    let unscaled = format!("{whole}{fraction}").parse().ok().filter(|_| is_number)?;
    Some(client::Value::Decimal { unscaled, scale })
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | '{' | '}')).collect();
    let number = (digits.len() == 32 && digits.is_ascii()).then(|| u128::from_str_radix(&digits, 16).ok())??;
    Some(number.to_be_bytes())
}
