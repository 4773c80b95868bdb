use colonnade_sql::{Dialect, Statement, StatementKind};

use super::*;
use crate::error::ClientError as _;
use crate::error::SqlState;

fn defined(sql: &str) -> Result<FunctionDefinition, DefinitionError> {
    match Statement::of(sql, Dialect::WITH_PYTHON).kind {
        StatementKind::CreateFunction(function) => FunctionDefinition::new(&function.unwrap()),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn clauses_that_are_left_out_have_postgresqls_meaning() {
    let found = defined("create function f(x int) returns int language python_map as 'return x'").unwrap();
    assert_eq!((found.kind, found.volatility), (DefinitionKind::Scalar, Volatility::Volatile));
    assert!(!found.is_strict && found.is_map && found.parallel == ParallelSafety::Safe);
    let found = defined("create function f(x int) returns int language python parallel safe as 'return x'").unwrap();
    assert!(found.is_map);
    let found =
        defined("create function f() returns table (i int) language python parallel safe as 'return 1'").unwrap();
    assert!(found.is_map && found.kind == DefinitionKind::Table);
    // The rows of one group are another argument than those of many.
    let found = defined("create aggregate f(x int) returns int language python parallel safe as 'return x'").unwrap();
    assert!(!found.is_map);
    let found =
        defined("create aggregate f(x int, m int) returns int language python scalar (m) as 'return x'").unwrap();
    assert!(!found.is_map && found.kind == DefinitionKind::Aggregate);
    let parameters = found.parameters.unwrap();
    assert_eq!((parameters[0].is_scalar, parameters[1].is_scalar), (false, true));
}

#[test]
fn functions_that_get_whole_columns() {
    let found = defined("create function f(x int) returns int language python as 'return x'").unwrap();
    assert!(!found.is_map && found.kind == DefinitionKind::Scalar);
    let found = defined("create function f(*) returns table (*) language python_map as 'return x'").unwrap();
    assert_eq!((found.kind, found.parameters, found.result), (DefinitionKind::Table, None, DefinedResult::AnyColumns));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let end = "language python_map as ''";
    for (sql, code, text) in [
        (format!("create function f(x int, X int) returns int {end}"), "42P13", "more than once"),
        (format!("create function f(x int, \"X\" int) returns int {end}"), "42P13", "more than once"),
        (format!("create function f(x int = 1, y int) returns int {end}"), "42P13", "must have defaults too"),
        (format!("create function f(_conn int) returns int {end}"), "42P13", "_conn"),
        (format!("create function f(x int) returns int scalar (y) {end}"), "42P13", "no parameter"),
        (format!("create aggregate f(x int) returns table (a int) {end}"), "42P13", "one value"),
        (format!("create function f(pyarrow int) returns int parameter style arrow {end}"), "42P13", "pyarrow"),
        (
            format!("create function f(x int) returns int {end}").replace("''", &format!("'{}'", "x".repeat(1 << 21))),
            "54000",
            "body",
        ),
        (
            format!(
                "create function f({}) returns int {end}",
                (0..101).map(|n| format!("a{n} int")).collect::<Vec<_>>().join(", ")
            ),
            "54000",
            "parameters",
        ),
    ] {
        let error = defined(&sql).unwrap_err();
        assert_eq!(error.code(), SqlState::new(code), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}
