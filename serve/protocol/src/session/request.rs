//! Clients' messages to a session, as owned values.

use crate::charset::TextError;
use crate::message::frontend::{FrontendMessage, StatementOrPortal};

/// A message that owns its contents.
pub enum Request {
    Query(String),
    Extended(ExtendedMessage),
    FunctionCall,
    Sync,
    Flush,
    Ignored,
    Terminate,
    Unexpected(char),
    /// A text that is none in the client's encoding, in a query or else in a message of the extended protocol.
    InvalidText {
        is_query: bool,
        error: TextError,
    },
}

impl Request {
    pub fn from_message(message: FrontendMessage<'_>) -> Self {
        match message {
            FrontendMessage::Query(sql) => Self::Query(sql.into_owned()),
            FrontendMessage::FunctionCall => Self::FunctionCall,
            FrontendMessage::Sync => Self::Sync,
            FrontendMessage::Flush => Self::Flush,
            // A client may still send copy data when its COPY has failed.
            FrontendMessage::CopyData(_) | FrontendMessage::CopyDone | FrontendMessage::CopyFail(_) => Self::Ignored,
            FrontendMessage::Terminate => Self::Terminate,
            FrontendMessage::InvalidText { kind: b'f', .. } => Self::Ignored,
            FrontendMessage::InvalidText { kind, error } => Self::InvalidText { is_query: kind == b'Q', error },
            FrontendMessage::Password(_) => Self::Unexpected('p'),
            message => ExtendedMessage::from_message(message).map_or(Self::Unexpected('S'), Self::Extended),
        }
    }
}

/// A message of the extended protocol that owns its contents.
pub enum ExtendedMessage {
    Parse { name: String, query: String, types: Vec<u32> },
    Bind { portal: String, statement: String, formats: Vec<i16>, values: Vec<Option<Vec<u8>>>, results: Vec<i16> },
    Describe(StatementOrPortal, String),
    Close(StatementOrPortal, String),
    Execute { portal: String, rows: u32 },
}

impl ExtendedMessage {
    fn from_message(message: FrontendMessage<'_>) -> Option<Self> {
        Some(match message {
            FrontendMessage::Parse { name, query, types } => {
                Self::Parse { name: name.into_owned(), query: query.into_owned(), types }
            }
            FrontendMessage::Bind { portal, statement, formats, values, results } => Self::Bind {
                portal: portal.into_owned(),
                statement: statement.into_owned(),
                formats,
                values: values.iter().map(|value| value.map(<[u8]>::to_vec)).collect(),
                results,
            },
            FrontendMessage::Describe(target, name) => Self::Describe(target, name.into_owned()),
            FrontendMessage::Close(target, name) => Self::Close(target, name.into_owned()),
            FrontendMessage::Execute { portal, rows } => Self::Execute { portal: portal.into_owned(), rows },
            _ => return None,
        })
    }

    pub fn bytes(&self) -> usize {
        match self {
            Self::Parse { name, query, types } => name.len() + query.len() + size_of_val(&types[..]),
            Self::Bind { portal, statement, formats, values, results } => {
                let values = values.iter().map(|value| size_of_val(value) + value.as_ref().map_or(0, Vec::len));
                let codes = size_of_val(&formats[..]) + size_of_val(&results[..]);
                portal.len() + statement.len() + codes + values.sum::<usize>()
            }
            Self::Describe(_, name) | Self::Close(_, name) | Self::Execute { portal: name, .. } => name.len(),
        }
    }

    /// The query string in which an error has its position.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::Parse { query, .. } => Some(query),
            _ => None,
        }
    }
}
