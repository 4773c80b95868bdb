//! XXH3-64, as FORMAT §3 and §7 use it.

use twox_hash::xxhash3_64::Hasher;

/// The seed of a message's checksum: the hash of its first 16 bytes.
pub(crate) fn seed(header: &[u8; 16]) -> u64 {
    Hasher::oneshot(header)
}

/// The checksum of a message's bytes from 24 on: the rest of the header, and the body in pieces.
pub(crate) fn of_pieces<'a>(seed: u64, header: &[u8], pieces: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = Hasher::with_seed(seed);
    std::hash::Hasher::write(&mut hasher, header);
    for piece in pieces {
        std::hash::Hasher::write(&mut hasher, piece);
    }
    std::hash::Hasher::finish(&hasher)
}

/// The checksum of a message's bytes from 24 on.
pub(crate) fn of(seed: u64, bytes: &[u8]) -> u64 {
    Hasher::oneshot_with_seed(seed, bytes)
}

/// The checksum over all of a stream's checksums so far.
#[derive(Clone, Default)]
pub(crate) struct Running(Hasher);

impl Running {
    pub(crate) fn push(&mut self, checksum: u64) {
        std::hash::Hasher::write(&mut self.0, &checksum.to_le_bytes());
    }

    pub(crate) fn value(&self) -> u64 {
        std::hash::Hasher::finish(&self.0)
    }
}
