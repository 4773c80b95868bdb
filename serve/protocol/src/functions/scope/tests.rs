use super::*;

fn call(sql: &str) -> Option<TableCall> {
    table_call(sql, Dialect::WITH_PYTHON, |_, name, _| name == "f" || name == "g")
}

/// The call's text, its arguments (queries in brackets), and its scopes.
fn shown(sql: &str) -> (String, Vec<String>, Vec<String>) {
    let call = call(sql).unwrap();
    let text = |place: &Range<usize>| sql[place.clone()].trim().to_owned();
    let argument = |argument: &TableArgument| {
        if argument.is_query { format!("[{}]", text(&argument.place)) } else { text(&argument.place) }
    };
    (text(&call.place), call.arguments.iter().map(argument).collect(), call.scopes.iter().map(text).collect())
}

#[test]
fn a_call_has_its_arguments() {
    let of = |call: &str, arguments: &[&str]| {
        (call.to_owned(), arguments.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(), Vec::<String>::new())
    };
    assert_eq!(shown("select * from f((select 1), 2, $1) c"), of("f((select 1), 2, $1)", &["[select 1]", "2", "$1"]));
    assert_eq!(shown("from s.F( (from t) )"), of("s.F( (from t) )", &["[from t]"]));
    assert_eq!(
        shown("from f((select 1) + 1, [1, 2], g2(3, 4))"),
        of("f((select 1) + 1, [1, 2], g2(3, 4))", &["(select 1) + 1", "[1, 2]", "g2(3, 4)"])
    );
    assert_eq!(shown("from f(((values (1))))"), of("f(((values (1))))", &["[(values (1))]"]));
    assert_eq!(shown("from f()"), of("f()", &[]));
}

#[test]
fn the_innermost_call_is_the_first() {
    assert_eq!(shown("select * from f((select * from g((select 1))))").0, "g((select 1))");
    assert_eq!(shown("with a as (from g((select 1))) from f((from a))").0, "g((select 1))");
    assert_eq!(shown("from f((select 1)), g((select 2))").0, "f((select 1))");
}

#[test]
fn a_call_sees_the_with_clauses_around_it() {
    let scopes = |sql: &str| shown(sql).2;
    assert_eq!(
        scopes("with a as (select 1), b(x) as materialized (select 2) from f((from a))"),
        ["with a as (select 1), b(x) as materialized (select 2)"]
    );
    assert_eq!(scopes("with a as (select 1), b as (from f((from a))) from b"), ["with a as (select 1)"]);
    assert_eq!(scopes("with b as (from f((from a))) from b"), Vec::<&str>::new());
    assert_eq!(
        scopes("with a as (select 1) select (with b as (select 2) select i from f((from b)))"),
        ["with a as (select 1)", "with b as (select 2)"]
    );
    assert_eq!(scopes("insert into t with a as (select 1) select * from f((from a))"), ["with a as (select 1)"]);
    assert_eq!(scopes("select * from (with a as (select 1) from a), f((from t))"), Vec::<&str>::new());
}

#[test]
fn a_table_may_have_the_name_of_a_function() {
    for sql in [
        "create table f(i int)",
        "create or replace temp table main.f(i int default 1)",
        "create table if not exists f (i int)",
        "create view f(i) as select 1",
        "create unique index x on f(i)",
        "create table h (i int references f(i))",
        "insert into f(i) values (1)",
        "insert or replace into main.f (i) select 1",
        "copy f(i) from stdin",
        "select f.i from t f(i)",
        "select f.i from t as f(i), u",
        "select f.i from (values (1)) f(i) where true",
        "from range(3) f(i) join t as g(j) on i = j",
        "from 'file.parquet' f(i)",
        "with f(i) as (select 1), g(i) as (select 2) select * from f, g",
    ] {
        assert_eq!(call(sql), None, "{sql}");
    }
    // Those are calls.
    for sql in [
        "create index x on t(f(i))",
        "create table h as from f((select 1))",
        "create view v as select * from t join u on f(i)",
        "insert into f(i) select * from f((select 1))",
        "from t f(i), g((select 1))",
        "select 1 where exists (select f(i))",
    ] {
        assert!(call(sql).is_some(), "{sql}");
    }
}

#[test]
fn recursion_is_seen() {
    let is_recursive = |sql: &str| call(sql).unwrap().is_recursive;
    assert!(is_recursive("with recursive a as (select 1 union all select * from f((from a))) from a"));
    assert!(!is_recursive("with recursive a as (select 1) from f((from a))"));
    assert!(!is_recursive("with a as (select 1) from f((from a))"));
}

#[test]
fn a_call_stands_in_from() {
    for (sql, expected) in [
        ("select * from f(1)", true),
        ("select * from t, f(1)", true),
        ("select * from t join u on t.a = u.a, f(1)", true),
        ("select * from t left join lateral f(1) on true", true),
        ("select * from (t cross join f(1))", true),
        ("select * from (f(1) x join t using (a))", true),
        ("delete from t using f(1)", true),
        ("merge into t using f(1) as s on t.i = s.i when matched then delete", true),
        ("select * from x : f(1)", true),
        ("select i from t where exists (from f(1))", true),
        ("select f(1)", false),
        ("select 1 where f(1)", false),
        ("select * from t where i in (f(1))", false),
        ("select * from t where i is distinct from f(1)", false),
        ("select * from t join u on f(1)", false),
        ("select * from t order by a, f(1)", false),
        ("select sum(f(1)) from t", false),
        ("select * from unnest(f(1))", false),
    ] {
        assert_eq!(call(sql).unwrap().is_in_from, expected, "{sql}");
    }
}

#[test]
fn a_name_behind_the_call_is_an_alias() {
    for (sql, expected) in [
        ("from f(1) c", true),
        ("from f(1) as c(i)", true),
        ("from f(1) \"where\"", true),
        ("from c : f(1)", true),
        ("from f(1)", false),
        ("from f(1) where true", false),
        ("from f(1) JOIN t using (i)", false),
        ("(from f(1))", false),
        ("from f(1), t", false),
    ] {
        assert_eq!(call(sql).unwrap().has_alias, expected, "{sql}");
    }
}

#[test]
fn what_is_no_call_is_none() {
    for sql in ["select 'f(1)'", "select f", "from \"F\"(1)", "select 1 -- f(1)", "from f(1", "f)", "select h(1)"] {
        assert_eq!(call(sql), None, "{sql}");
    }
}

#[test]
fn a_block_in_parentheses_that_do_not_close() {
    let sql = "f((f((select f()f(";
    let found = table_call(sql, Dialect::WITH_PYTHON, |_, _, start| start == 13).unwrap();
    let block = crate::functions::block::select_block(sql, Dialect::WITH_PYTHON, &found.place);
    assert!(block.is_none_or(|block| sql.get(block.rest).is_some()));
}

proptest::proptest! {
    #[test]
    fn arbitrary_statements_never_panic(sql in r#"(f\(|g\(|select |from |with |recursive |as |, |\(|\)|\[|\]|on |union |order |"|'|\$1|x |;){0,40}"#) {
        let mut starts = Vec::new();
        while let Some(found) = table_call(&sql, Dialect::WITH_PYTHON, |_, name, start| name != "h" && !starts.contains(&start)) {
            proptest::prop_assert!(sql.get(found.place.clone()).is_some());
            for place in found.arguments.iter().map(|argument| &argument.place).chain(&found.scopes) {
                proptest::prop_assert!(sql.get(place.clone()).is_some());
            }
            if let Some(block) = crate::functions::block::select_block(&sql, Dialect::WITH_PYTHON, &found.place) {
                proptest::prop_assert!(sql.get(block.place.clone()).is_some() && sql.get(block.rest.clone()).is_some());
                proptest::prop_assert!(block.items.iter().all(|item| sql.get(item.place.clone()).is_some()));
                proptest::prop_assert!(block.items.iter().all(|item| sql.get(item.value.clone()).is_some()));
            }
            starts.push(found.place.start);
        }
    }
}
