//! Gives LIKE and ILIKE PostgreSQL's escape character. Without ESCAPE, it is the backslash in PostgreSQL, and DuckDB has none.
//!
//! `ESCAPE '\'` is written behind the pattern, so that a stored view or condition means the same in every program that opens the database.
//! A constant pattern without a backslash means the same in both, and stays as it is: DuckDB searches faster without ESCAPE.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

const ESCAPE: &str = r" ESCAPE '\'";
/// The operators that have a lower precedence than LIKE. All others have a higher one.
const LOWER: [&str; 8] = ["=", "==", "<", ">", "<=", ">=", "<>", "!="];
const OPERATOR_CHARACTERS: &[u8] = b"+-*/<>=~!@#%^&|";
/// With one of these characters, an operator can end with a sign. Otherwise the sign belongs to the operand behind it.
const BEFORE_SIGN: &[u8] = b"~!@#%^&|";
/// Words that begin no operand.
const NO_OPERANDS: [&str; 6] = ["any", "all", "some", "like", "ilike", "not"];
/// Words of a type behind its first one.
const TYPE_WORDS: [&str; 7] = ["varying", "precision", "with", "without", "time", "zone", "unsigned"];

/// The patterns of a statement's LIKE and ILIKE.
pub(super) struct Patterns<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// For each opening bracket and CASE, the token that closes it.
    closings: Vec<Option<usize>>,
}

impl<'t, 'a> Patterns<'t, 'a> {
    pub fn new(tokens: &'t [Token<'a>]) -> Self {
        let mut closings = vec![None; tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let opens = match token.kind {
                TokenKind::Symbol(b'(' | b'[' | b'{') => {
                    open.push(at);
                    continue;
                }
                TokenKind::Symbol(b')') => b'(',
                TokenKind::Symbol(b']') => b'[',
                TokenKind::Symbol(b'}') => b'{',
                TokenKind::Word if is_name(&tokens[..at]) => continue,
                TokenKind::Word if token.is_word("case") => {
                    open.push(at);
                    continue;
                }
                TokenKind::Word if token.is_word("end") => {
                    if let Some(start) = open.pop_if(|start| tokens[*start].kind == TokenKind::Word) {
                        closings[start] = Some(at);
                    }
                    continue;
                }
                _ => continue,
            };
            // What is open within the brackets is not closed any more.
            while open.pop_if(|start| tokens[*start].kind == TokenKind::Word).is_some() {}
            if let Some(start) = open.pop_if(|start| tokens[*start].is_symbol(opens)) {
                closings[start] = Some(at);
            }
        }
        Self { tokens, closings }
    }

    /// Adds the change of a LIKE or ILIKE at `at`, if it is one with a pattern and without ESCAPE.
    pub fn escape(&self, at: usize, edits: &mut Edits) {
        let tokens = self.tokens;
        // In `SHOW TABLES LIKE`, it is no operator.
        if !tokens[at].is_one_of(&["like", "ilike"]) || tokens[0].is_word("show") || !has_left_operand(&tokens[..at]) {
            return;
        }
        let Some(end) = self.operand(at + 1) else { return };
        if !self.is_word(end, "escape") && !is_plain(&tokens[at + 1..end]) {
            edits.insert(tokens[end - 1].end(), ESCAPE);
        }
    }

    /// The end of the pattern that begins at `at`: an operand with all operators that have a higher precedence than LIKE.
    fn operand(&self, at: usize) -> Option<usize> {
        let mut end = self.primary(at)?;
        loop {
            let operator = operator(&self.tokens[end..]);
            let length = operator.len();
            end = match operator.as_str() {
                "::" => self.type_(end + 2)?,
                "" if self.is_symbol(end, b'.') => self.method(end + 1)?,
                "" if self.is_symbol(end, b'[') => self.closings[end]? + 1,
                "" if self.is_word(end, "collate") => self.path(end + 1)?,
                "" if self.is_word(end, "at") && self.is_word(end + 1, "time") => self.primary(end + 3)?,
                "" if self.is_word(end, "operator") && self.is_symbol(end + 1, b'(') => {
                    self.primary(self.closings[end + 1]? + 1)?
                }
                lower if lower.is_empty() || LOWER.contains(&lower) => return Some(end),
                _ => self.primary(end + length)?,
            };
        }
    }

    /// The end of an operand without binary operators.
    fn primary(&self, mut at: usize) -> Option<usize> {
        while let TokenKind::Symbol(b'+' | b'-' | b'~' | b'!' | b'@' | b'#') = self.tokens.get(at)?.kind {
            at += 1;
        }
        let token = &self.tokens[at];
        match token.kind {
            TokenKind::Text => Some(self.texts(at)),
            TokenKind::Number | TokenKind::Positional | TokenKind::Named => Some(at + 1),
            TokenKind::Symbol(b'(' | b'[' | b'{') => Some(self.closings[at]? + 1),
            TokenKind::Word if token.is_word("case") => Some(self.closings[at]? + 1),
            TokenKind::Word if token.is_one_of(&NO_OPERANDS) => None,
            TokenKind::Word | TokenKind::Name => self.named(at),
            _ => None,
        }
    }

    /// The end of a column, a call, or a literal with its type in front.
    fn named(&self, at: usize) -> Option<usize> {
        let end = self.path(at)?;
        if self.is_word(at, "array") && self.is_symbol(end, b'[')
            || self.is_word(at, "map") && self.is_symbol(end, b'{')
        {
            return Some(self.closings[end]? + 1);
        }
        let literal = self.type_(at)?;
        if self.is_kind(literal, TokenKind::Text) {
            return Some(self.texts(literal));
        }
        if !self.is_symbol(end, b'(') {
            return Some(end);
        }
        let mut end = self.closings[end]? + 1;
        loop {
            let open = match self.tokens.get(end) {
                Some(word) if word.is_one_of(&["filter", "over"]) => end + 1,
                Some(word) if word.is_word("within") && self.is_word(end + 1, "group") => end + 2,
                _ => return Some(end),
            };
            end = match self.is_symbol(open, b'(') {
                true => self.closings[open]? + 1,
                // The name of a window.
                false if self.is_word(end, "over") => self.name(open)?,
                false => return Some(end),
            };
        }
    }

    /// The end of a name that may have dots.
    fn path(&self, at: usize) -> Option<usize> {
        let mut end = self.name(at)?;
        while self.is_symbol(end, b'.') {
            end = self.name(end + 1)?;
        }
        Some(end)
    }

    /// The end of a field, or of a function that is called like a field.
    fn method(&self, at: usize) -> Option<usize> {
        let end = self.name(at)?;
        if self.is_symbol(end, b'(') { Some(self.closings[end]? + 1) } else { Some(end) }
    }

    fn name(&self, at: usize) -> Option<usize> {
        let is_name = |token: &Token<'_>| matches!(token.kind, TokenKind::Word | TokenKind::Name);
        self.tokens.get(at).filter(|token| is_name(token)).map(|_| at + 1)
    }

    /// The end of a type: `timestamp(3) with time zone`, `double precision[]`.
    fn type_(&self, at: usize) -> Option<usize> {
        let mut end = self.path(at)?;
        loop {
            end = match self.tokens.get(end) {
                Some(word) if word.is_one_of(&TYPE_WORDS) => end + 1,
                Some(open) if matches!(open.kind, TokenKind::Symbol(b'(' | b'[')) => self.closings[end]? + 1,
                _ => return Some(end),
            };
        }
    }

    /// The end of strings that follow each other, which are one.
    fn texts(&self, at: usize) -> usize {
        at + self.tokens[at..].iter().take_while(|token| token.kind == TokenKind::Text).count()
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(word))
    }

    fn is_symbol(&self, at: usize, symbol: u8) -> bool {
        self.is_kind(at, TokenKind::Symbol(symbol))
    }

    fn is_kind(&self, at: usize, kind: TokenKind) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == kind)
    }
}

/// The operator at the beginning: all characters of operators that follow each other without a space. Empty if there is none.
fn operator(tokens: &[Token<'_>]) -> String {
    let mut found = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let touches = at == 0 || tokens[at - 1].end() == token.start;
        match token.kind {
            TokenKind::Symbol(b':') if touches && at < 2 => found.push(':'),
            TokenKind::Symbol(symbol) if touches && OPERATOR_CHARACTERS.contains(&symbol) => found.push(symbol.into()),
            _ => break,
        }
    }
    if found.starts_with(':') {
        return if found.starts_with("::") { "::".to_owned() } else { String::new() };
    }
    if !found.bytes().any(|character| BEFORE_SIGN.contains(&character)) {
        while found.len() > 1 && found.ends_with(['+', '-']) {
            found.pop();
        }
    }
    found
}

/// `CREATE TABLE t (LIKE other)` has no operand before it, and a name of a column is behind AS or a point.
fn has_left_operand(before: &[Token<'_>]) -> bool {
    before.last().is_some_and(|last| match last.kind {
        TokenKind::Symbol(symbol) => matches!(symbol, b')' | b']' | b'}'),
        _ => !last.is_word("as"),
    })
}

/// A word behind a point or AS is a name, also if it is a keyword.
fn is_name(before: &[Token<'_>]) -> bool {
    before.last().is_some_and(|last| last.is_symbol(b'.') || last.is_word("as"))
}

/// Whether a pattern is a constant without a backslash, or a cast of one.
fn is_plain(pattern: &[Token<'_>]) -> bool {
    let texts = pattern.iter().take_while(|token| token.kind == TokenKind::Text).count();
    // This comes first, because patterns within patterns are looked at again with each one around them.
    if texts == 0 || pattern.get(texts).is_some_and(|next| !next.is_symbol(b':')) {
        return false;
    }
    let has_operator =
        pattern[texts..].iter().any(|token| matches!(token.kind, TokenKind::Text | TokenKind::Positional));
    !has_operator && !pattern[..texts].iter().any(|token| token.text.contains('\\'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn patterns_that_may_have_a_backslash_get_the_escape_character() {
        for (given, pattern, rest) in [
            ("a LIKE ", r"'x\_y'", ""),
            ("a not ilike ", "$1", " and b"),
            ("a like ", "b", " or c like 'd'"),
            ("a like ", r"'x\_' 'y'", " or c"),
            ("a like ", r"E'x\\_'", ")"),
            ("a like ", "$1::varchar(10)", " = true"),
            ("a like ", "$1::character varying[]", ", b"),
            ("a like ", "b::timestamp(3) with time zone", " is null"),
            ("a like ", "'%' || $1 || '%'", " order by a"),
            ("a like ", "'%' ||-b", ""),
            ("a like ", "b", "=-1"),
            ("a like ", "b <-> c", " <= d"),
            ("a like ", "- b", " then c"),
            ("a like ", "t.\"b\"[1:2].c", " from t"),
            ("a like ", "(b).c", " group by d"),
            ("a like ", "f(b, c).g(d)", " limit 1"),
            ("a like ", "array[b, c][1]", ""),
            ("a like ", "[b for c in d if c like 'e'][1]", ""),
            ("a like ", "map {'x': b}['x']", ""),
            ("a like ", "{'x': b}.x", " is not null"),
            ("a like ", "case when b then case c when d then e end end || f", " end"),
            ("a like ", "cast(b as text)", " alias"),
            ("a like ", "(select b where c like 'd')", ";"),
            ("a like ", "max(b) filter (where c) over (partition by d)", " as e"),
            ("a like ", "max(b) over w", " as e"),
            ("a like ", "string_agg(b) within group (order by c)", " e"),
            ("a like ", "b collate nocase.noaccent || c", " as c"),
            ("a like ", "b at time zone 'x' || c", ""),
            ("a like ", "b operator(pg.||) c", " union all"),
            ("a like ", r"text 'a\b'", " c"),
            ("create view v as select f(a) ilike ", "b", " as c"),
            ("a like ", "f(b.case)", " or c"),
            ("a like ", "(select b as case)", " or c"),
            ("a like ", "f({case: b}.case)", " or c"),
            ("a like ", "case when b.end then c.case end || d", " end"),
        ] {
            let escaped = format!(r"{given}{pattern} ESCAPE '\'{rest}");
            assert_eq!(rewritten(&format!("{given}{pattern}{rest}")), escaped);
            assert_eq!(rewritten(&escaped), escaped);
        }
    }

    #[test]
    fn patterns_within_patterns_get_it_too() {
        assert_eq!(
            rewritten("a like (select b where c like $1)"),
            r"a like (select b where c like $1 ESCAPE '\') ESCAPE '\'"
        );
    }

    #[test]
    fn other_statements_stay() {
        for given in [
            "a like '%x%'",
            "a like 'x' 'y'::text and b",
            "a like b escape '!'",
            "a like 'x' || b escape ''",
            "create table t (like other)",
            "create table t (a int, like other including all)",
            "select a as like, b as ilike from t",
            "select t.like from t",
            "select \"like\" from t",
            "show tables like b",
            "a like any (b)",
            "a like (b",
            "a like",
            "like b",
            "a like )",
            "a like case b",
        ] {
            assert_eq!(rewritten(given), given);
        }
    }
}
