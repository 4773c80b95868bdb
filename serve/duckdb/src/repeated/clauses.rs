//! The clauses of a statement: its words outside of brackets.

use colonnade_sql::{Dialect, StatementKind, Token, TokenKind, closing, code};

/// Whether a text has this word, in any case. It may be within another one.
pub(super) fn mentions(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// A statement's tokens.
pub(crate) struct Clauses<'a> {
    statement: &'a str,
    pub(super) tokens: Vec<Token<'a>>,
    /// For each token, whether it is outside of brackets and of CASE … END.
    outside: Vec<bool>,
}

/// The name of the table that a statement changes; `None` if it is not INSERT, UPDATE, DELETE or MERGE.
pub(crate) fn changed_table<'a>(kind: &StatementKind, text: &'a str) -> Option<&'a str> {
    let words: &[&str] = match kind {
        StatementKind::Insert => &["insert", "into"],
        StatementKind::Update => &["update"],
        StatementKind::Delete => &["delete", "from"],
        StatementKind::Merge => &["merge", "into"],
        _ => return None,
    };
    let clauses = Clauses::new(text);
    let mut at = 0;
    for word in words {
        at = clauses.find(at, word)? + 1;
    }
    Some(clauses.text(at, clauses.name(at)))
}

/// The table that a statement changes, and its alias.
pub(super) struct Target<'a> {
    /// Its name.
    pub table: &'a str,
    /// The name by which the statement's expressions know it.
    pub alias: &'a str,
    /// Both.
    pub text: &'a str,
}

impl<'a> Clauses<'a> {
    pub(crate) fn new(statement: &'a str) -> Self {
        let tokens: Vec<_> = code(statement, Dialect::DuckDb).collect();
        let mut depth = 0_usize;
        let outside = tokens.iter().map(|token| {
            let opens = matches!(token.kind, TokenKind::Symbol(b'(' | b'[' | b'{')) || token.is_word("case");
            let closes = matches!(token.kind, TokenKind::Symbol(b')' | b']' | b'}')) || token.is_word("end");
            let is_outside = depth == 0 && !closes;
            depth = (depth + usize::from(opens)).saturating_sub(usize::from(closes));
            is_outside
        });
        Self { outside: outside.collect(), statement, tokens }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn is_word(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(word))
    }

    pub(super) fn is_symbol(&self, at: usize, symbol: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_symbol(symbol))
    }

    /// Whether it is a comma outside of brackets.
    pub(super) fn is_separator(&self, at: usize) -> bool {
        self.outside[at] && self.is_symbol(at, b',')
    }

    /// The first token from `start` on that is this word and begins a clause.
    pub(super) fn find(&self, start: usize, word: &str) -> Option<usize> {
        (start..self.len()).find(|at| self.begins(*at, word))
    }

    /// Whether a clause with this word is at `at`. Behind a point it is a name.
    pub(super) fn begins(&self, at: usize, word: &str) -> bool {
        self.outside[at] && self.is_word(at, word) && !(at > 0 && self.is_symbol(at - 1, b'.'))
    }

    /// The text of the tokens from `start` on, up to `end`.
    pub(super) fn text(&self, start: usize, end: usize) -> &'a str {
        match self.tokens.get(start..end) {
            Some([first, .., last]) => &self.statement[first.start..last.end()],
            Some([only]) => only.text,
            _ => "",
        }
    }

    /// WITH and its queries, in front of the statement proper.
    pub(super) fn with(&self) -> &'a str {
        let words = ["insert", "update", "merge"];
        let start = words.iter().filter_map(|word| self.find(0, word)).min().unwrap_or_default();
        &self.statement[..self.tokens.get(start).map_or(0, |token| token.start)]
    }

    /// The end of a name with its schema.
    pub(super) fn name(&self, at: usize) -> usize {
        let mut end = at + 1;
        while self.is_symbol(end, b'.') {
            end += 2;
        }
        end
    }

    /// A table with its alias.
    pub(super) fn target(&self, start: usize, end: usize) -> Option<Target<'a>> {
        let named = self.name(start);
        let alias = if named < end { end - 1 } else { named - 1 };
        let alias = self.tokens.get(alias)?;
        let is_name = alias.is_identifier();
        is_name.then(|| Target { table: self.text(start, named), alias: alias.text, text: self.text(start, end) })
    }

    /// The items between the bracket at `open` and the one that closes it, which are separated by commas, and the token
    /// behind it.
    pub(super) fn items(&self, open: usize) -> Option<(Vec<(usize, usize)>, usize)> {
        let close = closing(&self.tokens, open)?;
        let (mut items, mut start, mut at) = (Vec::new(), open + 1, open + 1);
        while at < close {
            match self.tokens[at].kind {
                TokenKind::Symbol(b',') => {
                    items.push((start, at));
                    start = at + 1;
                }
                TokenKind::Symbol(b'(' | b'[' | b'{') => at = closing(&self.tokens, at)?,
                _ => {}
            }
            at += 1;
        }
        items.push((start, close));
        Some((items, close + 1))
    }

    /// The same for names.
    pub(super) fn names(&self, open: usize) -> Option<(Vec<String>, usize)> {
        let (items, end) = self.items(open)?;
        let name = |(start, end): (usize, usize)| {
            (end == start + 1).then(|| self.tokens[start].name()).flatten().map(std::borrow::Cow::into_owned)
        };
        Some((items.into_iter().map(name).collect::<Option<_>>()?, end))
    }
}
