use proptest::prelude::*;

use super::*;

fn kind(sql: &str) -> StatementKind {
    Statement::of(sql, Dialect::DuckDb).kind
}

fn cursor(sql: &str) -> CursorStatement {
    match kind(sql) {
        StatementKind::Cursor(Ok(cursor)) => cursor,
        other => panic!("{sql}: {other:?}"),
    }
}

fn table(sql: &str) -> Option<CreateTable> {
    match kind(sql) {
        StatementKind::CreateTable(table) => Some(table),
        _ => None,
    }
}

#[test]
fn a_statement_is_known_by_its_first_words() {
    use StatementKind::*;
    let other = |word: &str| Other(word.to_owned());
    let define = |verb: &str, object: &str, has_query| Define { verb: verb.into(), object: object.into(), has_query };
    for (sql, expected) in [
        ("/* x */ select 'begin'", Query { has_with: false }),
        ("(select 1)", Query { has_with: false }),
        ("from t", Query { has_with: false }),
        ("insert into t values (1)", Insert),
        ("MERGE into t", Merge),
        ("begin", Begin(Modes::default())),
        ("end", Commit { chains: false }),
        ("commit work and chain", Commit { chains: true }),
        ("commit and no chain", Commit { chains: false }),
        ("/* x */ rollback work", Rollback { chains: false }),
        ("rollback and chain", Rollback { chains: true }),
        ("abort and /* no */ chain", Rollback { chains: true }),
        ("rollback work to savepoint X", Savepoint(self::Savepoint::RollBackTo("x".to_owned()))),
        ("savepoint \"A b\"", Savepoint(self::Savepoint::Set("A b".to_owned()))),
        ("release savepoint x", Savepoint(self::Savepoint::Release("x".to_owned()))),
        ("start", other("START")),
        ("deallocate all", Deallocate(None)),
        ("DEALLOCATE PREPARE \"Mine\"", Deallocate(Some("Mine".to_owned()))),
        ("discard all", Discard("ALL".to_owned())),
        ("listen A", Notification(Ok(NotificationStatement::Listen("a".to_owned())))),
        ("unlisten *", Notification(Ok(NotificationStatement::Unlisten(None)))),
        ("unlisten \"B c\"", Notification(Ok(NotificationStatement::Unlisten(Some("B c".to_owned()))))),
        ("explain select analyze", Explain { runs: false }),
        ("explain verbose analyze select 1", Explain { runs: true }),
        ("explain (format json, analyze) select 1", Explain { runs: true }),
        ("create or replace temp view v as select 1", define("CREATE", "VIEW", true)),
        ("create table t as select 1 as serial", define("CREATE", "TABLE", true)),
        ("drop table t", define("DROP", "TABLE", false)),
        ("create unlogged table t as select 1", define("CREATE", "TABLE", true)),
        ("drop materialized view v", define("DROP", "MATERIALIZED VIEW", false)),
        ("prepare p as select 1", Prepare),
        ("prepare transaction as select 1", Prepare),
        ("prepare transaction 'x'", other("PREPARE")),
        ("commit prepared 'x'", other("COMMIT")),
        ("rollback /**/ prepared 'x'", other("ROLLBACK")),
        ("use x", other("USE")),
        ("$1", other("")),
        ("", other("")),
    ] {
        assert_eq!(kind(sql), expected, "{sql}");
    }
}

#[test]
fn with_belongs_to_what_follows_its_queries() {
    let query = StatementKind::Query { has_with: true };
    for (sql, expected) in [
        ("with a as (select 1) from a", query.clone()),
        (
            "with recursive a(i, j) as not materialized (select ')'), \"b\" as (select (2)) insert into t",
            StatementKind::Insert,
        ),
        ("with insert as (select 1) select * from insert", query.clone()),
        ("with a as (delete from t returning i) update u set i = 1", StatementKind::Update),
        ("with recursive a(i) using key (i) as (select 1) delete from t", StatementKind::Delete),
        ("with a as (select 1) merge into t", StatementKind::Merge),
        ("with recursive as (select 1) delete from t", StatementKind::Delete),
        ("with recursive (i) as (select 1) delete from t", StatementKind::Delete),
        ("with a as (select 1", query.clone()),
        ("with", query),
    ] {
        assert_eq!(kind(sql), expected, "{sql}");
    }
}

#[test]
fn cursors_are_read_as_drivers_write_them() {
    for (sql, name, is_held, query) in [
        ("DECLARE c1 CURSOR FOR\nSELECT 1", "c1", false, "SELECT 1"),
        ("declare \"My c\" no scroll cursor with hold for (values (1))", "My c", true, "(values (1))"),
        (
            "declare c insensitive cursor without hold for with x as (select 1) from x",
            "c",
            false,
            "with x as (select 1) from x",
        ),
    ] {
        let CursorStatement::Declare { name: found, is_scroll, is_binary, is_held: held, query: place } = cursor(sql)
        else {
            panic!("{sql}")
        };
        assert_eq!((&*found, is_scroll, is_binary, held, &sql[place]), (name, false, false, is_held, query));
    }
    assert!(matches!(
        cursor("declare c binary scroll cursor for select 1"),
        CursorStatement::Declare { is_scroll: true, is_binary: true, .. }
    ));
    for (sql, name, expected) in [
        ("FETCH 100 FROM c1", "c1", FetchDirection::Rows(100)),
        ("fetch forward 7 in \"C\"", "C", FetchDirection::Rows(7)),
        ("fetch forward all from c", "c", FetchDirection::All),
        ("fetch all from c", "c", FetchDirection::All),
        ("fetch from c", "c", FetchDirection::Rows(1)),
        ("fetch c", "c", FetchDirection::Rows(1)),
        ("fetch next", "next", FetchDirection::Rows(1)),
        ("fetch -1 from c", "c", FetchDirection::Rows(-1)),
        ("fetch 0 from c", "c", FetchDirection::Rows(0)),
        ("fetch prior from c", "c", FetchDirection::Rows(-1)),
        ("fetch last from c", "c", FetchDirection::Absolute(-1)),
        ("fetch absolute 7 c", "c", FetchDirection::Absolute(7)),
        ("fetch backward c", "c", FetchDirection::Rows(-1)),
        ("fetch backward -2 in c", "c", FetchDirection::Rows(2)),
        ("fetch relative -2 c", "c", FetchDirection::Relative(-2)),
        ("fetch backward all in c", "c", FetchDirection::BackwardAll),
    ] {
        assert_eq!(
            cursor(sql),
            CursorStatement::Fetch { name: name.to_owned(), direction: expected, is_move: false },
            "{sql}"
        );
    }
    assert!(matches!(cursor("move 2 in c"), CursorStatement::Fetch { is_move: true, .. }));
    assert_eq!(
        (cursor("close all"), cursor("CLOSE C")),
        (CursorStatement::Close(None), CursorStatement::Close(Some("c".to_owned())))
    );
    for (sql, position) in [
        ("declare c cursor for insert into t values (1)", 21),
        ("declare é cursor", 16),
        ("fetch 1 from", 12),
        ("fetch 1.5 from c", 10),
        ("close a b", 8),
    ] {
        let StatementKind::Cursor(Err(error)) = kind(sql) else { panic!("{sql}") };
        assert_eq!(error.position, position, "{sql}: {error}");
    }
}

#[test]
fn a_table_has_columns_that_number_their_rows() {
    let sql = "create table s.\"T\" (Id serial primary key, b integer default f(1, 2), \"C\" BigSerial)";
    let found = table(sql).unwrap();
    assert_eq!((&found.schema[..], &*found.name), (&["s".to_owned()][..], "T"));
    let columns: Vec<_> = found.numbered.iter().map(|column| (&*column.name, &sql[column.place.clone()])).collect();
    assert_eq!(columns, [("Id", "serial"), ("C", "BigSerial")]);
    assert_eq!(found.numbered[1].numbering, Numbering::Serial(8));
    let sql = "CREATE TEMP TABLE IF NOT EXISTS t (i INT GENERATED BY DEFAULT AS IDENTITY (START WITH -5) UNIQUE)";
    let found = table(sql).unwrap();
    assert!(found.is_temporary && found.if_not_exists);
    assert_eq!(&sql[found.numbered[0].place.clone()], "GENERATED BY DEFAULT AS IDENTITY (START WITH -5)");
    let options = ["START", "WITH", "-", "5"].map(ToOwned::to_owned).to_vec();
    assert_eq!(found.numbered[0].numbering, Numbering::ByDefault(options));
    let always = table("create table t (i int generated always as identity)").unwrap();
    assert_eq!(always.numbered[0].numbering, Numbering::Always);
    for sql in [
        "create table t (i integer, serial integer)",
        "create table t (\"i\" \"serial\")",
        "create table t (i integer generated always as (j + 1), j integer)",
        "create table t (i s.serial)",
        "create table t (",
    ] {
        assert_eq!(table(sql).unwrap().numbered, [], "{sql}");
    }
    for sql in ["create view serial as select 1", "create table", "create table if t (i serial)", "select serial"] {
        assert_eq!(table(sql), None, "{sql}");
    }
}

#[test]
fn copy_has_a_source_and_options() {
    let to_stdout = |sql: &str, dialect| match Statement::of(sql, dialect).kind {
        StatementKind::Copy(Ok(CopyStatement::ToStdout(source, options))) => (source, options),
        other => panic!("{sql}: {other:?}"),
    };
    let sql = "copy (select ')', \"a)\" from t /* ) */) to stdout";
    let (CopySource::Query(query), options) = to_stdout(sql, Dialect::DuckDb) else { panic!("{sql}") };
    assert_eq!((&sql[query], options), ("select ')', \"a)\" from t /* ) */", Vec::new()));
    let sql = "COPY s.\"T\" (a, \"B\") TO STDOUT (FORMAT csv)";
    let (CopySource::Table { table, columns }, options) = to_stdout(sql, Dialect::DuckDb) else { panic!("{sql}") };
    assert_eq!((&sql[table], &sql[columns.unwrap()], options.len()), ("s.\"T\"", "a, \"B\"", 1));
    let new = "COPY t TO STDOUT WITH (FORMAT 'csv', HEADER, DELIMITER ';', FORCE_QUOTE (a, \"B\"))";
    let old = "COPY t TO STDOUT WITH CSV HEADER DELIMITER AS ';' FORCE QUOTE a, \"B\"";
    assert_eq!(to_stdout(new, Dialect::DuckDb), to_stdout(old, Dialect::DuckDb));
    for (query, rest) in [
        (r"select '') to stdout (format csv)'", " to stdout"),
        ("select `)`", " TO STDOUT (FORMAT colonnade, chunk_rows 5)"),
        ("select 1", " to stdout (format csv, null ') to stdout', force_quote (a, b))"),
    ] {
        let sql = format!("copy ({query}){rest}");
        let (CopySource::Query(place), _) = to_stdout(&sql, Dialect::Unknown) else { panic!("{sql}") };
        assert_eq!(&sql[place], query);
    }
    for sql in
        ["copy t to 'x.csv'", "copy (select 1) to 'x' (format parquet)", "copy t from 'x'", "COPY FROM DATABASE a TO b"]
    {
        assert_eq!(kind(sql), StatementKind::Copy(Ok(CopyStatement::Other)), "{sql}");
    }
    let sql = "copy a.\"B\" (x, y) from stdin with csv header";
    let StatementKind::Copy(Ok(CopyStatement::FromStdin { table, columns, options })) = kind(sql) else {
        panic!("{sql}")
    };
    assert_eq!((&sql[table], &sql[columns.unwrap()], options.unwrap().len()), ("a.\"B\"", "x, y", 2));
    for (sql, position) in [
        ("copy (select 1 to stdout", 24),
        ("copy t to stdout (format csv", 28),
        ("copy t to stdout (format csv) x", 30),
        ("copy t to stdout wit csv", 17),
        ("copy 1 to stdout", 5),
        ("copy t from stdin csv force a", 28),
    ] {
        let StatementKind::Copy(Err(error)) = kind(sql) else { panic!("{sql}") };
        assert_eq!(error.position, position, "{sql}: {error}");
    }
}

proptest! {
    /// Every place is one of the statement's own.
    #[test]
    fn any_statement_is_read(
        verb in "(copy|copy \\(|copy t (to stdout|from stdin)|declare|fetch|create table|create table t \\(|with|set|show|explain|rollback)",
        rest in "(cursor|for|from|to|with|as|hold|select|all|csv|null|serial|generated|by default|identity|temp|if not exists|\
                 stdout| |a|\"b|'c|\\.|\\(|\\)|,|;|-|1|é|=){0,16}"
    ) {
        let sql = format!("{verb} {rest}");
        for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Sqlite, Dialect::MYSQL, Dialect::Unknown] {
            match Statement::of(&sql, dialect).kind {
                StatementKind::Copy(Ok(CopyStatement::ToStdout(CopySource::Query(place), _)))
                | StatementKind::Cursor(Ok(CursorStatement::Declare { query: place, .. })) => {
                    prop_assert!(sql.get(place).is_some());
                }
                StatementKind::Copy(Ok(
                    CopyStatement::ToStdout(CopySource::Table { table, columns }, _) | CopyStatement::FromStdin { table, columns, .. },
                )) => prop_assert!(sql.get(table).is_some() && columns.is_none_or(|place| sql.get(place).is_some())),
                StatementKind::CreateTable(table) => {
                    let mut end = 0;
                    for column in table.numbered {
                        prop_assert!(column.place.start >= end && sql.get(column.place.clone()).is_some());
                        end = column.place.end;
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn spools_are_read_by_tokens() {
    let literal = |text: &str| Argument::Literal(text.to_owned());
    let spool = |query, options: &[(&str, Argument)]| {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        StatementKind::Spool(Ok(SpoolStatement::Spool { query, options }))
    };
    for dialect in [Dialect::DuckDb, Dialect::POSTGRES] {
        let kind = |sql: &str| Statement::of(sql, dialect).kind;
        for sql in [
            "SELECT * FROM colonnade_spool('select 1')",
            "select/**/*\nfrom \"colonnade_spool\" ( $$select 1$$ )",
            "From Colonnade_Spool(E'select 1') -- x",
        ] {
            assert_eq!(kind(sql), spool(literal("select 1"), &[]), "{sql}");
        }
        assert_eq!(
            kind("select * from colonnade_spool($1, bytes => 10, \"TTL\" := $2)"),
            spool(Argument::Parameter(1), &[("bytes", literal("10")), ("TTL", Argument::Parameter(2))])
        );
        let released = SpoolStatement::Release { ticket: literal("a") };
        assert_eq!(kind("select * from colonnade_release('a')"), StatementKind::Spool(Ok(released)));
        for sql in [
            "select * from \"Colonnade_spool\"('a')",
            "select * from colonnade_spool",
            "select 'select * from colonnade_spool(1)'",
            "select a from colonnade_spool('a')",
            "select * from s.colonnade_spool('a')",
        ] {
            assert_eq!(kind(sql), StatementKind::Query { has_with: false }, "{sql}");
        }
        for sql in [
            "select * from colonnade_spool()",
            "select * from colonnade_spool('a', 3)",
            "select * from colonnade_spool('a', bytes 3)",
            "select * from colonnade_spool('a') where ticket = 'b'",
            "select * from colonnade_spool(a)",
            "select * from colonnade_spool($0)",
            "select * from colonnade_spool('a' 'b')",
            "select * from colonnade_spool('a",
            "select * from colonnade_release('a', 1)",
            "from colonnade_release('a'), t",
        ] {
            assert!(matches!(kind(sql), StatementKind::Spool(Err(_))), "{sql}");
        }
    }
}

#[test]
fn parts_are_told_from_tables() {
    for dialect in [Dialect::DuckDb, Dialect::POSTGRES] {
        let source = |sql: &str| match Statement::of(sql, dialect).kind {
            StatementKind::Copy(Ok(CopyStatement::ToStdout(source, _))) => source,
            other => panic!("{sql}: {other:?}"),
        };
        let part = |ticket, part| CopySource::Part(PartSource { ticket, part, options: Vec::new() });
        let literal = |text: &str| Argument::Literal(text.to_owned());
        let copied = source("COPY colonnade_part('ab', 2) TO STDOUT (FORMAT colonnade)");
        assert_eq!(copied, part(literal("ab"), literal("2")));
        let copied = source("copy /* x */ \"colonnade_part\" ($1 , $2) to stdout");
        assert_eq!(copied, part(Argument::Parameter(1), Argument::Parameter(2)));
        let copied = source("copy colonnade_part('ab', 2, LAST => $3, columns := '1,2') to stdout");
        let options = vec![("last".to_owned(), Argument::Parameter(3)), ("columns".to_owned(), literal("1,2"))];
        let chosen = PartSource { ticket: literal("ab"), part: literal("2"), options };
        assert_eq!(chosen.placeholders(), 3);
        assert_eq!(copied, CopySource::Part(chosen));
        for sql in ["copy colonnade_part (a, b) to stdout", "copy colonnade_part to stdout"] {
            assert!(matches!(source(sql), CopySource::Table { .. }), "{sql}");
        }
        for sql in [
            "copy colonnade_part('a') to stdout",
            "copy colonnade_part('a', b) to stdout",
            "copy colonnade_part('a', 1, 2) to stdout",
        ] {
            assert!(matches!(Statement::of(sql, dialect).kind, StatementKind::Copy(Err(_))), "{sql}");
        }
    }
}

#[test]
fn explain_inputs_is_read_in_the_dialect_with_functions() {
    let read = |sql: &str| match Statement::of(sql, Dialect::WITH_PYTHON).kind {
        StatementKind::ExplainInputs(Ok(inputs)) => {
            let name = format!("{:?}.{}", inputs.function.name.schema, inputs.function.name.name);
            let sample = inputs.sample.map(|sample| (sample.count, sample.by_groups));
            (name, inputs.function.types, inputs.call, sample, inputs.seed, sql[inputs.query].to_owned())
        }
        other => panic!("{sql}: {other:?}"),
    };
    let query = "SELECT f(x) FROM t".to_owned();
    assert_eq!(read("EXPLAIN (INPUTS f) SELECT f(x) FROM t"), ("None.f".to_owned(), None, 1, None, None, query));
    assert_eq!(
        read(
            "explain(inputs/**/S.\"F\"(numeric (4, 1), text) , seed 7,sample 20 groups, call 2)\n(with a as (select 1) from a)"
        ),
        (
            "Some(\"s\").F".to_owned(),
            Some(vec!["numeric ( 4 , 1 )".to_owned(), "text".to_owned()]),
            2,
            Some((20, true)),
            Some(7),
            "(with a as (select 1) from a)".to_owned()
        )
    );
    for sql in [
        "EXPLAIN (INPUTS)",
        "EXPLAIN (INPUTS f",
        "EXPLAIN (INPUTS f) ",
        "EXPLAIN (INPUTS f, SAMPLE -1) SELECT 1",
        "EXPLAIN (INPUTS f, SAMPLE 1.5) SELECT 1",
        "EXPLAIN (INPUTS f, SAMPLE 99999999999) SELECT 1",
        "EXPLAIN (INPUTS f, SEED 1) SELECT 1",
        "EXPLAIN (INPUTS f, CALL 1, CALL 2) SELECT 1",
        "EXPLAIN (INPUTS f g) SELECT 1",
    ] {
        let kind = Statement::of(sql, Dialect::WITH_PYTHON).kind;
        assert!(matches!(kind, StatementKind::ExplainInputs(Err(_))), "{sql}: {kind:?}");
    }
    for sql in ["EXPLAIN SELECT 1", "EXPLAIN (ANALYZE) SELECT 1", "EXPLAIN (SELECT inputs FROM t)"] {
        assert!(matches!(Statement::of(sql, Dialect::WITH_PYTHON).kind, StatementKind::Explain { .. }), "{sql}");
    }
    let other = Statement::of("EXPLAIN (INPUTS f) SELECT 1", Dialect::POSTGRES).kind;
    assert_eq!(other, StatementKind::Explain { runs: false });
}
