//! What the connections of a server share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

use crate::advisory::AdvisoryLocks;
use crate::auth::Authenticator;
use crate::connection::pending_login::PendingLogins;
use crate::connection::registry::Registry;
use crate::connection::watch::Watch;
use crate::engine::Engine;
use crate::limits::Limits;
use crate::notifications::Notifications;
use crate::observe::Observer;
use crate::rows::spool::Spools;
use crate::rows::tickets::Tickets;
use crate::tls;

/// The state that all connections share.
pub(crate) struct ServerContext {
    pub engine: Arc<dyn Engine>,
    pub version: String,
    pub registry: Arc<Registry>,
    pub watch: Arc<Watch>,
    pub authenticator: Authenticator,
    pub observer: Arc<Observer>,
    pub tls: RwLock<Option<Arc<tls::Config>>>,
    pub limits: Arc<Limits>,
    pub encode_cpu: f64,
    pub pending_logins: Arc<PendingLogins>,
    pub spools: Arc<Spools>,
    pub tickets: Arc<Tickets>,
    pub locks: Arc<AdvisoryLocks>,
    pub notifications: Arc<Notifications>,
    pub is_draining: AtomicBool,
}
