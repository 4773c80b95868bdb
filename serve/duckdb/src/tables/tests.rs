use super::*;

#[test]
fn a_text_without_the_names_is_not_read() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<HashSet<_>>();
    assert!(may_have("SELECT * FROM Minmap((SELECT 1))", &names(&["other", "minmap"])));
    assert!(!may_have("SELECT * FROM tbl", &names(&["other", "minmap"])));
    assert!(may_have("SELECT 1", &names(&["é"])) && may_have("SELECT 1", &names(&["a\"b"])));
}

#[test]
fn calls_within_a_select_come_before_its_columns() {
    let next = |sql: &str| {
        let use_of = |_: Option<&str>, name: &str, _: usize| match name {
            "f" => FunctionUse::Table,
            "c" => FunctionUse::Column,
            _ => FunctionUse::Other,
        };
        next_call(sql, use_of).map(|(call, _)| sql[call.place].to_owned()).unwrap_or_default()
    };
    assert_eq!(next("SELECT c(i) FROM f((SELECT 1)) x"), "f((SELECT 1))");
    assert_eq!(next("SELECT c(i), c(j), (SELECT max(i) FROM f(2)) FROM t"), "f(2)");
    assert_eq!(next("SELECT c(i) FROM (SELECT c(j) AS i FROM f((SELECT c(k) FROM t)))"), "c(k)");
    assert_eq!(next("SELECT c(i) FROM (SELECT c(j) AS i FROM f((SELECT 1)))"), "f((SELECT 1))");
    assert_eq!(next("SELECT c(i) FROM (SELECT c(j) AS i FROM t)"), "c(j)");
    assert_eq!(next("SELECT c(i), c(j) FROM t UNION ALL SELECT i, j FROM f(1)"), "c(i)");
}

#[test]
fn a_query_gets_the_clauses_that_it_sees() {
    let sql = "WITH a AS (SELECT $2 AS i) SELECT * FROM t, (WITH b AS (FROM a) SELECT * FROM f((FROM b), $1)) x";
    let call = table_call(sql, Dialect::DuckDb, |_, name, _| name == "f").unwrap();
    let found = inputs(sql, &call);
    let expected = "WITH a AS (SELECT $2 AS i) SELECT * FROM (WITH b AS (FROM a) SELECT * FROM (FROM b))".to_owned();
    assert_eq!(found[0], TableInput { text: expected, is_query: true, parameters: vec![2] });
    assert!(!found[1].is_query && found[1].parameters == [1, 2]);
}
