//! DuckDB's words, and the server's lists, which are parsed here independently of the fence.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{ALL, NONE, Permits, WRITERS, WRITERS_WITH_FILES};

/// A name, and the users who may use it.
pub type Named = (&'static str, Permits);

/// The words of generated statements.
#[derive(Debug)]
pub struct Words {
    /// DuckDB's keywords.
    pub keywords: Vec<&'static str>,
    /// DuckDB's functions.
    pub functions: Vec<&'static str>,
    /// DuckDB's types.
    pub types: Vec<&'static str>,
    /// The functions of the lists, and [`UNDECIDED`].
    pub listed: Vec<Named>,
    pub views: Vec<Named>,
    pub settings: Vec<Named>,
    pub pragmas: Vec<Named>,
    by_function: HashMap<&'static str, Permits>,
    by_view: HashMap<&'static str, Permits>,
}

/// A function of the engine that is on no list.
pub const UNDECIDED: &str = "of_tomorrow";

/// Parsed once.
pub static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let (words, lists) =
        (include_str!("../../words.txt"), include_str!("../../../../serve/duckdb/src/fence/allowed.txt"));
    let named = |section| lines(lists, section).filter_map(|line| line.rsplit_once(' ')).map(permitted).collect();
    let mut listed: Vec<Named> = named("functions");
    listed.push((UNDECIDED, NONE));
    let views: Vec<Named> = named("views");
    Words {
        keywords: lines(words, "keywords").collect(),
        functions: lines(words, "functions").collect(),
        types: lines(words, "types").collect(),
        by_function: listed.iter().copied().collect(),
        by_view: views.iter().copied().collect(),
        settings: named("settings"),
        pragmas: named("pragmas"),
        listed,
        views,
    }
});

impl Words {
    /// The users who may call a function.
    pub fn call(&self, name: &str) -> Permits {
        self.by_function.get(name).copied().unwrap_or(ALL)
    }

    /// The users who may use a name.
    pub fn name(&self, name: &str) -> Permits {
        self.by_view.get(name).copied().unwrap_or(ALL)
    }
}

/// The lines of a section.
fn lines(text: &'static str, section: &str) -> impl Iterator<Item = &'static str> {
    let header = format!("[{section}]");
    let after = text.lines().skip_while(move |line| *line != header).skip(1);
    after.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn permitted((name, class): (&'static str, &'static str)) -> Named {
    let permits = match class {
        "all" => ALL,
        "writers" => WRITERS,
        "files" => 0b1100,
        "writers-with-files" => WRITERS_WITH_FILES,
        "never" => NONE,
        _ => panic!("{class} is no class of the lists"),
    };
    (name, permits)
}
