//! The operands of a statement's operators.

use colonnade_sql::{Token, TokenKind};

/// The operators that have a lower precedence than all others.
const LOWER: [&str; 8] = ["=", "==", "<", ">", "<=", ">=", "<>", "!="];
const OPERATOR_CHARACTERS: &[u8] = b"+-*/<>=~!@#%^&|";
/// With one of these characters, an operator can end with a sign. Otherwise the sign belongs to the operand behind it.
const BEFORE_SIGN: &[u8] = b"~!@#%^&|";
/// Words that begin no operand.
const NO_OPERANDS: [&str; 6] = ["any", "all", "some", "like", "ilike", "not"];
/// Words before a parenthesis that call nothing.
const NOT_CALLED: [&str; 17] = [
    "and",
    "or",
    "not",
    "in",
    "select",
    "where",
    "on",
    "when",
    "then",
    "else",
    "by",
    "having",
    "set",
    "returning",
    "distinct",
    "between",
    "values",
];
/// Words of a type behind its first one.
const TYPE_WORDS: [&str; 7] = ["varying", "precision", "with", "without", "time", "zone", "unsigned"];

/// The tokens of a statement, with the brackets between which operands are.
pub(super) struct Operands<'t, 'a> {
    pub tokens: &'t [Token<'a>],
    /// For each opening bracket and CASE, the token that closes it.
    pub closings: Vec<Option<usize>>,
    /// The other way.
    openings: Vec<Option<usize>>,
}

impl<'t, 'a> Operands<'t, 'a> {
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
        let mut openings = vec![None; tokens.len()];
        for (opening, closing) in closings.iter().enumerate().filter_map(|(at, closing)| Some((at, (*closing)?))) {
            openings[closing] = Some(opening);
        }
        Self { tokens, closings, openings }
    }

    /// The end of what begins at `at`: an operand with all operators that have a higher precedence than LIKE and
    /// comparisons.
    pub fn operand(&self, at: usize) -> Option<usize> {
        let mut end = self.primary(at)?;
        loop {
            end = self.with_suffixes(end)?;
            let operator = operator(&self.tokens[end..]);
            let length = operator.len();
            end = match operator.as_str() {
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

    /// The end of an operand with its casts, subscripts and fields.
    pub fn single(&self, at: usize) -> Option<usize> {
        self.with_suffixes(self.primary(at)?)
    }

    fn with_suffixes(&self, mut end: usize) -> Option<usize> {
        loop {
            end = match operator(&self.tokens[end..]).as_str() {
                "::" => self.type_(end + 2)?,
                "" if self.is_symbol(end, b'.') => self.method(end + 1)?,
                "" if self.is_symbol(end, b'[') => self.closings[end]? + 1,
                _ => return Some(end),
            };
        }
    }

    /// The start of such an operand, which ends before `end`.
    pub fn start_of_single(&self, end: usize) -> Option<usize> {
        let mut at = end.checked_sub(1)?;
        loop {
            let token = self.tokens.get(at)?;
            match token.kind {
                TokenKind::Symbol(b']') => {
                    at = self.openings[at]?.checked_sub(1)?;
                    continue;
                }
                TokenKind::Symbol(b')') => {
                    at = self.openings[at]?;
                    let named = at.checked_sub(1).map(|before| &self.tokens[before]);
                    // They belong to a call, which is before them.
                    if named.is_some_and(|word| word.is_one_of(&["over", "filter"])) {
                        at = at.checked_sub(2)?;
                        continue;
                    }
                    if named.is_some_and(|word| word.is_word("group")) {
                        at = at.checked_sub(3)?;
                        continue;
                    }
                    at -= usize::from(named.is_some_and(|name| name.is_identifier() && !name.is_one_of(&NOT_CALLED)));
                }
                // A type may be in front of a text.
                TokenKind::Text => at -= usize::from(at > 0 && self.tokens[at - 1].is_one_of(&["json", "jsonb"])),
                TokenKind::Word if token.is_word("end") => at = self.openings[at]?,
                // The name of a window.
                TokenKind::Word | TokenKind::Name if at > 0 && self.is_word(at - 1, "over") => {
                    at = at.checked_sub(2)?;
                    continue;
                }
                TokenKind::Symbol(_) | TokenKind::Space | TokenKind::Comment => return None,
                _ => {}
            }
            let before = |back: usize| at.checked_sub(back).map(|at| &self.tokens[at]);
            at = match (before(2), before(1)) {
                (Some(_), Some(point)) if point.is_symbol(b'.') => at - 2,
                (Some(colon), Some(second)) if colon.is_symbol(b':') && second.is_symbol(b':') => at.checked_sub(3)?,
                _ => return Some(at),
            };
        }
    }

    /// The start of what ends before `end`: an operand with all operators that have a higher precedence than LIKE and
    /// comparisons.
    pub fn start_of_operand(&self, end: usize) -> Option<usize> {
        let mut at = self.start_of_single(end)?;
        loop {
            let follows = |word| at > 0 && self.is_word(at - 1, word);
            let start = operator_before(self.tokens, at);
            let operator = operator(&self.tokens[start..at]);
            let is_binary =
                start > 0 && !self.tokens[start - 1].is_one_of(&NOT_CALLED) && !self.is_word(start - 1, "case");
            let left = if !operator.is_empty() {
                if LOWER.contains(&operator.as_str()) {
                    return Some(start + operator.len());
                }
                is_binary.then(|| self.start_of_single(start)).flatten()
            } else if follows("collate") {
                Some(self.start_of_single(at - 1)?)
            } else if follows("zone") {
                Some(self.start_of_single(at.checked_sub(3)?)?)
            } else {
                None
            };
            match left {
                Some(left) => at = left,
                // What is left of it are its signs.
                None => return Some(start),
            }
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
        self.tokens.get(at).filter(|token| token.is_identifier()).map(|_| at + 1)
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
    pub fn texts(&self, at: usize) -> usize {
        at + self.tokens[at..].iter().take_while(|token| token.kind == TokenKind::Text).count()
    }

    pub fn is_word(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(word))
    }

    pub fn is_symbol(&self, at: usize, symbol: u8) -> bool {
        self.is_kind(at, TokenKind::Symbol(symbol))
    }

    fn is_kind(&self, at: usize, kind: TokenKind) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == kind)
    }
}

/// The operator at the beginning: all characters of operators that follow each other without a space. Empty if there is
/// none.
pub(super) fn operator(tokens: &[Token<'_>]) -> String {
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

/// The first token of the operator that ends before `end`, which is `end` if there is none.
pub(super) fn operator_before(tokens: &[Token<'_>], end: usize) -> usize {
    let is_part = |at: usize| {
        let touches = at + 1 == end || tokens[at].end() == tokens[at + 1].start;
        touches && matches!(tokens[at].kind, TokenKind::Symbol(symbol) if OPERATOR_CHARACTERS.contains(&symbol))
    };
    end - (0..end).rev().take_while(|at| is_part(*at)).count()
}

/// A word behind a point or AS is a name, also if it is a keyword.
fn is_name(before: &[Token<'_>]) -> bool {
    before.last().is_some_and(|last| last.is_symbol(b'.') || last.is_word("as"))
}
