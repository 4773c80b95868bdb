//! The command line.

use std::path::PathBuf;

use crate::Result;

const USAGE: &str = "\
usage: colonnade-bench [--table NAME]… [--only TEXT]… [--rounds N] [--rows N] [--chunk-bytes N] [--data DIR]
                       [--json FILE] [--markdown FILE]
       colonnade-bench --profile CONFIG encode|decode [--table NAME] [--rows N] [--seconds N]
       colonnade-bench --experiment NAME [--table NAME]… [--rounds N] [--rows N] [--chunk-bytes N] [--data DIR] [--json FILE]
tables: lineitem, flights, acs (default: all); --only keeps the contenders whose name contains TEXT
experiments: chunk_sizes, row_or_column, integers, frameworks, strings, columns (default: the tables that each is for)";

/// One operation in a loop, to be profiled.
pub struct Profile {
    pub config: String,
    pub decode: bool,
    pub seconds: u64,
}

/// What to measure.
pub struct Args {
    /// The requested tables, if any.
    pub tables: Vec<String>,
    pub contenders: Vec<String>,
    pub rounds: usize,
    /// The maximum number of rows of a table.
    pub rows: usize,
    pub chunk_bytes: usize,
    pub data: PathBuf,
    pub json: Option<PathBuf>,
    pub markdown: Option<PathBuf>,
    pub profile: Option<Profile>,
    /// An experiment, instead of the table of contenders.
    pub experiment: Option<String>,
}

impl Args {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// An argument is unknown or lacks its value.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut args = Self {
            tables: Vec::new(),
            contenders: Vec::new(),
            rounds: 5,
            rows: usize::MAX,
            chunk_bytes: 4 << 20,
            data: data_directory(),
            json: None,
            markdown: None,
            profile: None,
            experiment: None,
        };
        let mut seconds = 10;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--table" => args.tables.push(value()?),
                "--only" => args.contenders.push(value()?),
                "--rounds" => args.rounds = value()?.parse::<usize>()?.max(1),
                "--rows" => args.rows = value()?.parse()?,
                "--chunk-bytes" => args.chunk_bytes = value()?.parse()?,
                "--data" => args.data = value()?.into(),
                "--json" => args.json = Some(value()?.into()),
                "--markdown" => args.markdown = Some(value()?.into()),
                "--experiment" => args.experiment = Some(value()?),
                "--seconds" => seconds = value()?.parse()?,
                "--profile" => {
                    let config = value()?;
                    let decode = match value()?.as_str() {
                        "encode" => false,
                        "decode" => true,
                        other => return Err(format!("profile encode or decode, not {other:?}\n{USAGE}").into()),
                    };
                    args.profile = Some(Profile { config, decode, seconds });
                }
                _ => return Err(format!("unknown argument {word:?}\n{USAGE}").into()),
            }
        }
        if let Some(profile) = &mut args.profile {
            profile.seconds = seconds;
        }
        Ok(args)
    }

    /// The requested tables, or `usual`.
    pub fn tables_or(&self, usual: &[&str]) -> Vec<String> {
        if self.tables.is_empty() { usual.iter().map(|&name| name.to_owned()).collect() } else { self.tables.clone() }
    }

    /// Whether a contender was requested.
    pub fn wants(&self, name: &str) -> bool {
        self.contenders.is_empty() || self.contenders.iter().any(|text| name.contains(text.as_str()))
    }
}

/// The directory to which `bench/data.py` wrote the tables.
fn data_directory() -> PathBuf {
    match std::env::var_os("COLONNADE_BENCH_DATA") {
        Some(directory) => directory.into(),
        None => [env!("CARGO_MANIFEST_DIR"), "..", ".data"].iter().collect(),
    }
}
