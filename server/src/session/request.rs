//! Messages of clients that a session answers.

use crate::message::frontend::{Message, Target};

/// A message, without what it borrows.
pub enum Request {
    Query(String),
    Extended(Step),
    FunctionCall,
    Sync,
    Flush,
    Ignored,
    Terminate,
    Unexpected(char),
}

impl Request {
    /// What a message asks for.
    pub fn of(message: &Message<'_>) -> Self {
        if let Some(step) = Step::from_message(message) {
            return Self::Extended(step);
        }
        match message {
            Message::Query(sql) => Self::Query((*sql).to_owned()),
            Message::FunctionCall => Self::FunctionCall,
            Message::Sync => Self::Sync,
            Message::Flush => Self::Flush,
            // A client that was sending copy data when its COPY failed may not know yet.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Self::Ignored,
            Message::Terminate => Self::Terminate,
            Message::Password(_) => Self::Unexpected('p'),
            _ => Self::Unexpected('S'),
        }
    }
}

/// A message of the extended protocol, without what it borrows.
pub enum Step {
    Parse { name: String, query: String, types: Vec<u32> },
    Bind { portal: String, statement: String, formats: Vec<i16>, values: Vec<Option<Vec<u8>>>, results: Vec<i16> },
    Describe(Target, String),
    Close(Target, String),
    Execute { portal: String, rows: u32 },
}

impl Step {
    /// The message, if it is one of these.
    pub fn from_message(message: &Message<'_>) -> Option<Self> {
        Some(match message {
            Message::Parse { name, query, types } => {
                Self::Parse { name: (*name).to_owned(), query: (*query).to_owned(), types: types.clone() }
            }
            Message::Bind { portal, statement, formats, values, results } => Self::Bind {
                portal: (*portal).to_owned(),
                statement: (*statement).to_owned(),
                formats: formats.clone(),
                values: values.iter().map(|value| value.map(<[u8]>::to_vec)).collect(),
                results: results.clone(),
            },
            Message::Describe(target, name) => Self::Describe(*target, (*name).to_owned()),
            Message::Close(target, name) => Self::Close(*target, (*name).to_owned()),
            Message::Execute { portal, rows } => Self::Execute { portal: (*portal).to_owned(), rows: *rows },
            _ => return None,
        })
    }

    /// What it holds, in bytes.
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

    /// The query string that an error's place is in.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::Parse { query, .. } => Some(query),
            _ => None,
        }
    }
}
