//! Text of databases for a terminal: escapes for the characters that control it or change the order of text.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is invisible and changes how others are shown: control characters, and format characters that
/// change the direction of text (<https://trojansource.codes>), hide text, or break lines. The joiners of scripts and
/// of emoji are not included.
fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text, with escapes such as `\x1b` and `\u{202e}` for these characters. With `lines`, line breaks and tabs stay.
pub fn printable(text: &str, lines: bool) -> Cow<'_, str> {
    let escaped = |letter: char| steers(letter) && !(lines && matches!(letter, '\n' | '\t'));
    if !text.contains(escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        // Writing to a String cannot fail.
        let _ = match letter {
            letter if !escaped(letter) => shown.write_char(letter),
            '\n' | '\t' | '\r' => write!(shown, "{}", letter.escape_default()),
            letter if u32::from(letter) < 0x100 => write!(shown, "\\x{:02x}", u32::from(letter)),
            letter => write!(shown, "\\u{{{:x}}}", u32::from(letter)),
        };
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown() {
        assert_eq!(printable("\x1b[2J\x1b]0;title\x07 \u{9b}31m", true), "\\x1b[2J\\x1b]0;title\\x07 \\x9b31m");
        assert_eq!(printable("a\u{202e}b\u{2066}c\r", true), "a\\u{202e}b\\u{2066}c\\r");
        assert_eq!(printable("two\n\tlines", true), "two\n\tlines");
        assert_eq!(printable("two\n\tlines", false), "two\\n\\tlines");
        for text in ["", "plain", "käse 漢字 עברית", "👩\u{200d}👩", "می\u{200c}خواهم"] {
            assert!(matches!(printable(text, false), Cow::Borrowed(same) if same == text));
        }
    }

    proptest! {
        #[test]
        fn nothing_that_steers_is_left(text in ".{0,40}") {
            let shown = printable(&text, false);
            prop_assert!(!shown.contains(steers));
            prop_assert_eq!(printable(&shown, false), &*shown);
        }
    }
}
