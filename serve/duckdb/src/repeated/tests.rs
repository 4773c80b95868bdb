use super::*;

fn query(statement: &str) -> Option<String> {
    let text = |text: &str| Some(text.to_owned());
    let columns = [
        vec![text("id"), text("INTEGER"), text("NO"), text("PRI"), None, None],
        vec![text("v"), text("VARCHAR"), text("YES"), None, None, None],
    ];
    match read(&Statement::of(statement, Dialect::DuckDb).kind, statement)? {
        Change::Upsert(upsert) => upsert.query(&columns),
        Change::Merge { query, .. } | Change::UpdateFrom { query, .. } => Some(query),
    }
}

const END: &str = "HAVING system.main.count(*) > 1 LIMIT 1";

#[test]
fn keys_of_values_are_compared_in_the_type_of_their_column() {
    let expected = format!(
        "SELECT 1 FROM (VALUES (CAST(2 AS INTEGER)), (CAST('2' AS INTEGER))) AS given(c0) \
         WHERE CAST(given.c0 AS INTEGER) IS NOT NULL GROUP BY CAST(given.c0 AS INTEGER) {END}"
    );
    for statement in [
        "insert into t values (2, f(1, 2)), ('2', '6') on conflict (id) do update set v = excluded.v",
        "INSERT INTO main.t AS a (\"id\", v) VALUES (2, default), ('2', [1, 2]) ON CONFLICT (ID) DO UPDATE SET v = 1 WHERE a.v = 2",
        "insert or replace into t values (2, 1), ('2', 2), (default, 1), (nextval('s'), 2) returning id",
    ] {
        assert_eq!(query(statement).as_deref(), Some(expected.as_str()), "{statement}");
    }
}

#[test]
fn keys_of_queries_are_compared() {
    let grouped = |with: &str, from: &str, name: &str| {
        Some(format!(
            "{with}SELECT 1 FROM {from} WHERE CAST(given.{name} AS INTEGER) IS NOT NULL GROUP BY CAST(given.{name} AS INTEGER) {END}"
        ))
    };
    assert_eq!(
        query(
            "with x as (select 1) insert into t (v, id) select 1, 2 from x join y on conflict on conflict (id) do update set v = 1"
        ),
        grouped("with x as (select 1) ", "(select 1, 2 from x join y on conflict) AS given(c0, c1)", "c1")
    );
    assert_eq!(
        query("insert into t by name (from s) on conflict do update set v = 1 returning *"),
        grouped("", "((from s)) AS given", "\"id\"")
    );
}

#[test]
fn statements_that_change_no_row_twice_need_no_query() {
    for statement in [
        "select 'on conflict'",
        "insert into t values (1, 2) on conflict (id) do update set v = 1",
        "insert into t values (1, 2), (1, 3) on conflict (id) do nothing",
        "insert into t values (1, 2), (1, 3)",
        "insert into t default values on conflict (id) do update set v = 1",
        "insert into t (v) values (1), (2) on conflict (id) do update set v = 1",
        "insert into conflict select * from s",
        "update t set v = 1 where id is distinct from 2 and v in (select v from s)",
        "update t set v = s.a.from",
        "merge into t using s on t.id = s.id when not matched then insert values (1, 2)",
    ] {
        assert_eq!(query(statement), None, "{statement}");
    }
}

#[test]
fn rows_of_a_merge_and_of_an_update_are_counted() {
    assert_eq!(
        query(
            "merge into main.t as a using (select 1) s on a.id = case when s.x then 1 end when not matched then insert \
             values (1, 2) when matched and s.v > 1 then do nothing when matched then delete"
        ),
        Some(format!(
            "SELECT 1 FROM main.t as a JOIN (select 1) s on a.id = case when s.x then 1 end \
             WHERE CASE WHEN (s.v > 1) THEN false WHEN (true) THEN true ELSE false END GROUP BY a.rowid {END}"
        ))
    );
    for (given, expected) in [
        ("update t set v = 1 is distinct from 2 from s where t.id = s.id", "t.rowid) FROM t, s where t.id = s.id"),
        ("update a.t \"B\" set v = 1 from s, u returning v", "\"B\".rowid) FROM a.t \"B\", s, u"),
    ] {
        let expected = format!("SELECT system.main.count(*), system.main.count(DISTINCT {expected}");
        assert_eq!(query(given), Some(expected));
    }
}

#[test]
fn a_key_that_another_session_has_added_is_no_violation() {
    let of = |clause: &str, message: &str| is_concurrent(&format!("insert into t values (1, 2) {clause}"), message);
    let named = "Constraint Error: Duplicate key \"id: 1, Part: 2\" violates primary key constraint.";
    let late =
        "TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key \"1\"";
    for clause in ["on conflict do nothing", "on conflict (part, id) do update set v = 1"] {
        assert!(of(clause, named) && of(clause, late), "{clause}");
    }
    assert!(of("on conflict (v) do nothing", late));
    for clause in ["", "on conflict (v) do nothing", "on conflict (part, v) do nothing"] {
        assert!(!of(clause, named), "{clause}");
    }
    assert!(!is_concurrent("update t set id = 1", late));
    assert!(is_concurrent("insert or replace into t values (1)", late));
}

proptest::proptest! {
    #[test]
    fn arbitrary_statements_never_panic(given in "(insert |or replace |into |on conflict |do update |merge |using |when |matched |and |then |update |set |from |distinct |returning |values |with |by name |as |case | end|[,.()t1'\"$ ]){0,24}") {
        let _ = query(&given);
        let _ = is_concurrent(&given, "uplicate key \"t: 1\"");
    }
}
