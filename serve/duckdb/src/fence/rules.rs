//! Reads the lists of `allowed.txt`.

use std::collections::HashMap;

use super::Rights;

const LISTS: &str = include_str!("allowed.txt");

/// The users who may use a listed name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Readers and writers.
    All,
    /// Writers.
    Writers,
    /// Readers and writers, if the operator allows files.
    Files,
    /// Writers, if the operator allows files.
    WritersWithFiles,
    /// Nobody.
    Never,
}

impl Permission {
    /// Its name in the lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Writers => "writers",
            Self::Files => "files",
            Self::WritersWithFiles => "writers-with-files",
            Self::Never => "never",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::All, Self::Writers, Self::Files, Self::WritersWithFiles, Self::Never]
            .into_iter()
            .find(|class| class.name() == name)
    }

    /// Whether a user with these rights may use the name.
    pub fn permits(self, rights: Rights) -> bool {
        match self {
            Self::All => true,
            Self::Writers => rights.writes,
            Self::Files => rights.files,
            Self::WritersWithFiles => rights.writes && rights.files,
            Self::Never => false,
        }
    }

    /// Whether no user may use the name on this server, not even a writer.
    pub fn is_refused_to_all(self, rights: Rights) -> bool {
        !self.permits(Rights { writes: true, ..rights })
    }
}

/// A section of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// Functions of every kind, including macros and table functions.
    Functions,
    /// The names after PRAGMA.
    Pragmas,
    /// DuckDB's own views.
    Views,
    /// The names after SET.
    Settings,
    /// Kinds of statements, with DuckDB's names.
    Kinds,
}

impl Section {
    /// The section with this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "functions" => Self::Functions,
            "pragmas" => Self::Pragmas,
            "views" => Self::Views,
            "settings" => Self::Settings,
            "kinds" => Self::Kinds,
            _ => return None,
        })
    }
}

/// An invalid line of the lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the lists of what is allowed: {text:?}")]
pub struct RulesError {
    line: usize,
    text: String,
}

/// The permissions, by section and name.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    lists: HashMap<Section, HashMap<&'static str, Permission>>,
}

impl Rules {
    /// Reads the lists.
    ///
    /// # Errors
    /// If a line is neither empty, a comment, a section nor a name with a class.
    pub fn read() -> Result<Self, RulesError> {
        let (mut rules, mut section) = (Self::default(), Section::Functions);
        for (at, line) in LISTS.lines().enumerate() {
            let invalid = || RulesError { line: at + 1, text: line.to_owned() };
            match line.rsplit_once(' ') {
                _ if line.is_empty() || line.starts_with('#') => {}
                None => {
                    let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
                    section = name.and_then(Section::named).ok_or_else(invalid)?;
                }
                Some((name, class)) => {
                    let class = Permission::named(class).ok_or_else(invalid)?;
                    rules.lists.entry(section).or_default().insert(name, class);
                }
            }
        }
        Ok(rules)
    }

    /// The permission for a name in lower case.
    pub fn class(&self, section: Section, name: &str) -> Option<Permission> {
        self.lists.get(&section)?.get(name).copied()
    }
}
