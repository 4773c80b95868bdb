//! What other threads see of a session: the functions behind PostgreSQL's views.

use std::sync::Arc;

use crate::session::prepared::cursors::Cursors;
use crate::session::prepared::statements::Statements;
use crate::session::settings::modes::ShownModes;

/// What the views show of a session.
#[derive(Clone, Default)]
pub struct SessionLists {
    pub statements: Arc<Statements>,
    pub cursors: Arc<Cursors>,
    pub modes: Arc<ShownModes>,
}
