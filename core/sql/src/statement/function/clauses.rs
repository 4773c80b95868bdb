//! The clauses of CREATE FUNCTION, in any order.

use super::{BodyQuoting, FunctionBody, FunctionLanguage, FunctionSyntaxError, ParallelSafety, Volatility};
use crate::statement::SyntaxError;
use crate::statement::parser::Parser;
use crate::{Token, TokenKind};

/// What the clauses say; `None` for a clause that is not there.
#[derive(Default)]
pub(super) struct Clauses {
    pub language: Option<FunctionLanguage>,
    pub body: Option<FunctionBody>,
    pub volatility: Option<Volatility>,
    pub is_strict: Option<bool>,
    pub parallel: Option<ParallelSafety>,
    pub is_arrow: Option<bool>,
    pub scalars: Option<Vec<String>>,
    cost: Option<()>,
    rows: Option<()>,
}

/// What PostgreSQL has and this server refuses, by its first word.
const REFUSED: [(&str, &str, &str); 5] = [
    ("set", "SET for a function", "A function has no settings; set them in the session."),
    ("window", "WINDOW", "An aggregate can be called with OVER."),
    ("leakproof", "LEAKPROOF", "Leave it out."),
    ("transform", "TRANSFORM", "Leave it out."),
    ("support", "SUPPORT", "Leave it out."),
];
/// PostgreSQL's languages for Python.
const POSTGRES_PYTHON: [&str; 3] = ["plpython3u", "plpythonu", "plpython2u"];

impl Clauses {
    /// Reads to the end of the statement.
    pub fn read(parser: &mut Parser<'_>) -> Result<Self, FunctionSyntaxError> {
        let mut found = Self::default();
        while let Some(token) = parser.peek() {
            let repeated = parser.error("each clause once");
            let is_first = if token.is_symbol(b'{') {
                set(&mut found.body, braces(parser)?)
            } else {
                found.clause(parser, &token)?
            };
            if !is_first {
                return Err(repeated.into());
            }
        }
        Ok(found)
    }

    /// Reads one clause. Returns false for a repeated clause.
    fn clause(&mut self, parser: &mut Parser<'_>, first: &Token<'_>) -> Result<bool, FunctionSyntaxError> {
        let position = parser.error("").position;
        if let Some((_, what, hint)) = REFUSED.iter().find(|(word, ..)| first.is_word(word)) {
            return Err(FunctionSyntaxError::Unsupported { what, hint, position });
        }
        let unknown = parser.error("a clause such as LANGUAGE, AS, IMMUTABLE or STRICT");
        if first.kind == TokenKind::Text && self.language.is_some() && self.body.is_none() {
            // MonetDB's form.
            let hint = "Write the body itself: AS $$ … $$.";
            return Err(FunctionSyntaxError::Unsupported { what: "a body in a file", hint, position });
        }
        parser.take();
        let word = if first.kind == TokenKind::Word { first.text.to_ascii_lowercase() } else { String::new() };
        Ok(match word.as_str() {
            "language" => set(&mut self.language, language(parser)?),
            "as" => set(&mut self.body, quoted(parser)?),
            "immutable" => set(&mut self.volatility, Volatility::Immutable),
            "stable" => set(&mut self.volatility, Volatility::Stable),
            "volatile" => set(&mut self.volatility, Volatility::Volatile),
            "strict" => set(&mut self.is_strict, true),
            "returns" => {
                phrase(parser, &["null", "on", "null", "input"], "NULL ON NULL INPUT")?;
                set(&mut self.is_strict, true)
            }
            "called" => {
                phrase(parser, &["on", "null", "input"], "ON NULL INPUT")?;
                set(&mut self.is_strict, false)
            }
            "parallel" => {
                const EXPECTED: &str = "SAFE, RESTRICTED or UNSAFE";
                let choices = [
                    ("safe", ParallelSafety::Safe),
                    ("restricted", ParallelSafety::Restricted),
                    ("unsafe", ParallelSafety::Unsafe),
                ];
                set(&mut self.parallel, one_of(parser, &choices, EXPECTED)?)
            }
            "parameter" => {
                parser.expect("style", "STYLE NUMPY or STYLE ARROW")?;
                set(&mut self.is_arrow, one_of(parser, &[("numpy", false), ("arrow", true)], "NUMPY or ARROW")?)
            }
            "scalar" => set(&mut self.scalars, names(parser)?),
            "cost" => set(&mut self.cost, number(parser)?),
            "rows" => set(&mut self.rows, number(parser)?),
            "security" | "external" => {
                if word == "external" {
                    parser.expect("security", "SECURITY")?;
                }
                if parser.word("definer") {
                    let hint = "A function runs with the rights of its caller; leave it out.";
                    return Err(FunctionSyntaxError::Unsupported { what: "SECURITY DEFINER", hint, position });
                }
                parser.expect("invoker", "INVOKER")?;
                true
            }
            _ => return Err(unknown.into()),
        })
    }
}

/// Sets what a clause says. Gives whether it was not set before.
fn set<T>(place: &mut Option<T>, value: T) -> bool {
    place.replace(value).is_none()
}

fn phrase(parser: &mut Parser<'_>, words: &[&str], expected: &'static str) -> Result<(), SyntaxError> {
    words.iter().try_for_each(|word| parser.expect(word, expected))
}

fn one_of<T: Copy>(parser: &mut Parser<'_>, choices: &[(&str, T)], expected: &'static str) -> Result<T, SyntaxError> {
    let error = parser.error(expected);
    let found = choices.iter().find(|(word, _)| parser.word(word));
    found.map(|(_, value)| *value).ok_or(error)
}

fn language(parser: &mut Parser<'_>) -> Result<FunctionLanguage, FunctionSyntaxError> {
    let error = parser.error("PYTHON or PYTHON_MAP");
    let position = error.position;
    let token = parser.take().ok_or_else(|| error.clone())?;
    let name = match token.kind {
        TokenKind::Word | TokenKind::Name => token.folded().into_owned(),
        // As in older versions of PostgreSQL, a string, in which case does not matter.
        TokenKind::Text => token.string(parser.dialect).ok_or(error)?.to_ascii_lowercase(),
        _ => return Err(error.into()),
    };
    match name.as_str() {
        "python" => Ok(FunctionLanguage::Python),
        "python_map" => Ok(FunctionLanguage::PythonMap),
        _ if POSTGRES_PYTHON.contains(&name.as_str()) => Err(FunctionSyntaxError::Unsupported {
            what: "PostgreSQL's language for Python",
            hint: "Its functions take single values. Write LANGUAGE PYTHON_MAP: the parameters are arrays of NumPy.",
            position,
        }),
        _ => Err(FunctionSyntaxError::UnknownLanguage { name, position }),
    }
}

/// The body in quotes.
fn quoted(parser: &mut Parser<'_>) -> Result<FunctionBody, FunctionSyntaxError> {
    let error = parser.error("the body in dollar quotes");
    let token = parser.take_if(|token| token.kind == TokenKind::Text).ok_or_else(|| error.clone())?;
    let source = token.string(parser.dialect).ok_or(error)?.into_owned();
    if parser.peek().is_some_and(|next| next.is_symbol(b',')) {
        return Err(FunctionSyntaxError::Unsupported {
            what: "a body in a file",
            hint: "Write the body itself, in dollar quotes.",
            position: parser.error("").position,
        });
    }
    let (quoting, opening) = match token.text.as_bytes() {
        [b'$', rest @ ..] => {
            (BodyQuoting::Verbatim, rest.iter().position(|byte| *byte == b'$').map_or(0, |length| length + 2))
        }
        [b'\'', ..] => (BodyQuoting::Doubled, 1),
        _ => (BodyQuoting::Escaped, 0),
    };
    Ok(FunctionBody { source, start: token.start + opening, quoting })
}

/// The body in braces.
fn braces(parser: &mut Parser<'_>) -> Result<FunctionBody, FunctionSyntaxError> {
    let error = parser.error("the body");
    let token = parser.take_python().ok_or(error)?;
    match token {
        Ok(place) => Ok(FunctionBody {
            source: parser.text()[place.clone()].to_owned(),
            start: place.start,
            quoting: BodyQuoting::Verbatim,
        }),
        Err(open) => {
            let position = parser.text()[..open.at].chars().count();
            Err(FunctionSyntaxError::OpenBody { what: open.what, position })
        }
    }
}

/// Names in parentheses.
fn names(parser: &mut Parser<'_>) -> Result<Vec<String>, SyntaxError> {
    const EXPECTED: &str = "names of parameters in parentheses";
    let mut found = Vec::new();
    if !parser.symbol(b'(') {
        return Err(parser.error(EXPECTED));
    }
    loop {
        let error = parser.error(EXPECTED);
        let token = parser.name().filter(|token| token.name().is_some()).ok_or(error)?;
        found.push(token.folded().into_owned());
        if parser.symbol(b')') {
            return Ok(found);
        }
        if !parser.symbol(b',') {
            return Err(parser.error(EXPECTED));
        }
    }
}

fn number(parser: &mut Parser<'_>) -> Result<(), SyntaxError> {
    let error = parser.error("a number");
    parser.symbol(b'.');
    parser.take_if(|token| token.kind == TokenKind::Number && token.fault.is_none()).map(drop).ok_or(error)
}
