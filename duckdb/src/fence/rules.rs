//! The lists themselves: `allowed.txt`, read.

use std::collections::HashMap;

use super::Rights;

const LISTS: &str = include_str!("allowed.txt");

/// Who may use what is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
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

impl Class {
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

    /// Whether someone with these rights may use it.
    pub fn permits(self, rights: Rights) -> bool {
        match self {
            Self::All => true,
            Self::Writers => rights.writes,
            Self::Files => rights.files,
            Self::WritersWithFiles => rights.writes && rights.files,
            Self::Never => false,
        }
    }

    /// Whether not even a writer may use it, as far as the operator's choice goes.
    pub fn is_for_nobody(self, rights: Rights) -> bool {
        !self.permits(Rights { writes: true, ..rights })
    }
}

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// Functions of every kind, macros and table functions too.
    Functions,
    /// The names after PRAGMA.
    Pragmas,
    /// The engine's own views.
    Views,
    /// The names after SET.
    Settings,
    /// Kinds of statements, as the engine names them.
    Kinds,
}

impl Section {
    /// The list of this name.
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

/// A line of the lists that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the lists of what is allowed: {text:?}")]
pub struct RulesError {
    line: usize,
    text: String,
}

/// What is decided, by list and name.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    lists: HashMap<Section, HashMap<&'static str, Class>>,
}

impl Rules {
    /// Reads the lists.
    ///
    /// # Errors
    /// If a line is neither empty, a comment, a section nor a name with a class.
    pub fn read() -> Result<Self, RulesError> {
        let (mut rules, mut section) = (Self::default(), Section::Functions);
        for (at, line) in LISTS.lines().enumerate() {
            let odd = || RulesError { line: at + 1, text: line.to_owned() };
            match line.rsplit_once(' ') {
                _ if line.is_empty() || line.starts_with('#') => {}
                None => {
                    let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
                    section = name.and_then(Section::named).ok_or_else(odd)?;
                }
                Some((name, class)) => {
                    let class = Class::named(class).ok_or_else(odd)?;
                    rules.lists.entry(section).or_default().insert(name, class);
                }
            }
        }
        Ok(rules)
    }

    /// What is decided about a name in lower case.
    pub fn class(&self, section: Section, name: &str) -> Option<Class> {
        self.lists.get(&section)?.get(name).copied()
    }
}
