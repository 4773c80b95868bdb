//! Files in memory. One process writes byte strings to them, and another one reads these by the file's descriptor.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, memfd_create};

/// A file in memory. It is freed with its last descriptor.
pub(crate) fn create(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// Writes the parts in order, each after its length. An absent part has a length that no part can have.
pub(crate) fn write(parts: &[Option<&[u8]>]) -> io::Result<File> {
    let file = create("colonnade-parts")?;
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend(part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
        bytes.extend(part.unwrap_or_default());
    }
    file.write_all_at(&bytes, 0)?;
    Ok(file)
}

/// Reads as many parts as were written.
pub(crate) fn read<const N: usize>(descriptor: OwnedFd) -> io::Result<[Option<Vec<u8>>; N]> {
    let file = File::from(descriptor);
    let mut at = 0;
    let mut parts = [const { None }; N];
    for part in &mut parts {
        let mut length = [0; 8];
        file.read_exact_at(&mut length, at)?;
        at += 8;
        let length = u64::from_le_bytes(length);
        if length == u64::MAX {
            continue;
        }
        if length > file.metadata()?.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, at)?;
        at += length;
        *part = Some(bytes);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_read_back_the_same() {
        let file = write(&[Some(b"one"), None, Some(b"")]).unwrap();
        let parts = read::<3>(file.into()).unwrap();
        assert_eq!(parts, [Some(b"one".to_vec()), None, Some(Vec::new())]);
        assert!(read::<1>(write(&[]).unwrap().into()).is_err());
    }
}
