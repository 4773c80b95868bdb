//! The statements for a result that `colonnade serve` keeps. PROTOCOL §11.

use std::sync::Arc;

use colonnade_sql::split::trimmed;
use colonnade_sql::{Dialect, quote};

use super::copy_out::CopyAnswer;
use super::request;
use super::session::PostgresConnection;
use crate::partition::{SpoolCut, SpoolSelection, SpooledPart, Spooling};
use crate::{Compression, Connection, ContinueCheck, Error, QueryOptions, ResultStream};

impl Spooling for PostgresConnection {
    fn another(&self, keep: ContinueCheck<'_>) -> Result<Arc<dyn Connection>, Error> {
        let another: Arc<dyn Connection> = Arc::new(super::connect(self.session.peer.route.target.clone(), keep)?);
        self.session.siblings.add(std::slice::from_ref(&another));
        Ok(another)
    }

    fn spool(&self, query: &str, cut: SpoolCut, keep: ContinueCheck<'_>) -> Result<Box<dyn ResultStream>, Error> {
        let query = quote::string(trimmed(query, self.dialect()), Dialect::POSTGRES);
        let mut sql = format!("SELECT * FROM colonnade_spool({query}, bytes => {}", cut.bytes);
        if let Some(shares) = cut.shares {
            sql.push_str(&format!(", parts => {shares}"));
        }
        if let Compression::Fixed(config) = cut.compression {
            sql.push_str(&format!(", compression => '{config}'"));
        }
        sql.push(')');
        self.query((&sql).into(), &QueryOptions::default(), keep)
    }

    fn parts(
        &self,
        part: &SpooledPart,
        selection: &SpoolSelection,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        let copy = request::copy_of(&source(part, selection), options)?;
        self.copied(&copy, CopyAnswer::Streams, options, keep)
    }

    fn release(&self, ticket: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let sql = format!("SELECT * FROM colonnade_release({})", quote::string(ticket, Dialect::POSTGRES));
        self.execute((&sql).into(), keep).map(drop)
    }
}

/// What COPY reads.
fn source(part: &SpooledPart, selection: &SpoolSelection) -> String {
    let ticket = quote::string(&part.ticket, Dialect::POSTGRES);
    let mut source = format!("colonnade_part({ticket}, {}", part.first);
    if part.last != part.first {
        source.push_str(&format!(", last => {}", part.last));
    }
    if let Some(columns) = &selection.columns {
        let numbers: Vec<_> = columns.iter().map(|column| column.saturating_add(1).to_string()).collect();
        source.push_str(&format!(", columns => '{}'", numbers.join(",")));
    }
    if let Some(limit) = selection.limit {
        source.push_str(&format!(", limit => {limit}"));
    }
    source.push(')');
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_the_whole_part_is_named() {
        let part = |last| SpooledPart { ticket: "a'b".to_owned(), first: 3, last };
        let all = SpoolSelection::default();
        assert_eq!(source(&part(3), &all), "colonnade_part('a''b', 3)");
        let chosen = SpoolSelection { columns: Some(vec![4, 0]), limit: Some(7) };
        assert_eq!(source(&part(5), &chosen), "colonnade_part('a''b', 3, last => 5, columns => '5,1', limit => 7)");
    }
}
