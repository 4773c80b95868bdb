//! The password file.
//! <https://www.postgresql.org/docs/current/libpq-pgpass.html>

use std::fs;
use std::path::Path;

use super::Address;
use crate::system::{is_private, is_socket_directory};

/// The password in a file for a server, a database and a user. A file that others may read is ignored.
pub(super) fn password(file: &Path, address: &Address, host: &str, database: &str, user: &str) -> Option<String> {
    let metadata = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    if !is_private(&metadata, false) {
        return None;
    }
    let (host, port) = match address {
        Address::Tcp(_, port) => (host.to_owned(), *port),
        Address::Unix(path, port) if is_socket_directory(path) => ("localhost".to_owned(), *port),
        Address::Unix(path, port) => (path.to_string_lossy().into_owned(), *port),
    };
    find(&fs::read_to_string(file).ok()?, [&host, &port.to_string(), database, user])
}

/// The fifth field of the first line whose first four are these, or `*`.
fn find(file: &str, wanted: [&str; 4]) -> Option<String> {
    file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line);
        let matches = wanted.iter().all(|wanted| fields.next().is_some_and(|field| field == "*" || field == *wanted));
        if matches { fields.next() } else { None }
    })
}

/// The text between colons, without the backslashes that escape colons and backslashes.
fn fields(line: &str) -> impl Iterator<Item = String> {
    let mut rest = Some(line.chars());
    std::iter::from_fn(move || {
        let mut field = String::new();
        let letters = rest.as_mut()?;
        loop {
            match letters.next() {
                Some('\\') => field.extend(letters.next()),
                Some(':') => return Some(field),
                Some(letter) => field.push(letter),
                None => break,
            }
        }
        rest = None;
        Some(field)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let file = "# h:1:d:u:commented\nh:1:d:other:a\nh:*:d:u:s\\:e\\\\cret\nh:1:d:u:later\n*:*:*:*:any";
        let found = |wanted| find(file, wanted);
        assert_eq!(found(["h", "1", "d", "u"]).as_deref(), Some("s:e\\cret"));
        assert_eq!(found(["h", "1", "d", "other"]).as_deref(), Some("a"));
        assert_eq!(found(["elsewhere", "1", "d", "u"]).as_deref(), Some("any"));
        assert_eq!(find("h:1:d:u", ["h", "1", "d", "u"]), None);
        assert_eq!(find("h:1:d:u:", ["h", "1", "d", "u"]).as_deref(), Some(""));
        assert_eq!(find("a\\:b:1:d:u:x", ["a:b", "1", "d", "u"]).as_deref(), Some("x"));
    }
}
