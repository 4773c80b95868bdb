//! CancelRequest: a second connection that names the first one's query.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS>

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Shared;
use super::incoming::lost;
use super::link::connect;
use super::message;
use crate::feed::POLL;
use crate::{Cancel, Error, Target};

/// How long the server may take to take notice.
const LIMIT: Duration = Duration::from_secs(5);

/// Cancels whatever runs on one connection.
pub(crate) struct Canceller(pub(crate) Arc<Shared>);

impl Cancel for Canceller {
    fn cancel(&self) -> Result<(), Error> {
        self.0.cancel_running(None)
    }
}

impl Shared {
    /// Cancels the query with this number, or any; does nothing if it has ended.
    ///
    /// The lock makes the receiving thread wait before it gives the connection free: a request that is on its way
    /// must not hit the next query.
    pub(crate) fn cancel_running(&self, number: Option<u64>) -> Result<(), Error> {
        let _under_way = self.cancelling.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.runs(number) {
            return Ok(());
        }
        request(&self.target, self.server.key).map_err(|error| error.with_origin(&self.name))
    }
}

/// Sends the request and waits until the server has taken it: it then closes the connection without a word.
fn request(target: &Target, key: message::BackendKey) -> Result<(), Error> {
    let target = Target { connect_timeout: Some(target.connect_timeout.unwrap_or(LIMIT).min(LIMIT)), ..target.clone() };
    let mut channel = connect(&target)?;
    channel.send(&message::cancel_request(key)).map_err(lost)?;
    channel.socket().set_timeout(Some(POLL)).map_err(lost)?;
    let deadline = Instant::now() + LIMIT;
    let mut byte = 0u8;
    while Instant::now() < deadline {
        // SAFETY: there is room for one byte.
        match unsafe { channel.receive(&raw mut byte, 1, false) } {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => break,
        }
    }
    Ok(())
}
