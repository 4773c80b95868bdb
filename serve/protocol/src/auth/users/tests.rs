use super::*;

fn two() -> Users {
    let mut users = Users::default();
    assert_eq!(users.add("alice", "secret one", Role::ReadWrite, None, true), Ok(true));
    assert_eq!(users.add("o\"neil, käse", "secret two", Role::ReadOnly, Some(3), false), Ok(true));
    users
}

#[test]
fn a_written_file_reads_back_the_same() {
    let users = two();
    let text = users.to_string();
    assert_eq!(Users::parse(&format!("{HEADER}\n{text}")), Ok(users));
    assert!(!text.contains("secret"));
    assert!(text.contains("\"alice\" read-write functions SCRAM-SHA-256$4096:"), "{text}");
    assert!(text.contains("\"o\"\"neil, käse\" read-only connections=3 SCRAM-SHA-256$4096:"), "{text}");
}

#[test]
fn errors_name_the_invalid_line() {
    let verifier = Verifier::new("x", b"salt", 1);
    for (line, expected) in [
        ("alice read-only".to_owned(), "double quotes"),
        ("\"\" read-only".to_owned(), "double quotes"),
        ("\"alice\"".to_owned(), "a role"),
        ("\"alice\" read-only".to_owned(), "a verifier"),
        (format!("\"alice\" {verifier}"), "a role"),
        (format!("\"alice\" read-only connections=x {verifier}"), "a number"),
        ("\"alice\" read-only md5abc".to_owned(), "no role"),
        (format!("\"alice\" read-only functions {verifier}"), "cannot create"),
    ] {
        let (number, reason) = Users::parse(&format!("\n{line}")).unwrap_err();
        assert_eq!(number, 2);
        assert!(reason.contains(expected), "{line}: {reason}");
    }
    let line = format!("\"a\" read-only {verifier}\n");
    assert_eq!(Users::parse(&line.repeat(2)).unwrap_err().0, 2);
}

#[test]
fn invalid_names_and_passwords_are_refused() {
    let mut users = two();
    assert_eq!(users.add("", "x", Role::ReadOnly, None, false), Err(UserError::Name));
    assert_eq!(users.add("a\nb", "x", Role::ReadOnly, None, false), Err(UserError::Name));
    assert_eq!(users.add("a", "x", Role::ReadOnly, None, true), Err(UserError::ReadOnlyFunctions));
    assert_eq!(users.add("a", "", Role::ReadOnly, None, false), Err(UserError::NoPassword));
    assert_eq!(users.add("alice", "other", Role::ReadOnly, None, false), Ok(false));
    assert_eq!(users.find("alice").unwrap().role, Role::ReadOnly);
    assert!(users.remove("alice") && !users.remove("alice"));
    assert!(users.find("alice").is_none());
}

#[test]
fn a_file_that_others_can_access_is_refused() {
    let directory = std::env::temp_dir().join(format!("colonnade-users-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("users");
    let users = two();
    users.write(&path).unwrap();
    users.write(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    assert_eq!(Users::read(&path).unwrap(), users);
    for mode in [0o604, 0o620, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(Users::read(&path), Err(UsersError::Exposed(_))), "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(Users::read(&path).is_ok());
    fs::remove_dir_all(&directory).unwrap();
    assert!(matches!(Users::read(&path), Err(UsersError::File { .. })));
}
