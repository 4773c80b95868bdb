//! The fence's judgement of a text, in a form that is equal for two notations of one statement.

use colonnade_duckdb::fence::{Fence, Refusal, Rights};

/// The judgement of a statement. Places are numbers of tokens.
#[derive(Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It may reach the engine if the engine finds one of these kinds. The carried statement begins at a token, and has
    /// kinds of its own.
    Passes { kinds: &'static [&'static str], carried: Option<(usize, &'static [&'static str])>, returns: bool },
    /// It is refused.
    Refused(Refusal),
}

/// Judges a text whose tokens begin at `starts`.
pub fn judge(fence: &Fence, text: &str, starts: impl Fn(usize) -> usize, rights: Rights) -> Judgement {
    match fence.check(text, rights) {
        Ok(found) => Judgement::Passes {
            kinds: found.kinds,
            carried: found.inner.map(|(start, kinds)| (starts(start), kinds)),
            returns: found.has_returning,
        },
        // Messages contain the statement's own letter case and places.
        Err(refusal) => Judgement::Refused(match refusal {
            Refusal::NotAllowed(what, nobody) => Refusal::NotAllowed(what.to_lowercase(), nobody),
            Refusal::Text { what, .. } => Refusal::Text { what, place: 0 },
            Refusal::NoSuchStatement { word, .. } => {
                Refusal::NoSuchStatement { word: word.to_ascii_lowercase(), place: 0 }
            }
            other => other,
        }),
    }
}
