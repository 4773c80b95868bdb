//! What the server's fence says of a text, in a form in which two writings of one statement can be compared.

use colonnade_duckdb::fence::{Fence, Refusal, Rights};

/// What is said of a statement. Places are numbers of tokens.
#[derive(Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It may reach the engine if that finds one of these kinds, and of those for the statement that begins at a token.
    Passes { kinds: &'static [&'static str], carried: Option<(usize, &'static [&'static str])>, returns: bool },
    /// It may not.
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
        // What the client is told has its own words and places in it.
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
