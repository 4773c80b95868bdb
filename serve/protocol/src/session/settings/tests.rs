use colonnade_sql::Statement;
use colonnade_sql::statement::{IsolationLevel, Modes};

use super::*;
use crate::limits::{Budget, LimitError};

fn command(statement: &str) -> Option<Command> {
    super::command(&Statement::of(statement, Dialect::POSTGRES).kind)
}

fn set(statement: &str) -> Option<(&'static str, Option<String>, bool)> {
    match command(statement)? {
        Command::Set { setting, value, is_local } => Some((Settings::name(setting), value, is_local)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parses_the_statements_of_drivers() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(set("SET extra_float_digits = 3"), Some(("extra_float_digits", some("3"), false)));
    assert_eq!(set("set session datestyle to 'ISO'"), Some(("DateStyle", some("ISO"), false)));
    assert_eq!(set("SET LOCAL application_name TO DEFAULT"), Some(("application_name", None, true)));
    assert_eq!(set("SET search_path = a, \"B\""), Some(("search_path", some("a, B"), false)));
    assert_eq!(set("SET TIME ZONE 'Europe/Berlin'"), Some(("TimeZone", some("Europe/Berlin"), false)));
    assert_eq!(set("SET timezone = interval '+00:00' hour to minute"), Some(("TimeZone", some("0"), false)));
    assert_eq!(set("SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE"), Some(("TimeZone", some("-8"), false)));
    assert_eq!(
        set("SET TIME ZONE INTERVAL '+05:30' HOUR TO MINUTE"),
        Some(("TimeZone", some("interval+05:30hourtominute"), false))
    );
    assert_eq!(set("SET TIME ZONE LOCAL"), Some(("TimeZone", None, false)));
    assert_eq!(set("SET NAMES 'UTF8'"), Some(("client_encoding", some("UTF8"), false)));
    assert_eq!(set("SET lock_timeout = -1"), Some(("lock_timeout", some("-1"), false)));
    assert_eq!(set("RESET application_name"), Some(("application_name", None, false)));
    assert_eq!(set("SET threads = 2"), None);
    assert_eq!(set("RESET threads"), None);
    assert_eq!(command("SHOW ALL TABLES"), None);
    assert_eq!(command("SHOW tables"), None);
    assert_eq!(command("SHOW ALL"), Some(Command::ShowAll));
    assert!(matches!(command("SHOW TRANSACTION ISOLATION LEVEL"), Some(Command::Show(_))));
    let serializable = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY";
    let isolation = Some(IsolationLevel::Serializable);
    let modes = Modes { isolation, read_only: Some(true), deferrable: None, are_any: true };
    assert_eq!(command(serializable), Some(Command::TransactionDefaults(modes)));
}

#[test]
fn refuses_values_that_would_change_the_form_of_results() {
    let settings = Settings::new(&[("server_version", "15.0")]);
    let plan = |name: &str, value: &str| settings.plan(find(name).unwrap(), Some(value));
    let plain = |value: &str| Change { value: value.to_owned(), ..Change::default() };
    assert_eq!(plan("datestyle", "iso"), Ok(plain("ISO, MDY")));
    let told = |name: &str, value: &str| {
        let variable = format!("SET VARIABLE colonnade_{name} = '{value}'");
        Ok(Change { variable: Some(variable), ..plain(value) })
    };
    assert_eq!(plan("datestyle", "Euro"), told("datestyle", "ISO, DMY"));
    assert_eq!(plan("datestyle", "ymd,ISO"), told("datestyle", "ISO, YMD"));
    assert_eq!(plan("datestyle", "German"), told("datestyle", "German, DMY"));
    assert!(plan("datestyle", "ISO, German").is_err());
    assert_eq!(plan("client_encoding", "utf-8"), Ok(plain("UTF8")));
    assert_eq!(plan("client_encoding", "sql_ascii"), told("client_encoding", "SQL_ASCII"));
    assert_eq!(plan("client_encoding", "iso-8859-15"), told("client_encoding", "LATIN9"));
    assert!(plan("client_encoding", "latin99").is_err() && plan("client_encoding", "johab").is_err());
    assert!(plan("server_version", "16").is_err());
    assert!(plan("lock_timeout", "100").unwrap().is_ignored);
    assert!(plan("lock_timeout", "soon").is_err());
    let time = plan("statement_timeout", "2s").unwrap().time;
    assert_eq!(time, Some((Timeout::Statement, Some(Duration::from_secs(2)))));
    let never = plan("statement_timeout", " 0.4 ").unwrap();
    assert_eq!((never.value.as_str(), never.time), ("0", Some((Timeout::Statement, None))));
    assert!(plan("statement_timeout", "soon").is_err());
    assert_eq!(plan("search_path", "it's").unwrap().engine.as_deref(), Some("SET search_path = 'it''s'"));
    let zone = plan("timezone", "europe/berlin").unwrap();
    assert_eq!(
        (zone.value.as_str(), zone.engine.as_deref()),
        ("Europe/Berlin", Some("SET TimeZone = 'Europe/Berlin'"))
    );
    assert!(plan("timezone", "it's").is_err());
}

#[test]
fn settings_follow_commit_and_rollback() {
    let mut settings = Settings::new(&[("application_name", "a")]);
    let name = find("application_name").unwrap();
    let set = |settings: &mut Settings, value: &str, is_local| {
        settings.set(name, value.to_owned(), is_local, Budget::new(None, LimitError::SessionMemory).empty_charge())
    };
    assert_eq!(set(&mut settings, "b", false), Some(("application_name", "b".to_owned())));
    let mark = settings.mark();
    set(&mut settings, "c", true);
    let mut committed = settings.clone();
    assert_eq!(committed.commit(), [(name, "b".to_owned())]);
    assert_eq!(committed.restore(name, "b".to_owned()), Some(("application_name", "b".to_owned())));
    assert_eq!((committed.commit(), committed.mark()), (vec![], 0));

    let mut undone = settings.clone();
    set(&mut undone, "d", false);
    assert_eq!(undone.roll_back(mark), [(name, "b".to_owned())]);
    undone.restore(name, "b".to_owned());
    assert_eq!(undone.roll_back(0), [(name, "a".to_owned())]);
    undone.restore(name, "a".to_owned());
    assert!(undone.changed().is_empty() && undone.roll_back(0).is_empty());

    // A later SET replaces a SET LOCAL.
    set(&mut settings, "e", false);
    assert!(settings.commit().is_empty());
    assert_eq!(settings.changed(), [name]);
    set(&mut settings, "a", false);
    assert!(settings.changed().is_empty());
}
