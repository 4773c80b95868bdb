//! Parts that only this process can read, each over a connection of its own.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use adbc_core::error::Result;
use colonnade_client::{self as client, Cancel, Connection, QueryOptions, ResultStream};

use super::{PartStream, no_such_partition, none_left};
use crate::error::converted;
use crate::types;

/// The parts of a result. All connections stay open as long as the statement keeps the result or somebody reads a part.
pub(crate) struct LocalParts {
    number: u64,
    queries: Vec<String>,
    options: QueryOptions,
    /// One for each part; none if the result is one part, which whoever reads it reads over its own connection.
    connections: Vec<Arc<dyn Connection>>,
}

/// The results that a statement keeps.
static KEPT: LazyLock<Mutex<HashMap<u64, Weak<LocalParts>>>> = LazyLock::new(Mutex::default);

impl LocalParts {
    pub(super) fn keep(
        queries: Vec<String>,
        options: &QueryOptions,
        connections: Vec<Arc<dyn Connection>>,
    ) -> Arc<Self> {
        // No other process makes the same number.
        let number = RandomState::new().build_hasher().finish();
        let parts = Arc::new(Self { number, queries, options: options.clone(), connections });
        let mut kept = kept();
        kept.retain(|_, parts| parts.strong_count() > 0);
        kept.insert(number, Arc::downgrade(&parts));
        parts
    }

    /// What stands for each part.
    pub(super) fn descriptors(&self) -> Vec<Vec<u8>> {
        (0..self.queries.len()).map(|part| format!("{:016x}/{part}", self.number).into_bytes()).collect()
    }
}

/// A part that is to be read.
pub(crate) struct Part {
    parts: Arc<LocalParts>,
    place: usize,
}

impl Part {
    /// The part that a descriptor stands for.
    ///
    /// # Errors
    /// It is none of this process, or its statement has been released or executed again.
    pub(super) fn find(descriptor: &[u8]) -> Result<Self> {
        let found = std::str::from_utf8(descriptor).ok().and_then(|text| {
            let (number, place) = text.split_once('/')?;
            let (number, place) = (u64::from_str_radix(number, 16).ok()?, place.parse().ok()?);
            let parts = kept().get(&number).and_then(Weak::upgrade)?;
            (place < parts.queries.len()).then_some(Self { parts, place })
        });
        found.ok_or_else(no_such_partition)
    }

    /// Its query and how it is read, if it is the whole result and has no connection of its own.
    pub(crate) fn own_query(&self) -> Option<(&str, &QueryOptions)> {
        self.parts.connections.is_empty().then(|| (self.parts.queries[self.place].as_str(), &self.parts.options))
    }

    pub(crate) fn downgrade(&self) -> WeakPart {
        WeakPart { parts: Arc::downgrade(&self.parts), place: self.place }
    }

    /// Begins to read it over its connection.
    ///
    /// # Errors
    /// Those of the source; somebody reads this part already.
    pub(crate) fn open(self) -> Result<Box<dyn ResultStream>> {
        let connection = self.parts.connections.get(self.place).ok_or_else(none_left)?;
        let (sql, options) = (&self.parts.queries[self.place], &self.parts.options);
        let stream = connection.query(sql.into(), options, &mut || true).map_err(|error| converted(&error))?;
        let stream = types::stream(stream, &**connection, options);
        Ok(Box::new(PartStream { stream, _kept: self.parts }))
    }
}

/// A part, for whoever may want to stop it.
#[derive(Clone, Default)]
pub(crate) struct WeakPart {
    parts: Weak<LocalParts>,
    place: usize,
}

impl Cancel for WeakPart {
    fn cancel(&self) -> std::result::Result<(), client::Error> {
        let parts = self.parts.upgrade();
        let connection = parts.as_ref().and_then(|parts| parts.connections.get(self.place));
        connection.map_or(Ok(()), |connection| connection.canceller().cancel())
    }
}

fn kept() -> MutexGuard<'static, HashMap<u64, Weak<LocalParts>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
