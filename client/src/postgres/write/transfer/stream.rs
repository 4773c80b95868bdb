//! Colonnade streams in both directions: the columns of a table, and the parts of a stream with rows.

use arrow_schema::Schema;
use bytes::Bytes;
use colonnade_wire::arrow::schema_to_arrow;
use colonnade_wire::{DecodeLimits, Decoder, LinkEstimate, Message};

use super::Transfer;
use crate::postgres::delivery::Delivery;
use crate::postgres::message::{self, protocol};
use crate::postgres::request;
use crate::postgres::simple::{self, AnswerMode};
use crate::shared_connection::AnswerError;
use crate::system::Socket;
use crate::system::lost;
use crate::{Pool, QueryOptions};

/// The most bytes of a CopyData message of a stream, because `colonnade serve` takes messages of 64 MiB.
const LARGEST_PART: usize = 32 << 20;
/// The setting of the extension's library. PROTOCOL §10.
const RECEIVED: &str = "SELECT pg_catalog.current_setting('colonnade.receive', true)";

impl Transfer<'_> {
    /// The columns of a query whose result is a Colonnade stream. `copy` is the statement that gives it, without rows.
    pub(crate) fn schema(&mut self, copy: &str) -> Result<Schema, AnswerError> {
        let query = message::query(copy).map_err(AnswerError::Refused)?;
        let (pool, mut decoder, mut schema) = (Pool::default(), Decoder::new(DecodeLimits::default()), None);
        let mut tell = |message: Bytes| {
            // Rows mean that the server has done something else than it was asked for.
            match decoder.message(message) {
                Ok(Message::Schema(found)) => schema = Some(schema_to_arrow(&found)),
                Ok(Message::End(_)) => {}
                Ok(Message::Chunk(_)) | Err(_) => schema = None,
            }
        };
        let asked = request::chunks(&QueryOptions::default());
        let job =
            AnswerMode::Copy { pool: &pool, asked, limit: DecodeLimits::default().message_bytes, tell: &mut tell };
        simple::answer(self.connection, &mut *self.tick, job, &query)?.map_err(AnswerError::Refused)?;
        let is_whole = decoder.finish().is_ok_and(|totals| totals.rows == 0);
        match schema.filter(|_| is_whole) {
            Some(schema) => Ok(schema),
            None => Err(protocol("an answer about columns that is no stream without rows").into()),
        }
    }

    /// Whether PostgreSQL receives streams, in the backend of this transaction. A pooler may have brought one that has
    /// not loaded the extension.
    pub(crate) fn receives(&mut self) -> Result<bool, AnswerError> {
        let load = match &self.connection.server.delivery {
            None | Some(Delivery::Stock | Delivery::Served(_)) => return Ok(false),
            Some(Delivery::Extension { load: None, .. }) => {
                return Ok(self.connection.server.receives >= request::VERSION);
            }
            Some(Delivery::Extension { load: Some(load), .. }) => load.clone(),
        };
        if let Some(version) = self.received_version()? {
            return Ok(version >= request::VERSION);
        }
        self.ask(&load)?;
        Ok(self.received_version()?.is_some_and(|version| version >= request::VERSION))
    }

    /// The version that the loaded library receives. `None` without the library, or if it is an old one.
    fn received_version(&mut self) -> Result<Option<u32>, AnswerError> {
        let rows = self.ask(RECEIVED)?;
        Ok(rows.into_iter().flatten().next().flatten().and_then(|version| version.trim().parse().ok()))
    }

    /// Sends the bytes of a part of a stream, in one CopyData message unless they are more than a message can have.
    pub(crate) fn send_data(&mut self, slices: &[&[u8]]) -> Result<(), AnswerError> {
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        if length > LARGEST_PART {
            return slices
                .iter()
                .flat_map(|slice| slice.chunks(LARGEST_PART))
                .try_for_each(|part| self.send_data(&[part]));
        }
        let header = message::copy_data_header(length);
        let slices: Vec<&[u8]> = std::iter::once(&header[..]).chain(slices.iter().copied()).collect();
        match self.connection.incoming.channel().send_slices(&slices) {
            Ok(()) => Ok(()),
            Err(cause) => Err(self.broken(lost(cause))),
        }
    }

    /// The socket, for its statistics.
    pub(crate) fn socket(&self) -> &Socket {
        self.connection.incoming.socket()
    }

    /// What an earlier write on this connection has measured.
    pub(crate) fn link_estimate(&self) -> Option<LinkEstimate> {
        self.connection.link_estimate
    }

    pub(crate) fn remember_link(&mut self, estimate: LinkEstimate) {
        self.connection.link_estimate = Some(estimate);
    }
}
