//! CancelRequest: a second connection that names the first one's query.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS>

use std::time::{Duration, Instant};

use super::message;
use super::route::Route;
use crate::system::lost;
use crate::{Error, ErrorKind};

/// How long the server may take to process the request.
const LIMIT: Duration = Duration::from_secs(5);

/// Sends the request and waits until the server has received it, when it closes the connection. The request uses the
/// same route as the connection, encrypted if the connection is.
pub(super) fn request(route: &Route, key: message::BackendKey) -> Result<(), Error> {
    let mut route = Route::clone(route);
    let timeout = route.target.connect_timeout.unwrap_or(LIMIT).min(LIMIT);
    let deadline = Instant::now() + LIMIT;
    let mut tick = || match Instant::now() < deadline {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Connect, "the server did not take the cancel request in time")),
    };
    let socket = route.connect(Some(timeout))?;
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
