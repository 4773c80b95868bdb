//! SQL text, without a database: what the client and the server need to know of a statement before a database reads it.
//!
//! - [`Dialect`]: whose rules a text follows;
//! - [`lexer`]: its tokens, which together are the whole text; [`Reading`] finds them once for several readers;
//! - [`statement`]: what a statement is, read once when it arrives;
//! - [`split`]: its statements, and where each of them starts;
//! - [`certain`]: the same for a text of which only some rules are known;
//! - [`placeholder`]: `$1` and `$name`, and values in their places;
//! - [`quote`]: names, texts and bytes as a dialect writes them;
//! - [`python`]: where a function's body of Python in braces ends;
//! - [`edit`]: changes of a text, and a map of positions between the old text and the new one.
//!
//! One lexer serves all dialects, and no other crate has a lexer. Its tokens are slices of the text, and none is
//! allocated. It never fails: a token that is not closed reaches to the end of the text. Callers that must be certain
//! refuse a token with a [`Token::fault`], such as text that versions of a database read differently.
//!
//! A [`Statement`] is its text, its place and its [`StatementKind`], which carries what the kind has to say: the name
//! and the value of SET, the source and the options of COPY. It is read as far as its kind needs it, a query to its
//! first word. [`split`] and the reader of CREATE FUNCTION both use [`python`], so the text of a body is never read as
//! SQL.
//!
//! [`edit`] makes an error's position in a rewritten statement a position in the client's statement. `tests/sql/`
//! compares all this with the databases' own parsers.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod certain;
mod dialect;
pub mod edit;
mod escape;
pub mod lexer;
pub mod placeholder;
pub mod python;
pub mod quote;
mod reading;
pub mod split;
pub mod statement;
mod token;

pub use dialect::Dialect;
pub use lexer::{code, tokens};
pub use reading::Reading;
pub use statement::{Statement, StatementKind};
pub use token::{Token, TokenFault, TokenKind, closing, closings};
