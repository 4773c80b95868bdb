//! Where a Python text in braces ends.
//!
//! `CREATE FUNCTION … LANGUAGE PYTHON { body }` has no quotes around the body, so only Python's tokens tell which brace
//! closes it: a brace may stand in a string, in a comment, or in an expression of an f-string. The rules are those of
//! CPython's tokenizer (`Parser/lexer/lexer.c`). Its rules for f-strings since version 3.12 read every text that 3.11
//! accepts in the same way. Only brackets, strings and comments are looked at; what else is wrong with a body is found
//! by the interpreter.

/// Why no end was found. Positions are bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBody {
    /// What is not closed, or does not fit.
    pub what: &'static str,
    /// Where that begins.
    pub at: usize,
}

/// The most brackets and f-strings that may be open at once; CPython's own limits are 200 brackets and 150 f-strings.
const MAX_OPEN: usize = 400;

/// The byte of the brace that closes the body which begins at byte `start` of a text, behind the brace that opens it.
///
/// # Errors
/// If a string, a bracket or the body itself is not closed.
pub fn body_end(text: &str, start: usize) -> Result<usize, OpenBody> {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: start, open: Vec::new() };
    scanner.open(b'}', start.saturating_sub(1))?;
    scanner.code()
}

/// What is open, with the byte where it begins.
#[derive(Clone, Copy)]
enum Open {
    /// A bracket, and the byte that closes it.
    Bracket(u8, usize),
    /// The literal part of an f-string.
    Text(Quote, usize),
    /// The braces of an expression in an f-string.
    Expression(Quote, usize),
    /// The format specification of such an expression.
    Specification(Quote, usize),
}

/// How a string is quoted.
#[derive(Clone, Copy)]
struct Quote {
    mark: u8,
    is_triple: bool,
    is_raw: bool,
}

impl Quote {
    fn length(self) -> usize {
        if self.is_triple { 3 } else { 1 }
    }
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    open: Vec<Open>,
}

const UNCLOSED_BODY: &str = "the body is not closed: } is missing";
const UNCLOSED_STRING: &str = "a string in the body is not closed";
const UNCLOSED_BRACKET: &str = "a bracket in the body is closed by another one";
const TOO_DEEP: &str = "the body has too many brackets and f-strings within each other";

impl Scanner<'_> {
    fn open(&mut self, close: u8, at: usize) -> Result<(), OpenBody> {
        self.push(Open::Bracket(close, at), at)
    }

    fn push(&mut self, open: Open, at: usize) -> Result<(), OpenBody> {
        if self.open.len() >= MAX_OPEN {
            return Err(OpenBody { what: TOO_DEEP, at });
        }
        self.open.push(open);
        Ok(())
    }

    /// Reads to the brace that closes the body.
    fn code(&mut self) -> Result<usize, OpenBody> {
        loop {
            match self.open.last().copied() {
                Some(Open::Text(quote, start)) => self.literal(quote, start, false)?,
                Some(Open::Specification(quote, start)) => self.literal(quote, start, true)?,
                Some(Open::Bracket(close, start)) => {
                    if let Some(end) = self.step(close, start)? {
                        return Ok(end);
                    }
                }
                Some(Open::Expression(quote, start)) => self.expression(quote, start)?,
                None => return Err(OpenBody { what: UNCLOSED_BODY, at: self.at }),
            }
        }
    }

    /// Reads one token within brackets. Gives the byte that closes the body.
    fn step(&mut self, close: u8, start: usize) -> Result<Option<usize>, OpenBody> {
        let Some(byte) = self.bytes.get(self.at).copied() else {
            let (what, at) = match self.open.first() {
                Some(Open::Bracket(_, first)) if self.open.len() == 1 => (UNCLOSED_BODY, *first),
                _ => ("a bracket in the body is not closed", start),
            };
            return Err(OpenBody { what, at });
        };
        match byte {
            b')' | b']' | b'}' if byte == close => {
                self.open.pop();
                self.at += 1;
                Ok(self.open.is_empty().then_some(self.at - 1))
            }
            b')' | b']' | b'}' => Err(OpenBody { what: UNCLOSED_BRACKET, at: start }),
            _ => self.token(byte).map(|()| None),
        }
    }

    /// Reads one token of an expression in an f-string.
    fn expression(&mut self, quote: Quote, start: usize) -> Result<(), OpenBody> {
        match self.bytes.get(self.at).copied() {
            None => Err(OpenBody { what: UNCLOSED_STRING, at: start }),
            Some(b'}') => {
                self.open.pop();
                self.at += 1;
                Ok(())
            }
            // Everything behind a colon outside of brackets, also behind that of a lambda, is the specification.
            Some(b':') => {
                self.open.pop();
                self.at += 1;
                self.push(Open::Specification(quote, start), start)
            }
            Some(b')' | b']') => Err(OpenBody { what: UNCLOSED_BRACKET, at: start }),
            Some(byte) => self.token(byte),
        }
    }

    /// Reads a token that closes nothing.
    fn token(&mut self, byte: u8) -> Result<(), OpenBody> {
        match byte {
            b'(' | b'[' | b'{' => {
                let close = match byte {
                    b'(' => b')',
                    b'[' => b']',
                    _ => b'}',
                };
                self.open(close, self.at)?;
                self.at += 1;
            }
            b'#' => {
                // To CPython, a carriage return alone ends a line too.
                let line = self.bytes[self.at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                self.at = line.map_or(self.bytes.len(), |length| self.at + length);
            }
            b'\'' | b'"' => self.string("")?,
            _ if is_word(byte) => {
                let length = self.bytes[self.at..].iter().position(|byte| !is_word(*byte));
                let start = self.at;
                self.at = length.map_or(self.bytes.len(), |length| start + length);
                if matches!(self.bytes.get(self.at), Some(b'\'' | b'"')) {
                    let prefix = self.text.get(start..self.at).unwrap_or_default();
                    self.string(prefix)?;
                }
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    /// Reads a string from its quotes on, or the beginning of an f-string. `prefix` is the word before the quotes.
    fn string(&mut self, prefix: &str) -> Result<(), OpenBody> {
        let start = self.at;
        let mark = self.bytes[start];
        let is_triple = self.bytes[start..].starts_with(&[mark; 3]);
        let prefix = prefix.to_ascii_lowercase();
        let is_formatted = matches!(prefix.as_str(), "f" | "fr" | "rf" | "t" | "tr" | "rt");
        let quote = Quote { mark, is_triple, is_raw: prefix.contains('r') };
        self.at += quote.length();
        if is_formatted {
            return self.push(Open::Text(quote, start), start);
        }
        let unclosed = OpenBody { what: UNCLOSED_STRING, at: start };
        loop {
            match self.bytes.get(self.at).copied().ok_or(unclosed)? {
                // Also in a raw string, a backslash keeps a quote from closing it.
                b'\\' => self.at += 2,
                b'\n' | b'\r' if !is_triple => return Err(unclosed),
                byte if byte == mark && self.closes(quote) => {
                    self.at += quote.length();
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// Reads the literal part of an f-string, or a specification, to its end or to the next expression.
    fn literal(&mut self, quote: Quote, start: usize, is_specification: bool) -> Result<(), OpenBody> {
        let unclosed = OpenBody { what: UNCLOSED_STRING, at: start };
        loop {
            let next = self.bytes.get(self.at + 1).copied();
            match self.bytes.get(self.at).copied().ok_or(unclosed)? {
                b'\\' if matches!(next, Some(b'{' | b'}')) => self.at += 1,
                b'\\' if !quote.is_raw && self.bytes[self.at..].starts_with(br"\N{") => {
                    let name = self.bytes[self.at..].iter().position(|byte| *byte == b'}').ok_or(unclosed)?;
                    self.at += name + 1;
                }
                b'\\' => self.at += 2,
                b'{' if next == Some(b'{') && !is_specification => self.at += 2,
                b'{' => {
                    self.push(Open::Expression(quote, self.at), self.at)?;
                    self.at += 1;
                    return Ok(());
                }
                b'}' => {
                    self.at += 1;
                    if is_specification {
                        self.open.pop();
                        return Ok(());
                    }
                }
                b'\n' | b'\r' if !quote.is_triple => return Err(unclosed),
                byte if byte == quote.mark && self.closes(quote) => {
                    if is_specification {
                        return Err(unclosed);
                    }
                    self.at += quote.length();
                    self.open.pop();
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// Whether the quote here closes the string.
    fn closes(&self, quote: Quote) -> bool {
        !quote.is_triple || self.bytes[self.at..].starts_with(&[quote.mark; 3])
    }
}

/// Whether a byte belongs to a name, a keyword or a number. Bytes outside ASCII belong to names.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_brace_of_the_body_closes_it() {
        for body in [
            "",
            " return x ",
            " return {'a': {1: 2}} ",
            " return '}' ",
            " return \"}\" # }\n",
            " # it's }\n return x # \"\n",
            " # }\r return x",
            " return '''}'\n''}''' ",
            " return 'a\\'}' ",
            " return r'\\'}' ",
            " return rb'}' + Rb'\\\\' ",
            " return f'{x}}}' ",
            " return f'{{' ",
            " return f'{x:{width}}}}' ",
            " return f'{x!r:>{w}}' ",
            " return f'{d[\"}\"]}' ",
            " return f\"{d[\"}\"]}\" ",
            " return f'{ {1: 2}[1] }' ",
            " return f'\\N{RIGHT CURLY BRACKET}' ",
            " return rf'\\{x}' ",
            " return f'''{\n x # }\n}''' ",
            " return f'{(lambda y: y)(x)}' ",
            " return é'}' ",
            " return x if y else\\\n'}' ",
            " return 1if'}'else 2 ",
        ] {
            let text = format!("{{{body}}}; select '");
            assert_eq!(body_end(&text, 1), Ok(body.len() + 1), "{body}");
        }
    }

    #[test]
    fn what_is_not_closed_is_named() {
        for (text, what, at) in [
            ("{ return x", UNCLOSED_BODY, 0),
            ("{ return 'x }", UNCLOSED_STRING, 9),
            ("{ return 'x\n' }", UNCLOSED_STRING, 9),
            ("{ return (x }", UNCLOSED_BRACKET, 9),
            ("{ return f'{x' }", UNCLOSED_STRING, 13),
            ("{ return f'{x:' }", UNCLOSED_STRING, 11),
            ("{ return '\\", UNCLOSED_STRING, 9),
            ("{ return [", "a bracket in the body is not closed", 9),
        ] {
            assert_eq!(body_end(text, 1), Err(OpenBody { what, at }), "{text}");
        }
        assert_eq!(body_end(&"[".repeat(1000), 1).unwrap_err().what, TOO_DEEP);
        assert_eq!(body_end(&"f'{".repeat(1000), 1).unwrap_err().what, TOO_DEEP);
    }

    proptest! {
        #[test]
        fn an_end_is_a_brace_of_the_text(
            text in "(\\{|\\}|\\(|\\)|\\[|\\]|'|\"|'''|f'|rf\"|r'|#|\n|\r|\\\\|:|!|=|N|x|é| ){0,32}"
        ) {
            match body_end(&text, 0) {
                Ok(end) => prop_assert_eq!(text.as_bytes()[end], b'}'),
                Err(OpenBody { at, .. }) => prop_assert!(at <= text.len()),
            }
            // What follows a body has no effect on its end.
            if let Ok(end) = body_end(&text, 0) {
                prop_assert_eq!(body_end(&text[..=end], 0), Ok(end));
            }
        }
    }
}
