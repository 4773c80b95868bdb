#![allow(clippy::unwrap_used)]

use colonnade_sql::{Dialect, tokens};
use proptest::prelude::*;

use super::*;

fn why(sql: &str) -> String {
    check(tokens(sql, Dialect::POSTGRES)).map_or_else(|error| error.message().to_owned(), |()| String::new())
}

#[test]
fn what_depends_on_the_whole_is_refused() {
    assert!(why("select a from t order by a").contains("ORDER BY"));
    assert!(why("(select a from t order by a)").contains("ORDER BY"));
    assert!(why("((select a from t) limit 3)").contains("LIMIT"));
    assert!(why("with c as (select 1) select * from c OFFSET 2").contains("OFFSET"));
    assert!(why("select 1 fetch first row only").contains("FETCH"));
    assert!(why("table t for update").contains("lock"));
    assert!(why("select * into u from t").contains("INTO"));
    assert!(why("select 1 union select 2 order by 1").contains("ORDER BY"));
}

#[test]
fn what_does_not_is_taken() {
    for sql in [
        "select * from (select * from t order by a limit 5) s",
        "with c as (select * from t limit 5) select * from c",
        "(select 1 limit 1) union all (select 2 order by 1)",
        "select row_number() over (order by a), array_agg(b order by c) from t group by 1",
        "select a as limit, t.order, 'order by', \"order\" from t -- order by a",
        "select substring(a from 1 for 2), (array[1, 2])[1] from t /* limit 1 */",
        "values (1), (2)",
        " TABLE t ",
    ] {
        assert_eq!(why(sql), "", "{sql}");
    }
}

#[test]
fn only_one_query_is_taken() {
    for sql in
        ["insert into t values (1) returning a", "", "show all", "()", "(", "select 1) as a, (select 2", "select (1]"]
    {
        assert!(why(sql).contains("cannot be read in parts"), "{sql}");
    }
    assert!(why("select 1; select 2").contains("several"));
}

#[test]
fn what_writes_is_known() {
    assert!(reads(tokens("(select 'delete' from t order by a)", Dialect::POSTGRES)));
    for sql in
        ["with d as (delete from t returning a) select * from d", "insert into t values (1) returning a", "show all"]
    {
        assert!(!reads(tokens(sql, Dialect::POSTGRES)), "{sql}");
    }
    assert!(
        !reads(tokens("select 1 for update", Dialect::POSTGRES))
            && !reads(tokens("select 1 into t", Dialect::POSTGRES))
    );
}

#[test]
fn a_part_is_the_query_and_its_condition() {
    let cuts = ["10".to_owned(), "20".to_owned()];
    let texts = parts("select 1 -- x", "k", &cuts);
    assert_eq!(texts[0], "select * from (\nselect 1 -- x\n) as colonnade where (k < 10 or k is null)");
    assert_eq!(texts[1], "select * from (\nselect 1 -- x\n) as colonnade where k >= 10 and k < 20");
    assert_eq!(texts[2], "select * from (\nselect 1 -- x\n) as colonnade where k >= 20");
}

/// What a database makes of a condition over integers.
fn holds(condition: &str, key: Option<i64>) -> bool {
    let compared = |clause: &str| {
        let clause = clause.trim_matches(['(', ')']);
        match clause.split(' ').collect::<Vec<_>>()[..] {
            ["true"] => true,
            ["k", "is", "null"] => key.is_none(),
            ["k", "<", cut] => key.is_some_and(|key| key < cut.parse().unwrap()),
            ["k", ">=", cut] => key.is_some_and(|key| key >= cut.parse().unwrap()),
            _ => unreachable!("{clause}"),
        }
    };
    condition.split(" or ").any(|either| either.split(" and ").all(compared))
}

proptest! {
    #[test]
    fn each_key_is_in_exactly_one_range(
        cuts in prop::collection::btree_set(-20i64..20, 0..6), key in prop::option::of(-25i64..25)
    ) {
        let cuts: Vec<_> = cuts.iter().map(i64::to_string).collect();
        let ranges = ranges("k", &cuts);
        prop_assert_eq!(ranges.len(), cuts.len() + 1);
        prop_assert_eq!(ranges.iter().filter(|range| holds(range, key)).count(), 1);
    }

    #[test]
    fn no_text_is_too_odd(sql in "[(\\[\\]);a '\"/*\\-]{0,30}|(select|order|limit|as|[().]| ){0,20}") {
        let _ = check(tokens(&sql, Dialect::POSTGRES));
    }
}
