//! Reads texts for `tests/sql/`: NUL separates them, and each gives a line of JSON.
//!
//! `cut DIALECT < texts` writes `{"tokens": [[start, end, kind, fault, value], …], "statements": [[start, end, kind],
//! …]}`. Positions are bytes, the value of a string is in hexadecimal, and a statement's kind is written as Rust's
//! `Debug` does.

use std::io::{self, Read, Write};

use colonnade_sql::quote::push_hexadecimal;
use colonnade_sql::split::split;
use colonnade_sql::{Dialect, Statement, tokens};

fn main() -> io::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let dialect = match name.as_str() {
        "postgresql-backslashes" => Dialect::Postgres { backslashes: true },
        name => Dialect::of_name(name),
    };
    let mut texts = String::new();
    io::stdin().read_to_string(&mut texts)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for text in texts.split('\0') {
        let cut = tokens(text, dialect).map(|token| {
            let kind = format!("{:?}", token.kind);
            let kind = kind.split('(').next().unwrap_or_default();
            let fault = token.fault.map_or("null".to_owned(), |fault| format!("\"{fault:?}\""));
            let value = token.string(dialect).map_or("null".to_owned(), |value| {
                let mut digits = String::new();
                push_hexadecimal(&mut digits, value.as_bytes());
                format!("\"{digits}\"")
            });
            format!("[{}, {}, \"{kind}\", {fault}, {value}]", token.start, token.end())
        });
        let statements = split(text, dialect).map(|span| {
            let kind = format!("{:?}", Statement::read(span, dialect).kind).replace('\\', "\\\\").replace('"', "\\\"");
            format!("[{}, {}, \"{kind}\"]", span.start, span.end())
        });
        let (cut, statements): (Vec<_>, Vec<_>) = (cut.collect(), statements.collect());
        writeln!(out, "{{\"tokens\": [{}], \"statements\": [{}]}}", cut.join(", "), statements.join(", "))?;
    }
    Ok(())
}
