//! What the encoder needs, asked for before it starts.

use crate::error::Failure;

/// Chunks smaller than this are encoded without asking.
const SMALL: usize = 1 << 20;

/// Fails if `bytes` cannot be had right now.
///
/// Rust aborts the process when an allocation fails, and a backend that aborts takes the whole server down with it. Where the
/// kernel does refuse memory (strict overcommit, a limit on the address space), large chunks are what it refuses, so that
/// is asked first and answered as an error. The memory is not touched, which makes asking cheap.
pub(crate) fn ask(bytes: usize) -> Result<(), Failure> {
    if bytes < SMALL {
        return Ok(());
    }
    let mut probe = Vec::<u8>::new();
    probe.try_reserve_exact(bytes).map_err(|_| Failure::OutOfMemory(bytes))?;
    // Else the optimizer may leave out an allocation that nobody looks at.
    std::hint::black_box(&mut probe);
    Ok(())
}
