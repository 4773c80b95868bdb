//! What goes wrong, as a number and a text that C can take.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use colonnade_wire::{DecodeError, EncodeError};

/// Bytes of [`ColonnadeError::message`], the final NUL included.
pub const MESSAGE_LEN: usize = 256;

/// How a call ended.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Well.
    Ok = 0,
    /// An argument cannot be, such as an unknown configuration or buffers that do not fit their type.
    Argument = 1,
    /// The chunk exceeds what a message can hold.
    TooLarge = 2,
    /// There is not enough memory.
    OutOfMemory = 3,
    /// A message to be taken over is damaged.
    Damaged = 4,
    /// A fault of the encoder itself.
    Internal = 5,
}

/// Room for a message: UTF-8, NUL-terminated, cut off where it is too long.
#[repr(C)]
pub struct ColonnadeError {
    /// The message.
    pub message: [u8; MESSAGE_LEN],
}

impl ColonnadeError {
    fn set(&mut self, text: &str) {
        let mut end = text.len().min(MESSAGE_LEN - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.message[..end].copy_from_slice(&text.as_bytes()[..end]);
        self.message[end] = 0;
    }
}

pub(crate) enum Failure {
    Argument(String),
    OutOfMemory(usize),
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
            Self::OutOfMemory(_) => Status::OutOfMemory,
            Self::Encode(EncodeError::TooLarge(_)) => Status::TooLarge,
            Self::Encode(_) => Status::Internal,
            Self::Damaged(_) => Status::Damaged,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Argument(text) => text.clone(),
            Self::OutOfMemory(bytes) => format!("no memory for {bytes} bytes"),
            Self::Encode(error) => error.to_string(),
            Self::Damaged(error) => error.to_string(),
        }
    }
}

/// Runs `work` such that neither an error nor a panic leaves as anything but a [`Status`].
pub(crate) fn guard(error: *mut ColonnadeError, work: impl FnOnce() -> Result<(), Failure>) -> Status {
    // A panic leaves the encoder in a state that is safe but unknown; the caller's transaction ends, and with it the encoder.
    let (status, text) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => (failure.status(), failure.text()),
        Err(panic) => (Status::Internal, panic_text(panic)),
    };
    // SAFETY: null or valid for writes, as every function that takes one demands.
    if let Some(error) = unsafe { error.as_mut() } {
        error.set(&text);
    }
    status
}

fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    // The payload's destructor is not ours and could panic in turn.
    std::mem::forget(panic);
    format!("internal error of the encoder: {text}")
}
