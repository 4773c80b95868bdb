use super::*;
use crate::{Dialect, Statement, StatementKind};

fn created(sql: &str) -> CreateFunction {
    match Statement::of(sql, Dialect::DuckDb).kind {
        StatementKind::CreateFunction(function) => function.unwrap(),
        other => panic!("{sql}: {other:?}"),
    }
}

fn refused(sql: &str) -> FunctionSyntaxError {
    match Statement::of(sql, Dialect::DuckDb).kind {
        StatementKind::CreateFunction(function) => function.unwrap_err(),
        StatementKind::DropFunction(dropped) => dropped.unwrap_err(),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn a_function_is_read() {
    let sql = "CREATE OR REPLACE FUNCTION S.\"F\"(I Integer, in d decimal(9, 2) = -1.5, s text DEFAULT 'a', \
               e enum('x', 'y')[] default null) RETURNS double precision LANGUAGE python_map IMMUTABLE STRICT \
               PARALLEL SAFE PARAMETER STYLE NUMPY SCALAR (d, S) COST 1.5 ROWS 10 SECURITY INVOKER AS $x$ return i $$ $x$";
    let function = created(sql);
    assert!(function.or_replace && !function.is_aggregate && function.is_strict && !function.is_arrow);
    assert_eq!((function.name.schema.as_deref(), function.name.name.as_str()), (Some("s"), "F"));
    assert_eq!(&sql[function.name.place.clone()], "S.\"F\"");
    let parameters = function.parameters.unwrap();
    let shown: Vec<_> =
        parameters.iter().map(|one| (one.name.as_str(), one.type_.as_str(), one.default.as_deref())).collect();
    assert_eq!(
        shown,
        [
            ("i", "Integer", None),
            ("d", "decimal ( 9 , 2 )", Some("-1.5")),
            ("s", "text", Some("'a'")),
            ("e", "enum ( 'x' , 'y' ) [ ]", Some("null")),
        ]
    );
    let FunctionResult::Type(type_, place) = function.returns else { panic!() };
    assert_eq!((type_.as_str(), &sql[place]), ("double precision", "double precision"));
    assert_eq!(function.language, FunctionLanguage::PythonMap);
    assert_eq!((function.volatility, function.parallel), (Some(Volatility::Immutable), Some(ParallelSafety::Safe)));
    assert_eq!(function.scalars, ["d", "s"]);
    assert_eq!(function.body.source, " return i $$ ");
    assert_eq!(function.body.position(sql, 1), sql.find("return").unwrap());
}

#[test]
fn clauses_come_in_any_order() {
    let expected = created("create function f(x int) returns int language python strict volatile as $$ y $$");
    for sql in [
        "create function f(x int) returns int as $$ y $$ volatile strict language python",
        "create function f(x int) returns int volatile as ' y ' returns null on null input language 'PYTHON'",
        "create function f(x int) returns int language python { y } strict volatile;",
        "create function f(x int) returns int strict language \"python\" volatile { y }",
    ] {
        let sql = sql.trim_end_matches(';');
        let found = created(sql);
        let same = CreateFunction {
            name: expected.name.clone(),
            parameters: expected.parameters.clone(),
            returns: expected.returns.clone(),
            body: expected.body.clone(),
            ..found.clone()
        };
        assert_eq!((same, found.body.source.as_str()), (expected.clone(), " y "), "{sql}");
        assert_eq!(found.body.position(sql, 1), sql.find(" y ").unwrap() + 1, "{sql}");
    }
    let called = created("create function f() returns int language python called on null input as ''");
    assert!(!called.is_strict && called.parameters == Some(Vec::new()));
}

#[test]
fn aggregates_and_tables_are_read() {
    let aggregate = created("create aggregate m(x double) returns double language python as $$ return x $$");
    assert!(aggregate.is_aggregate && aggregate.language == FunctionLanguage::Python);
    let table = created("create function t(*) returns table (a int, \"B\" decimal(9,2)) language python { return 1 }");
    assert_eq!(table.parameters, None);
    let FunctionResult::Table(columns) = table.returns else { panic!() };
    let shown: Vec<_> = columns.iter().map(|(name, type_, _)| (name.as_str(), type_.as_str())).collect();
    assert_eq!(shown, [("a", "int"), ("B", "decimal ( 9 , 2 )")]);
    let any = created("create function t() returns table (*) language python as ''");
    assert_eq!(any.returns, FunctionResult::AnyTable);
}

#[test]
fn positions_in_a_body_lead_to_the_statement() {
    let sql = "create function é() returns int language python as 'a = ''é'' + b'";
    let body = created(sql).body;
    assert_eq!(body.source, "a = 'é' + b");
    let place = |byte: usize| sql[..byte].chars().count();
    assert_eq!(body.position(sql, 10), place(sql.rfind('b').unwrap()));
    assert_eq!(body.position(sql, 4), place(sql.find("''").unwrap()));
    let sql = "create function f() returns int language python as E'a\\n  b'";
    assert_eq!(created(sql).body.position(sql, 4), sql.find("E'").unwrap());
}

#[test]
fn macros_of_duckdb_are_not_read() {
    for sql in [
        "create function f(x) as x + 1",
        "create or replace function f(x, y := 2) as {'a': x}",
        "create function f(x int) as (x), (x int, y int) as x + y",
        "create function f() as table select 1",
        "create temp function f() as 1",
        "create table functions (i int)",
    ] {
        assert!(!matches!(Statement::of(sql, Dialect::DuckDb).kind, StatementKind::CreateFunction(_)), "{sql}");
    }
    let other = "create function f(x int) returns int language sql as 'select 1'";
    assert!(matches!(Statement::of(other, Dialect::POSTGRES).kind, StatementKind::Define { .. }));
}

#[test]
fn what_is_missing_or_twice_is_named() {
    let rest = "returns int language python as ''";
    for (sql, position, text) in [
        (format!("create function (x int) {rest}"), 16, "the name of a function"),
        (format!("create function a.b.f(x int) {rest}"), 21, "without a database"),
        (format!("create function f x {rest}"), 18, "the parameters in parentheses"),
        (format!("create function f(x) {rest}"), 19, "a name and a type"),
        (format!("create function f(x int y) language {rest}"), 27, "RETURNS"),
        (format!("create function f(int, ) {rest}"), 21, "a name and a type"),
        (format!("create function f(x int = y) {rest}"), 26, "a constant"),
        (format!("create function f(x int = -'1') {rest}"), 27, "a constant"),
        (format!("create function f(x int = 1 + 1) {rest}"), 28, "a comma"),
        ("create function f() language python as ''".to_owned(), 20, "RETURNS"),
        ("create function f() returns int as ''".to_owned(), 37, "LANGUAGE"),
        ("create function f() returns int language python".to_owned(), 47, "the body"),
        (format!("create function f() {rest} as ''"), 54, "each clause once"),
        (format!("create function f() {rest} immutable volatile"), 64, "each clause once"),
        (format!("create function f() {rest} sometimes"), 54, "a clause such as"),
        (format!("create function f() {rest} parallel perhaps"), 63, "SAFE, RESTRICTED"),
        (format!("create function f() {rest} scalar x"), 61, "names of parameters"),
        ("create function f() returns table (a) language python as ''".to_owned(), 36, "a type"),
        ("drop function".to_owned(), 13, "the name of a function"),
        ("drop function f(int".to_owned(), 19, "a comma"),
        ("drop function f g".to_owned(), 16, "the end"),
    ] {
        let error = refused(&sql);
        assert!(error.to_string().contains(text), "{sql}: {error}");
        assert_eq!(error.position(), position, "{sql}: {error}");
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let rest = "language python as ''";
    for (sql, text) in [
        (format!("create function f() returns int {rest} security definer"), "SECURITY DEFINER"),
        (format!("create function f() returns int {rest} external security definer"), "SECURITY DEFINER"),
        (format!("create function f() returns int {rest} set search_path = x"), "SET for a function"),
        (format!("create function f(out x int) returns int {rest}"), "OUT"),
        (format!("create function f(variadic x int[]) returns int {rest}"), "VARIADIC"),
        (format!("create function f() returns setof int {rest}"), "SETOF"),
        ("create function f() returns int language plpython3u as ''".to_owned(), "PostgreSQL's language"),
        ("create function f() returns int language c as 'a', 'b'".to_owned(), "language \"c\""),
        ("create function f() returns int language python as 'a', 'b'".to_owned(), "a body in a file"),
        ("create function f() returns int language python 'a.py'".to_owned(), "a body in a file"),
        ("create function f() returns int language python { return 'x }".to_owned(), "a string in the body"),
    ] {
        assert!(refused(&sql).to_string().contains(text), "{sql}: {}", refused(&sql));
    }
    // A parameter may have such a name.
    assert_eq!(
        created("create function f(out int) returns int language python as ''").parameters.unwrap()[0].name,
        "out"
    );
}

#[test]
fn dropping_and_commenting_are_read() {
    let dropped = |sql: &str| match Statement::of(sql, Dialect::DuckDb).kind {
        StatementKind::DropFunction(dropped) => dropped.unwrap(),
        other => panic!("{sql}: {other:?}"),
    };
    let found = dropped("drop function if exists s.F(x integer, in decimal(9,2), y int default 3), g cascade");
    assert!(found.if_exists && found.cascades && !found.is_aggregate);
    assert_eq!(found.functions[0].types.as_deref().unwrap(), ["x integer", "decimal ( 9 , 2 )", "y int"]);
    assert_eq!((found.functions[1].name.name.as_str(), &found.functions[1].types), ("g", &None));
    let found = dropped("drop aggregate f(*) restrict");
    assert!(found.is_aggregate && !found.cascades);
    assert_eq!(found.functions[0].types.as_deref().unwrap(), ["*"]);
    let comment = |sql: &str| match Statement::of(sql, Dialect::DuckDb).kind {
        StatementKind::CommentOnFunction(comment) => Some(comment),
        _ => None,
    };
    let found = comment("comment on function s.f(int) is 'it''s'").unwrap();
    assert_eq!((found.text.as_deref(), found.function.types.unwrap().len()), (Some("it's"), 1));
    assert_eq!(comment("comment on macro f is null").unwrap().text, None);
    assert_eq!(comment("comment on table f is null"), None);
}

#[test]
fn no_type_ends_the_expression_around_it() {
    // The texts of types and constants are written into CAST(… AS …).
    for type_ in ["int); drop table t; select (1", "int -- ", "int /* */ + 1", "int = 1", "int; x", "$1", "int)) as x"]
    {
        let sql = format!("create function f(x {type_}) returns int language python as ''");
        if let StatementKind::CreateFunction(function) = Statement::of(&sql, Dialect::DuckDb).kind
            && let Ok(function) = *function
        {
            for parameter in function.parameters.unwrap() {
                let text = parameter.type_;
                assert!(!text.contains([';', '-', '+', '/', '$', '=']) && text.matches('(').eq(text.matches("(")));
            }
        }
    }
}
