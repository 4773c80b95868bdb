//! The statements for a result that `colonnade serve` keeps. PROTOCOL §11.

use std::sync::Arc;

use colonnade_sql::split::trimmed;
use colonnade_sql::{Dialect, quote};

use super::connection::PostgresConnection;
use super::request;
use crate::partition::Spooling;
use crate::{Connection, Error, Keep, QueryOptions, ResultStream};

impl Spooling for PostgresConnection {
    fn another(&self, keep: Keep<'_>) -> Result<Arc<dyn Connection>, Error> {
        let another: Arc<dyn Connection> = Arc::new(super::connect(self.session.peer.route.target.clone(), keep)?);
        self.session.siblings.add(std::slice::from_ref(&another));
        Ok(another)
    }

    fn spool(&self, query: &str, bytes: u64, keep: Keep<'_>) -> Result<Box<dyn ResultStream>, Error> {
        let query = quote::string(trimmed(query, self.dialect()), Dialect::POSTGRES);
        let sql = format!("SELECT * FROM colonnade_spool({query}, bytes => {bytes})");
        self.query((&sql).into(), &QueryOptions::default(), keep)
    }

    fn part(
        &self,
        ticket: &str,
        part: u32,
        options: &QueryOptions,
        keep: Keep<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        let source = format!("colonnade_part({}, {part})", quote::string(ticket, Dialect::POSTGRES));
        self.copied(&request::copy_of(&source, options)?, &[], options, keep)
    }

    fn release(&self, ticket: &str, keep: Keep<'_>) -> Result<(), Error> {
        let sql = format!("SELECT * FROM colonnade_release({})", quote::string(ticket, Dialect::POSTGRES));
        self.execute((&sql).into(), keep).map(drop)
    }
}
