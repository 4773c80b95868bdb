#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::tls::{Check, Roots};

fn parse_all(text: &str, variables: &[(&str, &str)]) -> Result<Conninfo, Error> {
    let find = |name: &str| variables.iter().find(|(variable, _)| *variable == name);
    Conninfo::parse_with(text, &Login::default(), &|name| find(name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn a_login_beside_the_text_counts() {
    let login = Login { user: Some("eve@x".to_owned()), password: Some("p:%40 '".to_owned()) };
    for text in ["postgresql://ada:s%40cret@h/", "host=h user=ada password=secret", "postgresql://h"] {
        let mut found = Conninfo::parse_with(text, &login, &|_| None).unwrap();
        let target = found.targets.remove(0);
        assert_eq!((&*target.user, target.password.as_deref()), ("eve@x", Some("p:%40 '")));
        assert_eq!(target.database, "eve@x");
    }
}

fn parse(text: &str) -> Target {
    parse_all(text, &[]).unwrap().targets.remove(0)
}

fn refused(text: &str) -> String {
    let error = parse_all(text, &[]).unwrap_err();
    format!("{error} {}", error.hint().unwrap_or_default())
}

#[test]
fn colonnade_serve_has_its_own_port() {
    let variables = [("PGPORT", "7"), ("PGUSER", "ada")];
    for (uri, port) in
        [("colonnade://h/d", 5433), ("colonnade://h:9/d", 9), ("colonnade://h/d?port=9", 9), ("postgresql://h/d", 7)]
    {
        let target = parse_all(uri, &variables).unwrap().targets.remove(0);
        assert_eq!(target.address, Address::Tcp("h".into(), port), "{uri}");
        assert_eq!((&*target.user, &*target.database), ("ada", "d"));
    }
    let targets = parse_all("colonnade://a,b:9", &variables).unwrap().targets;
    let addresses: Vec<_> = targets.into_iter().map(|target| target.address).collect();
    assert_eq!(addresses, [Address::Tcp("a".into(), 5433), Address::Tcp("b".into(), 9)]);
}

#[test]
fn the_environment_fills_in_what_is_left_out() {
    let variables = [
        ("PGHOST", "db.example"),
        ("PGPORT", "7"),
        ("PGUSER", "ada"),
        ("PGPASSWORD", "secret"),
        ("PGDATABASE", "shop"),
        ("PGAPPNAME", "x"),
        ("PGCONNECT_TIMEOUT", "9"),
    ];
    let parse_with = |text: &str| parse_all(text, &variables).unwrap().targets.remove(0);
    let target = parse_with("postgresql://");
    assert_eq!(target.address, Address::Tcp("db.example".into(), 7));
    assert_eq!((target.user.as_str(), target.database.as_str()), ("ada", "shop"));
    assert_eq!(target.password.as_deref(), Some("secret"));
    assert_eq!(target.parameters, [("application_name".to_owned(), "x".to_owned())]);
    assert_eq!(target.connect_timeout, Some(Duration::from_secs(9)));
    let target = parse_with("postgresql://eve:other@h:1/d?connect_timeout=0");
    assert_eq!(target.address, Address::Tcp("h".into(), 1));
    assert_eq!((target.user.as_str(), target.password.as_deref()), ("eve", Some("other")));
    assert_eq!((target.database.as_str(), target.connect_timeout), ("d", None));
    let refused = parse_all("postgresql://", &[("PGPORT", "x")]);
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
    assert!(refused("postgresql://h/d?connect_timeout=soon").contains("seconds"));
}

#[test]
fn a_password_with_a_separator_is_not_quoted() {
    for uri in ["postgresql://u:hun/ter2@h/d", "postgresql://u:hun?ter2@h/d", "postgresql://u:1/ter2@h"] {
        let error = Conninfo::parse(uri).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("ter2"), "{error}");
    }
}

#[test]
fn keywords_are_read_as_libpq_reads_them() {
    let text = r"host = db.example port=7 user='a b' password='it\'s \\ x' dbname=my\ shop application_name='' connect_timeout = 3";
    let target = parse(text);
    assert_eq!(target.address, Address::Tcp("db.example".into(), 7));
    assert_eq!((target.user.as_str(), target.database.as_str()), ("a b", "my shop"));
    assert_eq!(target.password.as_deref(), Some(r"it's \ x"));
    assert_eq!(target.connect_timeout, Some(Duration::from_secs(3)));
    assert_eq!(target.parameters, []);
    assert_eq!(parse("user=x host=/run/pg").address, Address::Unix("/run/pg".into(), 5432));
    assert!(refused("host=h port=x").contains("port"));
    assert!(refused("host='h").contains("closing quote"));
    assert!(refused("host=h dbname").contains("keyword=value"));
    assert!(refused("hose=h").contains("\"hose\""));
    // What may be the rest of a password is not shown.
    for text in ["password=two words", "password=a hun=ter2", "password='a'b words"] {
        let shown = refused(text);
        assert!(!["words", "hun", "ter2"].iter().any(|part| shown.contains(part)), "{shown}");
    }
}

#[test]
fn keywords_and_uris_are_told_apart() {
    for text in ["host=x", "  host = x", "sslmode='a:b'", "dbname=postgresql://x"] {
        assert!(Conninfo::is_keywords(text), "{text}");
    }
    for text in ["", "=", "host", "postgresql://h?a=b", "duckdb:a=b", "1=2", "lineitem.duckdb", "ho st=x"] {
        assert!(!Conninfo::is_keywords(text), "{text}");
    }
}

#[test]
fn several_servers_are_named_in_their_order() {
    let addresses = |text| -> Vec<_> {
        let targets = parse_all(text, &[]).unwrap().targets;
        targets.into_iter().map(|target| (target.host, target.address)).collect()
    };
    let tcp = |host: &str, address: &str, port| (host.to_owned(), Address::Tcp(address.to_owned(), port));
    let both = [tcp("a", "a", 1), tcp("b", "b", 5432)];
    assert_eq!(addresses("postgresql://a:1,b/d"), both);
    assert_eq!(addresses("host=a,b port=1,"), both);
    assert_eq!(addresses("host=a,b port=7"), [tcp("a", "a", 7), tcp("b", "b", 7)]);
    assert_eq!(addresses("host=a,b hostaddr=10.0.0.1,"), [tcp("a", "10.0.0.1", 5432), tcp("b", "b", 5432)]);
    assert_eq!(addresses("hostaddr=10.0.0.1"), [tcp("10.0.0.1", "10.0.0.1", 5432)]);
    assert_eq!(addresses("postgresql://[::1]:3,b/d"), [tcp("::1", "::1", 3), tcp("b", "b", 5432)]);
    assert!(refused("host=a,b,c port=1,2").contains("different numbers"));
    assert!(refused("host=a,b hostaddr=10.0.0.1").contains("different numbers"));
    let session = |text| parse_all(text, &[]).unwrap().session;
    assert_eq!(session("host=a,b"), TargetSessionAttrs::Any);
    assert_eq!(session("host=a,b target_session_attrs=prefer-standby"), TargetSessionAttrs::PreferStandby);
    assert!(refused("host=a target_session_attrs=fast").contains("read-write"));
}

#[test]
fn modes_of_tls_say_what_is_verified() {
    let of = |text: &str| {
        let target = parse(&format!("host=h {text}"));
        (target.sslmode, target.tls.check, target.tls.roots)
    };
    let file = || Roots::File("/ca".into());
    assert_eq!(of(""), (SslMode::Prefer, Check::Nothing, Roots::Nobody));
    assert_eq!(of("sslrootcert=/ca"), (SslMode::Prefer, Check::Nothing, Roots::Nobody));
    assert_eq!(of("sslmode=require"), (SslMode::Require, Check::Nothing, Roots::Nobody));
    assert_eq!(of("sslmode=require sslrootcert=/ca"), (SslMode::Require, Check::Chain, file()));
    assert_eq!(of("sslmode=verify-ca sslrootcert=/ca"), (SslMode::VerifyCa, Check::Chain, file()));
    assert_eq!(of("sslmode=verify-full sslrootcert=/ca"), (SslMode::VerifyFull, Check::Name, file()));
    assert_eq!(of("sslrootcert=system"), (SslMode::VerifyFull, Check::Name, Roots::System));
    assert_eq!(parse("postgresql://h/?ssl=true").sslmode, SslMode::Require);
    assert!(refused("host=h sslmode=verify-ca").contains("sslrootcert=system"));
    assert!(refused("host=h sslmode=require sslrootcert=system").contains("verify-full"));
    assert!(refused("host=h sslnegotiation=direct").contains("sslmode"));
    assert!(parse("host=h sslnegotiation=direct sslmode=require").direct_tls);
}

#[test]
fn what_cannot_be_done_is_refused_and_what_changes_nothing_is_not() {
    for text in [
        "requirepeer=postgres",
        "sslcrldir=/x",
        "sslpassword=x",
        "replication=true",
        "gssencmode=require",
        "load_balance_hosts=random",
        "sslcertmode=require",
    ] {
        let error = parse_all(&format!("host=h {text}"), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
        assert!(error.message().contains(text.split('=').next().unwrap()), "{text}");
    }
    let text = "host=h gssencmode=prefer krbsrvname=x sslcompression=1 client_encoding=latin1 load_balance_hosts=disable \
                keepalives=1 keepalives_idle=5 keepalives_interval=6 keepalives_count=7 tcp_user_timeout=8";
    let keepalive = parse(text).keepalive;
    let expected = Keepalive { off: false, idle: Some(5), interval: Some(6), count: Some(7), user_timeout: Some(8) };
    assert_eq!(keepalive, expected);
    assert!(parse("host=h keepalives=0").keepalive.off);
    assert!(refused("host=h keepalives_idle=x").contains("keepalives_idle"));
}

#[test]
fn the_ways_to_log_in_may_be_named() {
    let target = parse("host=h require_auth=scram-sha-256,none");
    assert!(target.require_auth.names("none") && !target.require_auth.allows("password"));
    assert!(parse("host=h require_auth=!gss,!oauth").require_auth.allows("password"));
    assert!(parse("host=h require_auth=''").require_auth.allows("password"));
    for text in ["scram", "md5,!none", "md5,md5", "!"] {
        assert!(refused(&format!("host=h require_auth={text}")).contains("require_auth"), "{text}");
    }
    let by_variable = parse_all("host=h", &[("PGREQUIREAUTH", "md5")]).unwrap();
    assert!(by_variable.targets[0].require_auth.names("md5"));
}

#[test]
fn a_comma_is_a_name_and_no_list_of_nothing() {
    let target = parse("postgresql://%2C@h/%2C");
    assert_eq!((target.user.as_str(), target.database.as_str()), (",", ","));
    assert_eq!(parse("postgresql://,,/d").host, parse("postgresql:///d").host);
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
        if let Err(error) = Conninfo::parse(&format!("postgresql://u:hunter2@{text}")) {
            let shown = format!("{error} {error:?}");
            prop_assert!(!shown.contains("hunter2") || text.contains("hunter2"));
        }
    }
}
