//! Removes from CREATE INDEX what PostgreSQL's clients write and DuckDB refuses: `USING btree` or `USING hash`, and
//! operator classes (`varchar_pattern_ops`). They say how the index is stored and which conditions it is good for, and
//! change no result. Other methods stay, and are an error: their classes have another meaning. CONCURRENTLY is removed
//! here and from DROP INDEX, because no index locks out writers.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind, closing};

/// Adds the changes of a CREATE INDEX, if the statement is one.
pub(super) fn methods(tokens: &[Token<'_>], edits: &mut Edits) {
    let index = match tokens {
        [first, index, ..] if index.is_word("index") && first.is_one_of(&["create", "drop"]) => 1,
        [create, unique, index, ..]
            if create.is_word("create") && unique.is_word("unique") && index.is_word("index") =>
        {
            2
        }
        _ => return,
    };
    if let [concurrently, next, ..] = &tokens[index + 1..]
        && concurrently.is_word("concurrently")
        && !next.is_word("on")
    {
        edits.remove(concurrently.range());
    }
    let open = tokens.iter().position(|token| token.is_symbol(b'('));
    let Some((open, close)) = open.and_then(|open| Some((open, closing(tokens, open)?))) else { return };
    if let Some([using, method]) = open.checked_sub(2).and_then(|at| tokens.get(at..open))
        && using.is_word("using")
    {
        if !method.is_one_of(&["btree", "hash"]) {
            return;
        }
        edits.remove(using.start..method.end());
    }
    let mut depth = 0_usize;
    for triple in tokens[open..=close].windows(3) {
        let [before, class, after] = triple else { continue };
        match before.kind {
            TokenKind::Symbol(b'(') => depth += 1,
            TokenKind::Symbol(b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        let follows = !["(", ",", "."].contains(&before.text);
        let is_last = [")", ","].contains(&after.text) || after.is_one_of(&["asc", "desc", "nulls"]);
        if depth == 1 && follows && is_last && is_class(class) {
            edits.remove(class.range());
        }
    }
}

/// Whether it is the name of an operator class, as PostgreSQL's own are called.
fn is_class(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Word && token.text.to_ascii_lowercase().ends_with("_ops")
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn methods_and_classes_are_removed() {
        for (given, expected) in [
            ("create index i on t using btree (a)", "create index i on t  (a)"),
            (
                "CREATE UNIQUE INDEX i ON s.t USING HASH (a text_pattern_ops, lower(b) varchar_ops desc)",
                "CREATE UNIQUE INDEX i ON s.t  (a , lower(b)  desc)",
            ),
            ("create index concurrently if not exists i on t (a)", "create index  if not exists i on t (a)"),
            ("drop index concurrently if exists i", "drop index  if exists i"),
            ("create index concurrently on t (a)", "create index concurrently on t (a)"),
            ("create index i on t (f(a, b_ops), (c) int4_ops)", "create index i on t (f(a, b_ops), (c) )"),
            ("create index i on t (a_ops, b_ops desc)", "create index i on t (a_ops, b_ops desc)"),
            ("create index i on t using gin (a jsonb_path_ops)", "create index i on t using gin (a jsonb_path_ops)"),
            ("create table index (a text_ops)", "create table index (a text_ops)"),
            ("select a text_ops, index from t join u using (a)", "select a text_ops, index from t join u using (a)"),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
        }
    }
}
