//! Other notations of a statement: letter case, spaces of every kind, and comments.

use std::ops::Range;

use colonnade_duckdb::fence::{self, Refusal};

use super::Choices;

/// Text between two tokens. A comment has a space before it, so that no sign joins it.
const SPACES: [&str; 12] = [
    " ",
    "\n",
    "\t\r\n",
    " /* ' ( */",
    "\u{a0}",
    " -- ; ' \n",
    "\u{200b}\u{3000}",
    " /* /* ; */ copy */ ",
    "\u{feff}",
    " --\r",
    "\x0b\x0c",
    "\u{2060} /**/\u{2009}",
];

/// The bytes of each token of a text.
///
/// # Errors
/// If the fence refuses a token.
pub fn tokens(text: &str) -> Result<Vec<Range<usize>>, Refusal> {
    fence::tokens(text).map(|token| token.map(|token| token.start..token.end())).collect()
}

/// The same tokens in another notation, and the start of each.
pub fn rewritten(text: &str, tokens: &[Range<usize>], choices: &mut Choices<'_>) -> (String, Vec<usize>) {
    let (mut out, mut starts) = (String::with_capacity(text.len() * 2), Vec::with_capacity(tokens.len()));
    for token in tokens {
        // A dollar sign and a space beyond ASCII would begin a dollar quote.
        out.push_str(if out.ends_with('$') { " " } else { "" });
        out.push_str(choices.one(&SPACES));
        starts.push(out.len());
        let token = &text[token.clone()];
        if token.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '"' | '`')) && !is_text(token) {
            let style = choices.byte();
            out.extend(token.chars().enumerate().map(|(at, c)| cased(c, at, style)));
        } else {
            out.push_str(token);
        }
    }
    out.push_str(choices.one(&SPACES));
    (out, starts)
}

/// Whether it is a string with a letter before its quote.
fn is_text(token: &str) -> bool {
    token.as_bytes().get(1) == Some(&b'\'')
}

fn cased(c: char, at: usize, style: u8) -> char {
    match style % 4 {
        0 => c,
        1 => c.to_ascii_uppercase(),
        2 => c.to_ascii_lowercase(),
        _ if at % 2 == usize::from(style / 4 % 2) => c.to_ascii_uppercase(),
        _ => c.to_ascii_lowercase(),
    }
}
