//! The supervisor listens and passes connections to the worker, which [`super::restart`] starts.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::channel::ChannelMessage;
use super::context::{STOP_TIMEOUT, SupervisorContext, SupervisorOptions};
use super::listening;
use crate::connection::listen::{AddressError, ListenAddress, Listener};
use crate::observe::Log;
use crate::serve::error::ServeError;

/// A running supervisor. It stops on request, or when it is dropped.
pub struct Supervisor {
    shared: Arc<SupervisorContext>,
    listeners: Vec<Arc<Listener>>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<ListenAddress>,
    metrics: Option<SocketAddr>,
}

impl Supervisor {
    /// Listens on all of `addresses`, and starts the first worker.
    ///
    /// # Errors
    /// If an address cannot be used, or needs encryption and users; if a file cannot be used; or if the worker ends
    /// before it is ready. In the last case, the worker has written the reason to standard error.
    pub fn start(addresses: &[ListenAddress], options: SupervisorOptions) -> Result<Self, ServeError> {
        if addresses.is_empty() {
            return Err(ServeError::NoAddress);
        }
        let files = &options.credentials;
        let remote = addresses.iter().find(|address| !address.is_local());
        if let (Some(ListenAddress::Tcp(remote)), true) = (remote, files.users.is_none() || files.tls.is_none()) {
            return Err(AddressError::NotProtected(*remote).into());
        }
        let credentials = files.read()?;
        let log = options.log.as_deref().map(Log::open).transpose();
        let log = log.map_err(|error| ServeError::Log(options.log.clone().unwrap_or_default(), error))?;
        let metrics = options.metrics;
        let shared = SupervisorContext::new(options, log, credentials.memory_file);
        let (listeners, threads) = (Vec::new(), Vec::new());
        let mut own = Self { shared: Arc::new(shared), listeners, threads, addresses: Vec::new(), metrics: None };
        own.listen(addresses)?;
        if let Some(address) = metrics {
            own.listen_for_metrics(address)?;
        }
        own.shared.note_faults(&credentials.faults);
        own.start_worker()?;
        for listener in &own.listeners {
            own.threads.push(listening::start(&own.shared, listener)?);
        }
        Ok(own)
    }

    fn listen(&mut self, addresses: &[ListenAddress]) -> Result<(), ServeError> {
        // TCP first, because its port is a part of the socket file's name.
        let (tcp, unix): (Vec<_>, Vec<_>) =
            addresses.iter().partition(|address| matches!(address, ListenAddress::Tcp(_)));
        let mut port = None;
        for address in tcp.into_iter().chain(unix) {
            let listener = Arc::new(Listener::bind(address, port)?);
            self.listeners.push(Arc::clone(&listener));
            let address = listener.address()?;
            if let ListenAddress::Tcp(address) = address {
                port = Some(address.port());
            }
            self.addresses.push(address);
        }
        Ok(())
    }

    fn listen_for_metrics(&mut self, address: SocketAddr) -> Result<(), ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::RemoteMetrics(address));
        }
        let failed = |error| AddressError::Bind { address: address.to_string(), error };
        let listener = TcpListener::bind(address).map_err(failed)?;
        self.metrics = Some(listener.local_addr()?);
        self.listeners.push(Arc::new(Listener::Metrics(listener)));
        Ok(())
    }

    fn start_worker(&mut self) -> Result<(), ServeError> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("worker".to_owned());
        self.threads.push(thread.spawn(move || shared.run_workers())?);
        let mut state = self.shared.state();
        while state.channel.is_none() {
            if let Some(status) = state.end {
                return Err(ServeError::Worker(status));
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Its addresses, with their actual ports.
    pub fn addresses(&self) -> &[ListenAddress] {
        &self.addresses
    }

    /// What the operator should know of the certificates that were read last.
    pub fn warnings(&self) -> Vec<String> {
        self.shared.state().warnings.clone()
    }

    /// The address of `/metrics` and `/health`, with its actual port.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Reads users and certificates again, for new connections, and opens the log again. Open sessions stay.
    ///
    /// # Errors
    /// If one of the files cannot be used. Then nothing changes.
    pub fn reload(&self) -> Result<(), ServeError> {
        let (shared, options) = (&self.shared, &self.shared.options);
        let credentials = options.credentials.read()?;
        let failed = |error| ServeError::Log(options.log.clone().unwrap_or_default(), error);
        if let Some(log) = &shared.log
            && let Some(descriptor) = log.open_again().map_err(failed)?
        {
            log.replace(descriptor).map_err(failed)?;
        }
        let mut state = shared.state();
        state.credentials = Some(credentials.memory_file);
        state.reloads += 1;
        // A worker that is starting gets them when it is ready.
        if let Some(channel) = &state.channel {
            shared.send_reload(&state, channel);
        }
        drop(state);
        shared.note_faults(&credentials.faults);
        Ok(())
    }

    /// Refuses new sessions, and waits for the open ones to end after their statements and transactions. Gives whether
    /// all have ended within `grace`.
    pub fn drain(&self, grace: Duration) -> bool {
        let end = Instant::now() + grace;
        let mut state = self.shared.state();
        if !state.is_draining {
            state.is_draining = true;
            if let Some(channel) = &state.channel {
                let _ = channel.send(ChannelMessage::Drain, 0, &[]);
            }
        }
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            if state.has_drained || rest.is_zero() {
                return state.has_drained;
            }
            state = self.shared.wait(state, rest);
        }
    }

    /// Refuses clients, interrupts running statements, and waits some seconds at most until the worker has ended. Gives
    /// whether all its sessions had ended.
    pub fn stop(&mut self) -> bool {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        self.listeners.drain(..).for_each(|listener| listener.close());
        let mut state = self.shared.state();
        if let Some(channel) = &state.channel {
            // It fails if the worker has died. Then its thread ends too.
            let _ = channel.send(ChannelMessage::Stop, 0, &[]);
        }
        self.shared.changed.notify_all();
        let end = Instant::now() + STOP_TIMEOUT;
        // Without a thread no worker was started, as after an address that cannot be used.
        while !self.threads.is_empty() && state.end.is_none() && Instant::now() < end {
            state = self.shared.wait(state, end.saturating_duration_since(Instant::now()));
        }
        if let Some(channel) = state.channel.take() {
            // The worker's thread stops reading messages, and kills the worker.
            channel.stop_receiving();
        }
        drop(state);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
        self.shared.state().end.is_some_and(|status| status.success())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::CredentialFiles;
    use crate::supervise::Program;

    #[test]
    fn an_address_in_use_is_an_error_at_once() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let program = Program { path: "/nonexistent".into(), arguments: Vec::new(), environment: Vec::new() };
        let credentials = CredentialFiles::default();
        let options =
            SupervisorOptions { program, helper: None, settings: Vec::new(), credentials, log: None, metrics: None };
        let begun = Instant::now();
        let started = Supervisor::start(&[ListenAddress::Tcp(other.local_addr().unwrap())], options);
        assert!(matches!(started.err(), Some(ServeError::Address(AddressError::PortInUse(_)))));
        assert!(begun.elapsed() < STOP_TIMEOUT);
    }
}
