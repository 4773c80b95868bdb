//! The list in CREATE TABLE and CREATE TYPE: columns and constraints, or fields.

use colonnade_sql::Token;

/// Where the list is in a statement that creates a table or a type by one.
pub(crate) struct CreatedList {
    /// The parenthesis that begins it.
    pub(crate) open: usize,
    pub(crate) is_of_table: bool,
}

impl CreatedList {
    pub(crate) fn find(tokens: &[Token<'_>]) -> Option<Self> {
        let kind = created(tokens)?;
        let is_of_table = kind.is_word("table");
        if !is_of_table && !kind.is_word("type") {
            return None;
        }
        // CREATE TABLE … AS has no list of its own, and in CREATE TYPE the list is behind AS.
        let open = tokens.iter().position(|token| token.is_symbol(b'(') || is_of_table && token.is_word("as"))?;
        tokens[open].is_symbol(b'(').then_some(Self { open, is_of_table })
    }
}

/// What a statement creates: TABLE, TYPE, VIEW and so on.
pub(crate) fn created<'t, 's>(tokens: &'t [Token<'s>]) -> Option<&'t Token<'s>> {
    const BETWEEN: [&str; 7] = ["or", "replace", "temp", "temporary", "unlogged", "local", "global"];
    let (create, others) = tokens.split_first()?;
    create.is_word("create").then(|| others.iter().find(|token| !token.is_one_of(&BETWEEN)))?
}
