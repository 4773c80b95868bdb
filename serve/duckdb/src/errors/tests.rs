use super::*;

#[test]
fn too_deep_values_are_too_complex() {
    for text in [
        "Parser Error: Max expression depth limit of 1000 exceeded. Use \"SET max_expression_depth TO x\" to increase",
        "Recursion level in ArrowSchema struct exceeded",
        "maximum recursion depth exceeded in comparison",
    ] {
        let error = error(text, "select 1");
        assert_eq!((error.code.as_str(), error.detail.as_deref()), ("54001", Some(text)));
    }
}

#[test]
fn only_duckdbs_own_class_ends_the_engine() {
    let ends_engine = |text: &str| error(text, "").ends_engine;
    assert!(ends_engine("FATAL Error: Failed: database has been invalidated because of a previous fatal error."));
    assert!(!ends_engine("Invalid Input Error: FATAL Error: database has been invalidated"));
    assert!(!ends_engine("INTERNAL Error: this one statement failed"));
}

#[test]
fn a_dispatcher_is_not_named() {
    let error = error("Binder Error: Cannot use \"colonnade_map\" in this context", "create index i on t (f(x))");
    assert_eq!(error.code, SqlState::FEATURE_NOT_SUPPORTED);
    assert!(!format!("{error:?}").contains("colonnade"), "{error:?}");
}

#[test]
fn splits_message_hint_and_position() {
    let text = "Catalog Error: Table with name nope does not exist!\nDid you mean \"pg_enum\"?\n\n\
                LINE 2: from nope\n             ^^^^";
    let error = error(text, "select 1\nfrom nope");
    assert_eq!(error.code, SqlState::UNDEFINED_TABLE);
    assert_eq!(error.message, "Catalog Error: Table with name nope does not exist!");
    assert_eq!(error.hint.as_deref(), Some("Did you mean \"pg_enum\"?"));
    assert_eq!(error.position, Some("select 1\nfrom ".len()));
}

#[test]
fn a_division_by_zero_has_postgresqls_words() {
    let text = |expression: &str| {
        format!(
            "Invalid Input Error: Division by zero in expression {expression}. Use TRY(...) to return NULL for this \
             expression, or SET error_on_division_by_zero=false to return NULL for all divisions by zero."
        )
    };
    let found = error(&text("(a % 0.5)"), "select a % 0.5 from t");
    assert_eq!((found.code.as_str(), found.message.as_str()), ("22012", "division by zero"));
    assert_eq!(found.detail.as_deref(), Some("Division by zero in expression (a % 0.5)."));
    assert_eq!(found.hint.as_deref(), Some("Use TRY(...) to return NULL for this expression."));
    assert_eq!(error(&text("(0 % 0)"), "select 1 / 0").detail, None);
}

#[test]
fn finds_the_position_in_a_shortened_line() {
    let statement = format!("select {} nope", "'x'||".repeat(40));
    let at = statement.find("nope").unwrap();
    let text =
        format!("Binder Error: Referenced column\n\nLINE 1: ...{}\n{}^", &statement[at - 20..], " ".repeat(8 + 3 + 20));
    assert_eq!(error(&text, &statement).position, Some(at));
}

#[test]
fn finds_the_position_of_a_name_that_occurs_once() {
    let text = "Binder Error: Referenced column \"nope\" not found in FROM clause!\nCandidate bindings: \"i\"";
    assert_eq!(error(text, "select 'é', NOPE from t").position, Some(12));
    assert_eq!(error(text, "select nope, nope from t").position, None);
    let text = "Catalog Error: Table with name t does not exist!";
    assert_eq!(error(text, "select 't' from \"t\"").position, Some(16));
}

#[test]
fn an_excerpt_that_is_not_in_the_statement_stays_in_the_message() {
    let text = "Parser Error: x\n\nLINE 1: select 2\n        ^";
    let error = error(text, "select 1");
    assert_eq!(error.position, None);
    assert!(error.detail.unwrap().contains("LINE 1: select 2"));
}

#[test]
fn classes_have_their_codes() {
    for (text, expected) in [
        ("INTERRUPT Error: Interrupted!", "57014"),
        ("Constraint Error: Duplicate key \"i: 1\" violates primary key constraint.", "23505"),
        ("Constraint Error: Data contains duplicates on indexed column(s)", "23505"),
        (
            "TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key \"aborted, 1\"",
            "23505",
        ),
        ("Constraint Error: NOT NULL constraint failed: t.i", "23502"),
        ("Conversion Error: Could not convert string 'a' to INT32", "22P02"),
        ("Out of Range Error: Overflow in addition of INT32 (2147483647 + 1)!", "22003"),
        ("Invalid Input Error: Division by zero in expression (1 // 0).", "22012"),
        ("Catalog Error: Scalar Function with name nofunc does not exist!", "42883"),
        ("Catalog Error: Table with name \"t\" already exists!", "42P07"),
        ("Catalog Error: Cannot drop this column: an index depends on it!", "2BP01"),
        ("Catalog Error: Schema with name nope does not exist!", "3F000"),
        ("Binder Error: Referenced column \"nope\" not found in FROM clause!", "42703"),
        ("TransactionContext Error: Current transaction is aborted (please ROLLBACK)", "25P02"),
        ("Invalid Input Error: relation \"nope\" does not exist", "42P01"),
        ("Invalid Input Error: type \"nope\" does not exist", "42704"),
        ("Invalid Input Error: set_config() cannot change \"role\" on this server", "0A000"),
        ("IO Error: No files found that match the pattern \"/nope.parquet\"", "58P01"),
        ("Permission Error: Cannot access file \"/etc/passwd\" - file system operations are disabled", "42501"),
        (
            "Invalid Input Error: Cannot change configuration option \"threads\" - the configuration has been locked",
            "42501",
        ),
        (
            "TransactionContext Error: Cannot write to database \"x\" - transaction is launched in read-only mode",
            "25006",
        ),
        ("FATAL Error: Failed to create checkpoint: Could not write file \"x\": No space left on device", "53100"),
        (
            "Invalid Input Error: exporting a stream from the object registered as 'colonnade_copied' failed: MemoryError: ",
            "53200",
        ),
        ("something new", "XX000"),
    ] {
        assert_eq!(error(text, "").code.as_str(), expected, "{text}");
    }
}
