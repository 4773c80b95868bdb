#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn parse(uri: &str) -> Target {
    Target::parse_with(uri, &|_| None).unwrap()
}

fn refused(uri: &str) -> String {
    Target::parse_with(uri, &|_| None).unwrap_err().to_string()
}

#[test]
fn the_environment_fills_in_what_is_left_out() {
    let lookup = |name: &str| {
        let value = match name {
            "PGHOST" => "db.example",
            "PGPORT" => "7",
            "PGUSER" => "ada",
            "PGPASSWORD" => "secret",
            "PGDATABASE" => "shop",
            "PGAPPNAME" => "x",
            "PGCONNECT_TIMEOUT" => "9",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let target = Target::parse_with("postgresql://", &lookup).unwrap();
    assert_eq!(target.address, Address::Tcp("db.example".into(), 7));
    assert_eq!((target.user.as_str(), target.database.as_str()), ("ada", "shop"));
    assert_eq!(target.password.as_deref(), Some("secret"));
    assert_eq!(target.parameters, [("application_name".to_owned(), "x".to_owned())]);
    assert_eq!(target.connect_timeout, Some(Duration::from_secs(9)));
    let target = Target::parse_with("postgresql://eve:other@h:1/d?connect_timeout=0", &lookup).unwrap();
    assert_eq!(target.address, Address::Tcp("h".into(), 1));
    assert_eq!((target.user.as_str(), target.password.as_deref()), ("eve", Some("other")));
    assert_eq!((target.database.as_str(), target.connect_timeout), ("d", None));
    let refused = Target::parse_with("postgresql://", &|name| (name == "PGPORT").then(|| "x".to_owned()));
    assert_eq!(refused.unwrap_err().detail(), Some("PGPORT says so"));
}

#[test]
fn a_full_uri_is_read() {
    let target = parse("postgresql://ada:secret@db.example:6543/shop?application_name=x%20y&connect_timeout=3");
    assert_eq!(target.address, Address::Tcp("db.example".into(), 6543));
    assert_eq!((target.user.as_str(), target.database.as_str()), ("ada", "shop"));
    assert_eq!(target.password.as_deref(), Some("secret"));
    assert_eq!(target.connect_timeout, Some(Duration::from_secs(3)));
    assert_eq!(target.parameters, [("application_name".to_owned(), "x y".to_owned())]);
}

#[test]
fn what_is_left_out_has_libpqs_defaults() {
    let target = parse("postgres://ada@");
    assert_eq!(target.address, Address::Tcp("localhost".into(), 5432));
    assert_eq!(target.database, "ada");
    assert_eq!(target.password, None);
}

#[test]
fn unix_sockets_are_named_by_host() {
    assert_eq!(parse("postgresql:///d?host=/run/pg&port=7").address, Address::Unix("/run/pg".into(), 7));
    assert_eq!(parse("postgresql://ada@%2Frun%2Fpg/d").address, Address::Unix("/run/pg".into(), 5432));
}

#[test]
fn ipv6_addresses_stand_in_brackets() {
    assert_eq!(parse("postgresql://[::1]:99/d").address, Address::Tcp("::1".into(), 99));
    assert_eq!(parse("postgresql://[::1]/d").address, Address::Tcp("::1".into(), 5432));
    assert!(refused("postgresql://[::1/d").contains("']'"));
    assert!(refused("postgresql://[::1]x/d").contains("IPv6"));
}

#[test]
fn parameters_override_the_authority() {
    let target = parse("postgresql://a:b@h:1/d?host=k&port=2&user=c&password=e&dbname=f&sslmode=prefer");
    assert_eq!(target.address, Address::Tcp("k".into(), 2));
    assert_eq!((target.user.as_str(), target.password.as_deref(), target.database.as_str()), ("c", Some("e"), "f"));
}

#[test]
fn nonsense_is_refused_by_name() {
    assert!(refused("mysql://x").contains("postgresql://"));
    assert!(refused("postgresql://h:0/d").contains("port"));
    assert!(refused("postgresql://h:99999/d").contains("port"));
    assert!(refused("postgresql://h/d?colour=red").contains("\"colour\""));
    assert!(refused("postgresql://h/d?user").contains("user=…"));
    assert!(refused("postgresql://h/%zz").contains("%25"));
    assert!(refused("postgresql://h/%00").contains("NUL"));
    assert!(refused("postgresql://h/%ff").contains("UTF-8"));
    assert!(refused("postgresql://a,b/d").contains("several hosts"));
    assert!(refused("postgresql://h/d?sslmode=verify-full").contains("sslmode=verify-full"));
    assert!(refused("postgresql://h/d?connect_timeout=soon").contains("seconds"));
}

#[test]
fn a_password_with_a_separator_is_not_quoted() {
    for uri in ["postgresql://u:hun/ter2@h/d", "postgresql://u:hun?ter2@h/d", "postgresql://u:1/ter2@h"] {
        let error = Target::parse(uri).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("ter2"), "{error}");
    }
}

fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #[test]
    fn passwords_survive_and_are_never_shown(password in "[^\\x00a-z0-9:/@_]{4,20}", user in "[^\\x00]{1,10}") {
        let uri = format!("postgresql://{}:{}@h/d", escape(&user), escape(&password));
        let target = parse(&uri);
        prop_assert_eq!(target.password.as_deref(), Some(password.as_str()));
        prop_assert_eq!(&target.user, &user);
        if !user.contains(&password) {
            let debug = format!("{:?} {}", target, target);
            prop_assert!(!debug.contains(&password));
        }
    }

    #[test]
    fn any_text_is_a_target_or_an_error_without_the_text(text in "\\PC{0,60}") {
        if let Err(error) = Target::parse(&format!("postgresql://u:hunter2@{text}")) {
            let shown = format!("{error} {error:?}");
            prop_assert!(!shown.contains("hunter2") || text.contains("hunter2"));
        }
    }
}
