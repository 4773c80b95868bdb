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
    assert_eq!(many("select 1", ", 1").as_deref(), None);
    assert_eq!(many("insert into t values (1)", ", (1)").as_deref(), None);
    assert_eq!(many("from (values (1)", ", (1)").as_deref(), None);
    assert_eq!(many("select a is distinct from b", ", 1").as_deref(), None);
    assert_eq!(many("from a", " group by grouping sets ((i)").as_deref(), Some("54001"));
    assert_eq!(code(&"x".repeat(2 << 20), READER).as_deref(), Some("54000"));
}
