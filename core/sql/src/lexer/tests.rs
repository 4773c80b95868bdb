use proptest::prelude::*;

use super::*;

const MYSQL: Dialect = Dialect::MySql { backslashes: true };
const PLAIN_MYSQL: Dialect = Dialect::MySql { backslashes: false };
const ALL: [Dialect; 7] = [
    Dialect::DuckDb,
    Dialect::POSTGRES,
    Dialect::Postgres { backslashes: true },
    Dialect::Sqlite,
    MYSQL,
    PLAIN_MYSQL,
    Dialect::Unknown,
];

fn texts(sql: &str, dialect: Dialect) -> Vec<&str> {
    code(sql, dialect).map(|token| token.text).collect()
}

fn kinds(sql: &str, dialect: Dialect) -> Vec<TokenKind> {
    code(sql, dialect).map(|token| token.kind).collect()
}

fn placeholders(sql: &str, dialect: Dialect) -> Vec<&str> {
    code(sql, dialect).filter_map(|token| token.placeholder()).collect()
}

#[test]
fn quotes_and_comments_hide_what_is_in_them() {
    for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Unknown] {
        assert_eq!(texts("a -- b ;\rc", dialect), ["a", "c"]);
        assert_eq!(texts("a -- b ;\n/* c /* ; */ d */ e", dialect), ["a", "e"]);
        assert_eq!(
            texts("'it''s;' \"a\"\"b\" E'\\';' $$;$$ $x$ $$ $x$", dialect),
            ["'it''s;'", "\"a\"\"b\"", "E'\\';'", "$$;$$", "$x$ $$ $x$"]
        );
        assert_eq!(texts("$1+$2", dialect), ["$1", "+", "$2"]);
        assert_eq!(texts("'open ; -- ", dialect), ["'open ; -- "]);
        assert_eq!(texts("a$b$;$b$", dialect), ["a$b$", ";", "$b$"]);
    }
}

#[test]
fn postgres_has_strings_of_several_lines_and_prefixes() {
    assert_eq!(texts("E'a' -- ';'\n '\\';' ;", Dialect::POSTGRES), ["E'a' -- ';'\n '\\';'", ";"]);
    assert_eq!(texts("E'a' '\\';'", Dialect::POSTGRES), ["E'a'", "'\\'", ";", "'"]);
    assert_eq!(
        texts("u&'\\' U&\"a\" x'0' b'1' n'a'", Dialect::POSTGRES),
        ["u&'\\'", "U&\"a\"", "x'0'", "b'1'", "n", "'a'"]
    );
    assert_eq!(texts(r"'\'' ;", Dialect::Postgres { backslashes: true }), [r"'\''", ";"]);
    assert_eq!(texts(r"'\'' ;", Dialect::POSTGRES), [r"'\'' ;"]);
    assert_eq!(texts(r"'\' ;", Dialect::POSTGRES), [r"'\'", ";"]);
    assert_eq!(texts("1$a$;$a$", Dialect::POSTGRES), ["1", "$a$;$a$"]);
}

#[test]
fn duckdb_has_spaces_and_quotes_of_its_own() {
    assert_eq!(texts("\u{feff}a\u{a0}b/* /* ' */ */c -- '\rd", Dialect::DuckDb), ["a", "b", "c", "d"]);
    for quoted in ["'a''b'", "\"a\"\"b\"", "`a``b`", "e'\\''", "X'00'", "n'a'", "$$'$$", "$é$ $x$ $é$"] {
        assert_eq!(texts(&format!("{quoted}("), Dialect::DuckDb), [quoted, "("]);
    }
    assert_eq!(texts("E'a'\n'\\';", Dialect::DuckDb), ["E'a'", "'\\'", ";"]);
}

#[test]
fn sqlite_has_quotes_and_comments_of_its_own() {
    let placeholders = |sql| placeholders(sql, Dialect::Sqlite);
    assert_eq!(placeholders("`$1``$2` [$3] $4 \"$5\"\"$6\" '$7''$8'$9"), ["4", "9"]);
    assert_eq!(placeholders("/* $1 /* $2 */ $3 --$4\r$5\n$6"), ["3", "6"]);
    assert_eq!(placeholders(r"'a\' $1 e'\' $2 $a$ $3"), ["1", "2", "a", "3"]);
    assert_eq!(placeholders("[never closed $1"), Vec::<&str>::new());
    assert_eq!(kinds("a /*", Dialect::Sqlite), [TokenKind::Word, TokenKind::Symbol(b'/'), TokenKind::Symbol(b'*')]);
}

#[test]
fn mysql_has_rules_of_its_own() {
    assert_eq!(placeholders("select $1, `$2`, \"$3\" # $4\n+$name -- $5\n$6", MYSQL), ["1", "name", "6"]);
    assert_eq!(placeholders(r"'it\'s $1' 'a\\' $2 `\` $3 e'\' $4'", MYSQL), ["2", "3"]);
    assert_eq!(placeholders("1--$1 /* $2 /* */ $3 /*! $4 */ a$5 $$ $6 --", MYSQL), ["1", "3", "6"]);
    assert_eq!(placeholders(r"'\' $1 'it''s $2'", PLAIN_MYSQL), ["1"]);
    assert_eq!(first_word(" /* x */ # y\n call p()", MYSQL), "call");
    assert_eq!(first_word("(select 1)", MYSQL), "(");
    assert_eq!(texts("1st_table 1e5x 0x1g 1.from", MYSQL), ["1st_table", "1e5", "x", "0x1g", "1.", "from"]);
    assert_eq!(texts("t.1e5", MYSQL), ["t", ".", "1e5"]);
}

#[test]
fn placeholders_are_found_in_code_only() {
    let placeholders = |sql| placeholders(sql, Dialect::POSTGRES);
    assert_eq!(placeholders("select $1, $22+$name::int,($käse)"), ["1", "22", "name", "käse"]);
    assert_eq!(placeholders("'$1' \"$2\" $$ $3 $$ $t$ $4 $$ $t$ $5"), ["5"]);
    assert_eq!(placeholders("-- $1\n$2 /* $3 /* $4 */ $5 */ $6 --$7\r$8"), ["2", "6", "8"]);
    assert_eq!(placeholders(r"E'it\'s $1' 'a\' $2 e'\\' $3"), ["2", "3"]);
    assert_eq!(placeholders("'it''s $1' a$2 x'41' $3"), ["3"]);
    assert_eq!(placeholders("'never closed $1"), Vec::<&str>::new());
    assert_eq!(placeholders("$ $1 $"), ["1"]);
}

#[test]
fn numbers_end_where_they_end() {
    for (sql, dialect, expected) in [
        ("1.5e-3 .5 1_000 1.", Dialect::POSTGRES, &["1.5e-3", ".", "5", "1_000", "1."][..]),
        ("1..2.5 .1.5", Dialect::POSTGRES, &["1", ".", ".", "2.5", ".", "1", ".", "5"]),
        ("0x1F 0b11 0o17 0x", Dialect::POSTGRES, &["0x1F", "0b11", "0o17", "0", "x"]),
        ("1..2 1.5.6 1__0", Dialect::DuckDb, &["1..2", "1.5.6", "1", "__0"]),
        ("1e5x 1ee5", Dialect::DuckDb, &["1e5", "x", "1", "ee5"]),
        ("1.from 1$a", Dialect::Sqlite, &["1.from", "1$a"]),
    ] {
        assert_eq!(texts(sql, dialect), expected, "{sql}");
    }
}

#[test]
fn what_is_not_closed_or_ambiguous_has_a_fault() {
    let fault = |sql, dialect| tokens(sql, dialect).find_map(|token| token.fault);
    for sql in ["'a", "\"a", "`a", "e'\\'", "$$a", "/* /* */"] {
        assert_eq!(fault(sql, Dialect::DuckDb), Some(TokenFault::Unclosed), "{sql}");
    }
    for sql in ["1e5x", "1ee5", "1e5e5", "0x1f", "1$a$x$a$", "$1a", "$1.5", "1..2", "$e'a'"] {
        assert_eq!(fault(sql, Dialect::DuckDb), Some(TokenFault::Junk), "{sql}");
    }
    assert_eq!(fault("a\u{0}b", Dialect::DuckDb), Some(TokenFault::Control));
    assert_eq!(fault("/*! a */", MYSQL), Some(TokenFault::Conditional));
    assert_eq!(fault("/*M! a", MYSQL), Some(TokenFault::Unclosed));
    assert_eq!(fault("/* a", Dialect::Sqlite), None);
    assert_eq!(fault("[a", Dialect::Sqlite), Some(TokenFault::Unclosed));
    assert_eq!(fault("select 'a', 1.5 -- b", Dialect::POSTGRES), None);
}

#[test]
fn escape_strings_are_found_where_they_are_none() {
    for dialect in [MYSQL, PLAIN_MYSQL, Dialect::Sqlite] {
        for sql in ["select E'a'", "where s = e'\\\\'' or 1", "(1,E'')"] {
            assert!(has_escape_string(sql, dialect), "{sql}");
        }
        for sql in ["select 'E' ''", "select E 'a'", "select name'a'", "-- E'a'", "\"E\"'a'", "select '\\\\E'"] {
            assert!(!has_escape_string(sql, dialect), "{sql}");
        }
    }
    assert!(!has_escape_string("select E'a'", Dialect::POSTGRES));
}

#[test]
fn names_and_strings_have_values() {
    let names: Vec<_> = code("Ab \"A\"\"b\" [c]", Dialect::Sqlite).map(|token| token.name().unwrap()).collect();
    assert_eq!(names, ["Ab", "A\"b", "c"]);
    let value = |sql| code(sql, Dialect::DuckDb).next().unwrap().string(Dialect::DuckDb);
    assert_eq!(value("'it''s'").as_deref(), Some("it's"));
    assert_eq!(value("'open"), None);
    assert_eq!(value("word"), None);
}

/// It took a time that grew with the square of its length once: 20 minutes.
#[test]
fn a_long_text_takes_no_longer_than_its_length_says() {
    assert_eq!(tokens(&".".repeat(2_000_000), Dialect::DuckDb).count(), 2_000_000);
}

proptest! {
    #[test]
    fn the_tokens_are_the_text(sql in "[-a$1'\"`#\\\\/*;eExuU&.\\[\\]\n\u{b}\u{a0}\u{feff} é]{0,40}") {
        for dialect in ALL {
            let mut end = 0;
            for token in tokens(&sql, dialect) {
                prop_assert_eq!(token.start, end);
                prop_assert!(!token.text.is_empty());
                prop_assert_eq!(&sql[token.range()], token.text);
                end = token.end();
                let _ = (token.name(), token.string(dialect), token.placeholder());
            }
            prop_assert_eq!(end, sql.len());
        }
    }

    /// What stands behind a token that is closed and blank does not depend on what stood before.
    #[test]
    fn a_text_is_cut_alike_behind_white_space(before in "[-a1'\"$;e\\\\/*.]{0,12}", after in "[-a1'\"$;e\\\\/*.]{0,12}") {
        for dialect in ALL {
            let whole = format!("{before}\n;\n{after}");
            let border = before.len() + 3;
            let mut rest = tokens(&whole, dialect).skip_while(|token| token.end() <= border).peekable();
            if rest.peek().is_some_and(|token| token.start == border) {
                let alone: Vec<_> = tokens(&after, dialect).map(|token| (token.kind, token.text)).collect();
                prop_assert_eq!(rest.map(|token| (token.kind, token.text)).collect::<Vec<_>>(), alone);
            }
        }
    }
}
