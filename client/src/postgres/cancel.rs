//! CancelRequest: a second connection that names the first one's query.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS>

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Shared;
use super::message;
use super::route::Route;
use crate::channel::lost;
use crate::{Cancel, Error, ErrorKind};

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
        request(&self.route, self.server.key).map_err(|error| error.with_origin(&self.name))
    }
}

/// Sends the request and waits until the server has taken it: it then closes the connection without a word. It goes the way that the
/// connection has gone, encrypted if that is.
fn request(route: &Route, key: message::BackendKey) -> Result<(), Error> {
    let mut route = Route::clone(route);
    route.target.connect_timeout = Some(route.target.connect_timeout.unwrap_or(LIMIT).min(LIMIT));
    let deadline = Instant::now() + LIMIT;
    let mut tick = || match Instant::now() < deadline {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Connect, "the server did not take the cancel request in time")),
    };
    let socket = route.connect()?;
    let mut channel = route.secure(socket, &mut tick)?;
    channel.send(&message::cancel_request(key)).map_err(lost)?;
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
