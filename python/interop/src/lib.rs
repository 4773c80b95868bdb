//! What the extension modules of `colonnade` and `colonnade_serve` share. They exchange Arrow's capsules only, so each
//! has its own copy.

pub mod attached;
pub mod capsule;
pub mod error;
pub mod ffi_stream;
pub mod producer_text;
pub mod rows;
pub mod vectors;
