//! Whether a session is in a transaction, and what its transaction statements do.
//!
//! PostgreSQL forgives what DuckDB does not: BEGIN within a transaction and COMMIT or ROLLBACK outside are warnings,
//! COMMIT of a failed transaction rolls it back. Drivers count on that.

use crate::error::SqlState;
use crate::message::backend::Status;
use crate::query::StatementKind;

/// What to do about a transaction statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Let the engine run it as it is.
    Run,
    /// Have the engine roll back, and report that.
    RollBack,
    /// Only warn, and report it done.
    Warn(SqlState, &'static str),
}

/// What `kind`, a transaction statement, means in a session that is `status`.
pub fn step(status: Status, kind: StatementKind) -> Step {
    match (status, kind) {
        (Status::InTransaction, StatementKind::Begin) => {
            Step::Warn(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress")
        }
        (Status::Idle, StatementKind::Commit | StatementKind::Rollback) => {
            Step::Warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress")
        }
        (Status::Failed, StatementKind::Commit | StatementKind::Rollback) => Step::RollBack,
        _ => Step::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgives_what_postgresql_forgives() {
        use StatementKind::{Begin, Commit, Rollback};
        assert_eq!(step(Status::Idle, Begin), Step::Run);
        assert!(matches!(step(Status::InTransaction, Begin), Step::Warn(SqlState("25001"), _)));
        assert!(matches!(step(Status::Idle, Commit), Step::Warn(SqlState("25P01"), _)));
        assert_eq!(step(Status::InTransaction, Commit), Step::Run);
        assert_eq!(step(Status::Failed, Commit), Step::RollBack);
        assert_eq!(step(Status::Failed, Rollback), Step::RollBack);
    }
}
