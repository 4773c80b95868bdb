use super::*;

#[test]
fn drops_are_read() {
    let drop = |before, names, after| Some(Definition::Drop { before, names, after });
    for (statement, expected) in [
        ("drop type mood cascade", drop("drop type", vec!["mood"], "")),
        ("DROP SEQUENCE IF EXISTS a.b, \"C\" CASCADE;", drop("DROP SEQUENCE IF EXISTS", vec!["a.b", "\"C\""], "")),
        ("drop view a, b cascade", drop("drop view", vec!["a", "b"], "cascade")),
        (
            "drop table if exists a, b.c restrict",
            Some(Definition::DropTables {
                before: "drop table if exists",
                tables: vec!["a", "b.c"],
                after: "restrict",
            }),
        ),
        ("drop table a cascade", None),
        ("drop type mood", None),
        ("drop table a b", None),
        ("drop table", None),
        ("drop schema a, b cascade", None),
        ("select 1", None),
    ] {
        assert_eq!(read(statement), expected, "{statement}");
    }
}

#[test]
fn indexes_without_a_name_are_read() {
    let index = |is_unique, table, columns: &[&str], rest| {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Some(Definition::Index { is_unique, table, columns, rest })
    };
    for (statement, expected) in [
        ("create index on t (a)", index(false, "t", &["a"], "(a)")),
        (
            "CREATE UNIQUE INDEX CONCURRENTLY ON ONLY s.\"T\" USING btree (A DESC, \"B\", lower(c), (d + 1), a x_ops);",
            index(
                true,
                "s.\"T\"",
                &["a", "B", "lower", "expr", "a1"],
                "USING btree (A DESC, \"B\", lower(c), (d + 1), a x_ops)",
            ),
        ),
        ("create index i on t (a)", None),
        ("create index concurrently i on t (a)", None),
        ("create table t (a int)", None),
        ("create index on t", None),
    ] {
        assert_eq!(read(statement), expected, "{statement}");
    }
}

#[test]
fn commands_of_alter_table_are_read() {
    let Some(Definition::Alter { before, table, commands }) = read(
        "ALTER TABLE IF EXISTS ONLY s.t ADD COLUMN a numeric(9, 2) DEFAULT f(1, 2), ADD CONSTRAINT Uq UNIQUE (b, \"C\"), \
         DROP CONSTRAINT IF EXISTS x CASCADE, ADD COLUMN IF NOT EXISTS D int NOT NULL DEFAULT 1, ALTER b SET DATA TYPE varchar(31), ALTER COLUMN c TYPE int USING c::int",
    ) else {
        panic!("not read");
    };
    assert_eq!((before, table), ("ALTER TABLE IF EXISTS", "s.t"));
    let expected = [
        CommandKind::Other(None),
        CommandKind::AddUnique {
            name: Some("uq".to_owned()),
            columns: "(b, \"C\")",
            folded: vec!["b".to_owned(), "C".to_owned()],
        },
        CommandKind::DropConstraint { if_exists: true, name: "x".to_owned() },
        CommandKind::AddColumn { column: "d".to_owned(), rest: "D int NOT NULL DEFAULT 1" },
        CommandKind::Type { column: "b".to_owned(), type_: "varchar(31)" },
        CommandKind::Other(Some(Effect::default())),
    ];
    assert_eq!(commands[0].text, "ADD COLUMN a numeric(9, 2) DEFAULT f(1, 2)");
    assert_eq!(commands.into_iter().map(|command| command.kind).collect::<Vec<_>>(), expected);
    for other in
        ["alter table t add column a int", "alter table t", "alter table t add,", "alter view v rename to w", "alter"]
    {
        assert_eq!(read(other), None, "{other}");
    }
}

#[test]
fn quotes_and_points_within_a_name_belong_to_it() {
    for (table, expected) in [("T", "t"), ("a.b", "b"), ("\"A.B\"", "A.B"), ("s.\"a\"\"b\"", "a\"b")] {
        assert_eq!(without_schema(table), expected);
    }
}

#[test]
fn types_of_ranges_are_refused() {
    for statement in ["create type r as range (subtype = float8)", "CREATE TYPE s.\"As\" AS RANGE(subtype=int)"] {
        assert!(matches!(read(statement), Some(Definition::Refused { .. })), "{statement}");
    }
    for statement in ["create type r as (range integer)", "create type r as range"] {
        assert_eq!(read(statement), None, "{statement}");
    }
}
