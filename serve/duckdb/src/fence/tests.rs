use super::*;

const WRITER: Rights = Rights { writes: true, files: false };
const READER: Rights = Rights { writes: false, files: false };

fn fence() -> Fence {
    let catalog = ["read_text", "checkpoint", "abs", "brand_new", "="];
    Fence::new(catalog.map(str::to_owned), 1 << 20).unwrap()
}

fn code(sql: &str, rights: Rights) -> Option<String> {
    fence().check(sql, rights).err().map(|refusal| refusal.code().as_str().to_owned())
}

#[test]
fn calls_are_found_in_every_notation() {
    for call in [
        "read_text('x')",
        "READ_text /* ( */ -- (\n ('x')",
        "\"Read_Text\"('x')",
        "`read_text`\u{a0}('x')",
        "system.main.\"read_text\"('x')",
        "'x'.read_text()",
        "brand_new()",
        "\"=\"(1, 2)",
        "operator(+)(1, 2)",
    ] {
        assert_eq!(code(&format!("select {call}"), WRITER).as_deref(), Some("42501"), "{call}");
    }
    for harmless in ["select read_text from t", "select 'read_text(1)'", "select mine(1)", "select abs(1) = (2)"] {
        assert_eq!(code(harmless, READER), None, "{harmless}");
    }
}

#[test]
fn permissions_depend_on_the_role_and_on_files() {
    let with_files = Rights { writes: true, files: true };
    let check = |sql: &str, rights| fence().check(sql, rights).is_ok();
    assert!(check("from checkpoint()", WRITER) && !check("from checkpoint()", READER));
    assert!(check("from read_text('x')", with_files) && !check("from read_text('x')", WRITER));
    assert!(check("copy t to 'x'", with_files) && !check("copy t to 'x'", WRITER));
    assert!(!check("copy t to 'x'", Rights { writes: false, files: true }));
    assert!(check("checkpoint", WRITER) && !check("checkpoint", READER));
}

#[test]
fn carried_statements_are_found() {
    let carried = |sql: &str| fence().check(sql, WRITER).map(|found| found.inner.map(|(at, _)| sql[at..].to_owned()));
    assert_eq!(carried("explain analyze select 1").unwrap().as_deref(), Some("select 1"));
    assert_eq!(carried("explain (analyze, format json) (select 1)").unwrap().as_deref(), Some("(select 1)"));
    assert_eq!(carried("explain (select 1)").unwrap().as_deref(), Some("(select 1)"));
    assert_eq!(carried("prepare a as insert into t values (1)").unwrap().as_deref(), Some("insert into t values (1)"));
    for sql in [
        "explain analyze commit",
        "explain /* x */ analyze set global TimeZone = 'UTC'",
        "explain (format json) create secret s (type http)",
        "explain explain select 1",
        "prepare a as begin",
        "prepare a as explain analyze commit",
        "with a as (copy t to 'x') select 1",
        "with a as materialized (/**/ copy (select 1) to 'x') select 1",
    ] {
        assert_eq!(code(sql, WRITER).as_deref(), Some("42501"), "{sql}");
    }
}

#[test]
fn only_listed_statements_are_accepted() {
    for sql in [
        "create /**/ secret s (type http)",
        "create or replace temp secret s (type http)",
        "create trigger a after insert on t execute select 1",
        "alter database shop set alias to gone",
        "drop secret s",
        "load x",
        "force checkpoint",
        "set global TimeZone = 'UTC'",
        "set /**/ \"global\" = 1",
        "set threads = 1",
        "pragma threads = 1",
        "pragma enable_verification",
        "call /**/ truncate_duckdb_logs()",
        "from duckdb_logs",
        "nonsense",
        "\"select\" 1",
    ] {
        assert!(matches!(code(sql, WRITER).as_deref(), Some("42501" | "42704" | "42601")), "{sql}");
    }
    for sql in
        ["set timezone = 'UTC'", "set session \"TimeZone\" = 'UTC'", "set variable x = 1", "(select 1)", "from t"]
    {
        assert_eq!(code(sql, READER), None, "{sql}");
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |before: &str, core: &str, after: &str, depth: usize| {
        format!("select {}{core}{}", before.repeat(depth), after.repeat(depth))
    };
    for (before, after) in [("(", ")"), ("[", "]"), ("{'a': ", "}"), ("case when true then ", " end"), ("abs(", ")")] {
        assert_eq!(code(&nested(before, "1", after, 200), READER), None, "{before}");
        assert_eq!(code(&nested(before, "1", after, 300), READER).as_deref(), Some("54001"), "{before}");
    }
    let lambdas = |depth| nested("list_transform([1], lambda x: ", "1", ")", depth);
    assert_eq!(code(&lambdas(10), READER), None);
    assert_eq!(code(&lambdas(20), READER).as_deref(), Some("54001"));
    let beside = format!("select {}", ["f([1], lambda x: 1)"; 100].join(", "));
    assert_eq!(code(&beside, READER), None);
    let summarized = |depth: usize| format!("{}select 1{}", "from (summarize ".repeat(depth), ")".repeat(depth));
    assert_eq!(code(&summarized(10), READER), None);
    assert_eq!(code(&summarized(20), READER).as_deref(), Some("54001"));
    for clause in ["limit", "offset", "limit 1 offset", "limit case when true then 1 else", "limit 1 +"] {
        let end = if clause.contains("case") { ") end" } else { ")" };
        let limited =
            |depth: usize| format!("select 1 {}1{}", format!("{clause} (select 1 ").repeat(depth), end.repeat(depth));
        assert_eq!(code(&limited(10), READER), None, "{clause}");
        assert_eq!(code(&limited(20), READER).as_deref(), Some("54001"), "{clause}");
    }
    let mixed = format!("select 1 limit {}1{}", "(select 1 from (summarize select 1 limit ".repeat(8), "))".repeat(8));
    assert_eq!(code(&mixed, READER).as_deref(), Some("54001"));
    // Without nesting there is no limit.
    let beside = format!("select {} limit 1", vec!["(select 1 limit (1))"; 40].join(","));
    assert_eq!(code(&beside, READER), None);
    for begin in ["not ", "- ", "+", "~"] {
        assert_eq!(code(&nested(begin, "1", "", 100), READER).as_deref(), Some("54001"), "{begin}");
    }
    let many = |begin: &str, link: &str| code(&format!("{begin}{}", link.repeat(5000)), READER);
    assert_eq!(many("select 1", " union select 1").as_deref(), Some("54001"));
    assert_eq!(many("from a", ", a").as_deref(), Some("54001"));
    assert_eq!(many("from a where b in (1", ", 1").as_deref(), None);
    assert_eq!(many("insert into t values (1)", ", (1)").as_deref(), None);
    assert_eq!(many("from (values (1)", ", (1)").as_deref(), None);
    assert_eq!(many("select a from b where a is distinct from c or a in (1", ", 1").as_deref(), None);
    assert_eq!(many("from a", " group by grouping sets ((i)").as_deref(), Some("54001"));
    assert_eq!(code(&"x".repeat(2 << 20), READER).as_deref(), Some("54000"));
}

#[test]
fn lists_and_conditions_are_bounded() {
    for (begin, item, end, most) in [
        ("select 1", ", 1", "", 3000),
        ("select a is distinct from b", ", 1", "", 3000),
        ("select * from (select 1", ", 1", ")", 3000),
        ("select 1 from t group by a", ", a", "", 3000),
        ("select 1 from t group by (a", ", a", ")", 3000),
        ("select 1 from t group by grouping sets ((a", ", a", "))", 3000),
        ("select distinct on (a", ", a", ") a from t", 3000),
        ("select f(a order by a", ", a", ") from t", 3000),
        ("select f(a) over (partition by a", ", a", ") from t", 3000),
        ("select 1 as where, a.case, set, 1 values, 1 partition", ", 1", "", 2996),
        ("select 1", ", 1 as select", "", 3000),
        ("select * except (a), 1", ", 1", "", 2999),
        ("create table x as select 1", ", 1", "", 3000),
        ("select {'a': 1", ", 'b': 1", "}", 1000),
        ("select {select: 1", ", b: 1", "}", 1000),
        ("select * replace (1 as a", ", 1 as b", ") from t", 1000),
        ("select * rename (a as b", ", c as d", ") from t", 1000),
        ("select 1 from t where a = 1", " or a = 1", "", 1001),
        ("select 1 from t where (a = 1", " and a = 1", ") or (a = 1)", 1000),
    ] {
        let of = |items: usize| code(&format!("{begin}{}{end}", item.repeat(items - 1)), WRITER);
        assert_eq!(of(most), None, "{begin}");
        assert_eq!(of(most + 1).as_deref(), Some("54001"), "{begin}");
    }
    let several = |text: &str, count: usize| code(&vec![text; count].join(" union all "), READER);
    let list = format!("select {}", ["1"; 1200].join(", "));
    assert_eq!((several(&list, 6), several(&list, 7).as_deref()), (None, Some("54001")));
    let short = format!("select {} from t where a = 1 and b = 2", ["1"; 50].join(", "));
    assert_eq!(several(&short, 900), None);
    // The conditions of a query in parentheses are its own.
    let nested = |count: usize| format!("(select 1 where {})", vec!["a"; count].join(" or "));
    let beside = |count| code(&format!("select {}, {}", nested(900), nested(count)), READER);
    assert_eq!((beside(900), beside(1100).as_deref()), (None, Some("54001")));
    // Lists of values have no such limit.
    let rows = vec!["({'a': 1, 'b': [1, 2], 'c': (1, 2)}, 1)"; 5000].join(", ");
    assert_eq!(code(&format!("insert into t values {rows}"), WRITER), None);
}
