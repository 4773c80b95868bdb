//! The login methods that a user allows, in the form of libpq's `require_auth`.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-REQUIRE-AUTH>

use crate::{Error, ErrorKind};

/// The prefix of an excluded method.
const NOT: char = '!';

/// The methods that a server may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// No restriction.
    #[default]
    Any,
    /// One of these.
    OneOf(Vec<&'static str>),
    /// All except these.
    NoneOf(Vec<&'static str>),
}

impl Requirement {
    /// Reads a list of names, separated by commas. All of them begin with `!`, or none does.
    ///
    /// # Errors
    /// A name that is not among `known`, one that comes twice, or names with and without `!`.
    pub(crate) fn parse(text: &str, known: &[&'static str]) -> Result<Self, Error> {
        let usage = |message: String| Error::new(ErrorKind::Usage, format!("require_auth {message}"));
        let (mut names, mut negated) = (Vec::new(), None);
        for item in text.split(',').map(str::trim) {
            let name = item.strip_prefix(NOT);
            let is_negated = name.is_some();
            let name = name.unwrap_or(item);
            let Some(method) = known.iter().find(|method| **method == name) else {
                return Err(usage(format!("has {name:?}, which is not one of {}", known.join(", "))));
            };
            if *negated.get_or_insert(is_negated) != is_negated {
                return Err(usage("mixes methods with and without \"!\": write all of them one way".to_owned()));
            }
            if names.contains(method) {
                return Err(usage(format!("names {method} twice")));
            }
            names.push(*method);
        }
        Ok(if negated == Some(true) { Self::NoneOf(names) } else { Self::OneOf(names) })
    }

    /// Whether the server may use a method.
    pub(crate) fn allows(&self, method: &str) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(methods) => methods.contains(&method),
            Self::NoneOf(methods) => !methods.contains(&method),
        }
    }

    /// Whether the user has asked for a method by its name.
    pub(crate) fn names(&self, method: &str) -> bool {
        matches!(self, Self::OneOf(methods) if methods.contains(&method))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const KNOWN: &[&str] = &["none", "password", "md5"];

    #[test]
    fn a_list_allows_what_it_names() {
        let list = Requirement::parse("md5, password", KNOWN).unwrap();
        assert!(list.allows("md5") && list.allows("password") && !list.allows("none"));
        assert!(list.names("md5") && !list.names("none"));
        let negated = Requirement::parse("!none,!password", KNOWN).unwrap();
        assert!(negated.allows("md5") && !negated.allows("none") && !negated.allows("password"));
        assert!(!negated.names("md5"));
        assert!(Requirement::Any.allows("none") && !Requirement::Any.names("none"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", ",", "md5,", "MD5", "!", "!!md5", "md5,!none", "!none,md5", "md5,none,md5", "!md5,!md5"] {
            assert!(Requirement::parse(text, KNOWN).is_err(), "{text}");
        }
    }
}
