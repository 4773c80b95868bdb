//! Errors as a number and a text for C.

use std::fmt::{self, Display, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use colonnade_wire::{Damage, DecodeError, EncodeError};

#[cfg(feature = "memory-errors")]
use crate::memory;

/// Bytes of [`ColonnadeError::message`], including the final NUL.
pub const MESSAGE_LEN: usize = 256;

/// The result of a call.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// An invalid argument, such as an unknown configuration, or buffers that do not fit their type.
    Argument = 1,
    /// The chunk exceeds the maximum size of a message.
    TooLarge = 2,
    /// There is not enough memory.
    OutOfMemory = 3,
    /// A message to adopt, or a stream, is damaged.
    Damaged = 4,
    /// A defect of this library itself.
    Internal = 5,
}

/// Room for a message: UTF-8, NUL-terminated, truncated if it is too long.
#[repr(C)]
pub struct ColonnadeError {
    /// The message.
    pub message: [u8; MESSAGE_LEN],
}

impl ColonnadeError {
    /// Without an allocation, because a failed allocation may be the error.
    pub(crate) fn set(&mut self, text: &dyn Display) {
        let mut writer = Writer { message: &mut self.message, length: 0 };
        // It fails if the text is truncated.
        let _ = write!(writer, "{text}");
        let length = writer.length;
        self.message[length] = 0;
    }
}

struct Writer<'a> {
    message: &'a mut [u8; MESSAGE_LEN],
    length: usize,
}

impl Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.floor_char_boundary(MESSAGE_LEN - 1 - self.length);
        self.message[self.length..self.length + end].copy_from_slice(&text.as_bytes()[..end]);
        self.length += end;
        if end == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

pub(crate) enum Failure {
    Argument(String),
    Encode(EncodeError),
    Damaged(DecodeError),
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

impl Failure {
    fn status(&self) -> Status {
        match self {
            Self::Argument(_) | Self::Encode(EncodeError::Columns { .. } | EncodeError::Buffers(_)) => Status::Argument,
            Self::Encode(EncodeError::OutOfMemory) => Status::OutOfMemory,
            Self::Encode(EncodeError::TooLarge(_)) => Status::TooLarge,
            Self::Encode(_) => Status::Internal,
            Self::Damaged(DecodeError { damage: Damage::OutOfMemory, .. }) => Status::OutOfMemory,
            Self::Damaged(_) => Status::Damaged,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(text) => f.write_str(text),
            Self::Encode(error) => error.fmt(f),
            // Nothing was requested here: these are the receiver's own limits.
            Self::Damaged(DecodeError { damage: Damage::Unasked { unit, declared, limit }, .. }) => {
                write!(f, "a chunk has {declared} {unit}, but the limit is {limit}; send fewer rows in a chunk")
            }
            Self::Damaged(error) => error.fmt(f),
        }
    }
}

/// Runs `work`. Errors and panics leave only as a [`Status`].
pub(crate) fn guard(error: *mut ColonnadeError, work: impl FnOnce() -> Result<(), Failure>) -> Status {
    // After a panic the encoder is in a safe but unknown state. The caller's transaction ends, and the encoder with it.
    let unwound = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => return tell(error, failure.status(), &failure),
        Err(unwound) => unwound,
    };
    #[cfg(feature = "memory-errors")]
    if unwound.is::<memory::Refused>() {
        drop(unwound);
        return tell(error, Status::OutOfMemory, &format_args!("{} bytes were refused", memory::take_refused()));
    }
    let text = unwound.downcast_ref::<&str>().copied().or_else(|| unwound.downcast_ref().map(String::as_str));
    let status = tell(error, Status::Internal, &format_args!("internal error: {}", text.unwrap_or("")));
    // The payload's destructor is foreign code and could also panic.
    std::mem::forget(unwound);
    status
}

fn tell(error: *mut ColonnadeError, status: Status, text: &dyn Display) -> Status {
    // SAFETY: null or valid for writes, as every function with this argument requires.
    if let Some(error) = unsafe { error.as_mut() } {
        error.set(text);
    }
    status
}
