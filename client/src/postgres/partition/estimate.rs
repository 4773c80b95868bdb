//! What the planner expects of a query.

use crate::partition::PartSize;
use crate::postgres::session::PostgresConnection;
use crate::{ContinueCheck, Error, ErrorKind};

impl PostgresConnection {
    /// The rows of a query, and the bytes of their values. A question that fails is no reason to refuse the query,
    /// which says itself what is wrong with it; but it must not end the transaction.
    pub(super) fn estimated(&self, query: &str, keep: ContinueCheck<'_>) -> Result<Option<PartSize>, Error> {
        self.execute_plain("SAVEPOINT colonnade", keep)?;
        let plan = self.ask(&format!("EXPLAIN {query}"), keep);
        self.execute_plain("ROLLBACK TO SAVEPOINT colonnade", keep)?;
        match plan {
            Ok(plan) => Ok(plan.text(0, 0).and_then(size)),
            Err(error) if error.kind() == ErrorKind::Database => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn execute_plain(&self, sql: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
        self.ask(sql, keep).map(drop)
    }
}

/// The size in the first line of a plan: `Seq Scan on t (cost=0.00..35.50 rows=2550 width=4)`. The name of a table may
/// look like that, but what is in the last parentheses is PostgreSQL's (`ExplainNode` in its explain.c).
fn size(line: &str) -> Option<PartSize> {
    let (_, costs) = line.rsplit_once("(cost=")?;
    let number = |name: &str| {
        let (_, rest) = costs.split_once(name)?;
        rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    let (rows, width) = (number(" rows=")?, number(" width=")?);
    Some(PartSize { rows, bytes: rows.saturating_mul(width) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_its_size() {
        let found = size("Seq Scan on t  (cost=0.00..35.50 rows=2550 width=4)");
        assert_eq!(found, Some(PartSize { rows: 2550, bytes: 10_200 }));
        let odd = size("Seq Scan on \"(cost=1..1 rows=9 width=9)\"  (cost=0.00..1.00 rows=1 width=0)");
        assert_eq!(odd, Some(PartSize { rows: 1, bytes: 0 }));
        assert_eq!(size("Seq Scan on t"), None);
        assert_eq!(size("x (cost=1..2 rows=99999999999999999999999 width=1)"), None);
    }
}
