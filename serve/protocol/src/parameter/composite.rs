//! Values of composite types. PostgreSQL's text form (`record_in`; manual, "Composite Type Input and Output Syntax")
//! becomes the engine's text of a row without names, `("1", NULL)`, which a CAST reads by position. So do rows in binary
//! (`record_recv`, in `binary.rs`).

use super::{InputError, ParameterValue, SPACE};
use crate::value::types::{Type, TypeKind};

/// The largest number of bytes of the engine's text for each byte of a value: a byte of a bytea has four characters,
/// of which each level of nesting doubles the backslash, and a field has quotes and a comma.
pub(super) fn expansion(type_: &Type) -> usize {
    const OF_ONE_LEVEL: usize = 8;
    match &type_.kind {
        TypeKind::List(item) => expansion(item),
        TypeKind::Composite { .. } => OF_ONE_LEVEL << levels(type_),
        _ => 1,
    }
}

/// How deep rows and lists are nested.
fn levels(type_: &Type) -> usize {
    match &type_.kind {
        TypeKind::List(item) => 1 + levels(item),
        TypeKind::Composite { fields, .. } => 1 + fields.iter().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

/// Reads a row's text. One that begins with a brace is in the engine's form, as is the text of a row without a name.
pub(super) fn from_text(fields: &[Type], text: &str) -> Result<ParameterValue, InputError> {
    let malformed = |problem| InputError::row(text, problem);
    let mut rest = text.trim_start_matches(SPACE);
    if rest.starts_with('{') {
        return Ok(ParameterValue::Text(text.to_owned()));
    }
    rest = rest.strip_prefix('(').ok_or_else(|| malformed("Missing left parenthesis."))?;
    let mut values = Vec::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| malformed("Too few columns."))?;
        }
        // An empty text is in quotes.
        values.push(if rest.starts_with([',', ')']) {
            ParameterValue::Null
        } else {
            let (value, behind) = token(rest).ok_or_else(|| malformed("Unexpected end of input."))?;
            rest = behind;
            super::from_text(field, &value)?
        });
    }
    rest = rest.strip_prefix(')').ok_or_else(|| malformed("Too many columns."))?;
    if !rest.trim_start_matches(SPACE).is_empty() {
        return Err(malformed("Junk after right parenthesis."));
    }
    from_values(fields, &values)
}

/// A field's text, and what stands after it. White space belongs to the field.
fn token(text: &str) -> Option<(String, &str)> {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut chars = text.char_indices().peekable();
    loop {
        match chars.next()? {
            (_, '\\') => value.push(chars.next()?.1),
            (_, '"') if is_quoted && chars.next_if(|(_, next)| *next == '"').is_some() => value.push('"'),
            (_, '"') => is_quoted = !is_quoted,
            (at, ',' | ')') if !is_quoted => return Some((value, &text[at..])),
            (_, c) => value.push(c),
        }
    }
}

/// The engine's text of a row with these values.
pub(super) fn from_values(fields: &[Type], values: &[ParameterValue]) -> Result<ParameterValue, InputError> {
    for (value, field) in values.iter().zip(fields) {
        value.check_dimensions(field)?;
    }
    Ok(ParameterValue::Text(written(values, '(', ')')))
}

fn written(values: &[ParameterValue], open: char, close: char) -> String {
    let values: Vec<_> = values.iter().map(element).collect();
    format!("{open}{}{close}", values.join(", "))
}

/// A value within a row or a list, in quotes, so that the engine takes no part of it for its own syntax.
fn element(value: &ParameterValue) -> String {
    let text = match value {
        // The readers of PostgreSQL's forms never give `Sent`.
        ParameterValue::Null | ParameterValue::Sent { .. } => return "NULL".to_owned(),
        ParameterValue::Text(text) => text.clone(),
        ParameterValue::Bytes(bytes) => bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect(),
        ParameterValue::List(items) => written(items, '[', ']'),
    };
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{from_binary, max_bytes};
    use crate::value::oid;

    fn of(oids: &[u32]) -> Type {
        let fields = oids.iter().map(|number| Type::of_oid(*number).unwrap()).collect();
        Type::new("c", TypeKind::Composite { number: 1 << 29 | 20_000, fields })
    }

    fn read(type_: &Type, text: &str) -> Result<String, InputError> {
        match super::super::from_text(type_, text)? {
            ParameterValue::Text(text) => Ok(text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rows_as_postgresql_reads_them() {
        let type_ = of(&[oid::INT4, oid::TEXT]);
        for (given, expected) in [
            ("(1,x)", r#"("1", "x")"#),
            (" \t( 1 , x )\n", r#"(" 1 ", " x ")"#),
            ("(,)", "(NULL, NULL)"),
            (r#"(,"")"#, r#"(NULL, "")"#),
            (r#"(1,"a""b\\c\"d")"#, r#"("1", "a\"b\\c\"d")"#),
            (r"(1,a\,b)", r#"("1", "a,b")"#),
            (r#"(1,a"b,c"d)"#, r#"("1", "ab,cd")"#),
            ("(1,null)", r#"("1", "null")"#),
            ("{'a': 1}", "{'a': 1}"),
        ] {
            assert_eq!(read(&type_, given).as_deref(), Ok(expected), "{given}");
        }
        for (given, expected) in [
            ("1,x)", "Missing left parenthesis."),
            ("", "Missing left parenthesis."),
            ("(1)", "Too few columns."),
            ("(1,x,y)", "Too many columns."),
            ("(1,x", "Unexpected end of input."),
            ("(1,\"x)", "Unexpected end of input."),
            ("(1,x)y", "Junk after right parenthesis."),
        ] {
            assert!(
                matches!(read(&type_, given), Err(InputError::Row { problem, .. }) if problem == expected),
                "{given}"
            );
        }
        assert!(matches!(read(&type_, "(1.5,x)"), Err(InputError::Syntax { .. })));
    }

    #[test]
    fn nested_values_are_texts_in_quotes() {
        let inner = of(&[oid::TEXT]);
        let fields = vec![inner, Type::of_oid(1009).unwrap(), Type::of_oid(oid::BYTEA).unwrap()];
        let type_ = Type::new("c", TypeKind::Composite { number: 1 << 29 | 20_001, fields });
        let found = read(&type_, r#"("(""a b"")","{x,NULL}","\\xff00")"#);
        assert_eq!(found.as_deref(), Ok(r#"("(\"a b\")", "[\"x\", NULL]", "\\xFF\\x00")"#));
        assert!(matches!(read(&type_, r#"(,"{{x}}",)"#), Err(InputError::Dimensions(_))));
    }

    #[test]
    fn rows_in_binary_have_the_types_of_their_attributes() {
        let type_ = of(&[oid::INT4, oid::TEXT]);
        let row = |count: i32, oids: [u32; 2]| {
            let number = [&oids[0].to_be_bytes()[..], &4i32.to_be_bytes(), &7i32.to_be_bytes()].concat();
            let text = [&oids[1].to_be_bytes()[..], &(-1i32).to_be_bytes()].concat();
            [&count.to_be_bytes()[..], &number, &text].concat()
        };
        let read = |bytes: &[u8]| from_binary(&type_, bytes);
        let expected = Ok(ParameterValue::Text(r#"("7", NULL)"#.to_owned()));
        assert_eq!(read(&row(2, [oid::INT4, oid::TEXT])), expected);
        assert_eq!(read(&row(2, [oid::INT4, oid::VARCHAR])), expected);
        let wrong = InputError::FieldType { column: 1, sent: oid::INT8, expected: oid::INT4 };
        assert_eq!(read(&row(2, [oid::INT8, oid::TEXT])), Err(wrong));
        assert_eq!(read(&row(3, [oid::INT4, oid::TEXT])), Err(InputError::FieldCount { sent: 3, expected: 2 }));
        let whole = row(2, [oid::INT4, oid::TEXT]);
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
    }

    proptest::proptest! {
        #[test]
        fn texts_are_no_larger_than_their_bound(given in r#"[(),"\\a\n]{0,24}"#, bytes: Vec<u8>) {
            let inner = of(&[oid::TEXT, oid::BYTEA]);
            let fields = vec![Type::list_of(inner), Type::of_oid(1001).unwrap()];
            let type_ = Type::new("c", TypeKind::Composite { number: 1 << 29 | 20_001, fields });
            for text in [given.clone(), format!("({given}")] {
                if let Ok(value) = super::super::from_text(&type_, &text) {
                    proptest::prop_assert!(value.bytes() <= max_bytes(&type_, text.as_bytes(), false));
                }
            }
            let _ = from_binary(&type_, &bytes);
        }
    }
}
