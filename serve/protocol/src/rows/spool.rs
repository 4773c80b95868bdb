//! Sets a result aside, so that the session's engine, which has one stream, can run another statement. The rows go to
//! an unnamed file. If the operator has set no directory, they go to the session's memory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::engine::{EngineError, Rows};
use crate::error::{Failure, SqlState};
use crate::limits::{Budget, Charge, LimitError, Limits};

/// The directory for results that are set aside, and the quota of all sessions.
#[derive(Debug)]
pub struct Spools {
    directory: Option<PathBuf>,
    space: Arc<Budget>,
}

/// The charge of each spool to its session's memory, for buffers and a descriptor. A process has few descriptors.
const SPOOL_CHARGE: usize = 1 << 20;

impl Spools {
    pub fn new(limits: &Limits) -> Arc<Self> {
        let space = Budget::new(limits.spool_bytes, LimitError::Spool);
        Arc::new(Self { directory: limits.spool_directory.clone(), space })
    }

    /// A new file. Its bytes are charged to the quota of all sessions, and to the `session`.
    pub(super) fn charged_file(&self, session: &Arc<Budget>) -> Result<ChargedFile, Failure> {
        let memory = session.charge(SPOOL_CHARGE)?;
        let (file, space) = (self.file().map_err(write_error)?, self.space.empty_charge());
        Ok(ChargedFile { file, space, memory, is_in_memory: self.directory.is_none(), limit: None })
    }

    fn file(&self) -> io::Result<File> {
        match &self.directory {
            Some(directory) => unnamed_file(directory),
            None => Ok(memfd_create("colonnade-spool", MemfdFlags::CLOEXEC)?.into()),
        }
    }
}

/// Rows that were set aside, as an Arrow IPC stream. The file is freed when this is dropped.
pub struct Spool {
    reader: StreamReader<BufReader<File>>,
    schema: SchemaRef,
    type_names: Vec<String>,
    _space: Charge,
    _memory: Charge,
}

impl Spool {
    /// Writes all batches of `next`. The bytes are charged to the quota of all sessions, and to the `session`.
    ///
    /// # Errors
    /// If the disk is full, a quota is exceeded, or `next` fails.
    pub fn write(
        spools: &Spools,
        session: &Arc<Budget>,
        schema: SchemaRef,
        type_names: Vec<String>,
        mut next: impl FnMut() -> Result<Option<RecordBatch>, Failure>,
    ) -> Result<Self, Failure> {
        let file = spools.charged_file(session)?;
        let mut writer = StreamWriter::try_new(BufWriter::new(file), &schema)?;
        while let Some(batch) = next()? {
            if let Err(error) = writer.write(&batch) {
                let limit = writer.get_ref().get_ref().limit.clone();
                return Err(limit.map_or_else(|| error.into(), Failure::from));
            }
        }
        let flushed = writer.finish().and_then(|()| writer.flush());
        if let (Err(error), limit) = (flushed, writer.get_ref().get_ref().limit.clone()) {
            return Err(limit.map_or_else(|| error.into(), Failure::from));
        }
        let written = writer.into_inner()?.into_inner().map_err(|error| write_error(error.into_error()))?;
        let ChargedFile { mut file, space, memory, .. } = written;
        file.rewind().map_err(write_error)?;
        let reader = StreamReader::try_new(BufReader::new(file), None)?;
        Ok(Self { reader, schema, type_names, _space: space, _memory: memory })
    }
}

impl Rows for Spool {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn type_names(&self) -> &[String] {
        &self.type_names
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let unreadable =
            |error| EngineError::new(SqlState::IO_ERROR, format!("cannot read a result set aside: {error}"));
        self.reader.next().transpose().map_err(unreadable)
    }
}

/// A file whose bytes are charged before they are written.
pub(super) struct ChargedFile {
    pub file: File,
    pub space: Charge,
    pub memory: Charge,
    is_in_memory: bool,
    /// The exceeded quota. Arrow's writer cannot carry it in its error.
    pub limit: Option<LimitError>,
}

impl ChargedFile {
    fn charge(&mut self, bytes: usize) -> Result<(), LimitError> {
        self.space.set(self.space.bytes().saturating_add(bytes))?;
        if self.is_in_memory {
            self.memory.set(self.memory.bytes().saturating_add(bytes))?;
        }
        Ok(())
    }
}

impl Write for ChargedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(limit) = self.charge(bytes.len()) {
            self.limit = Some(limit.clone());
            return Err(io::Error::other(limit));
        }
        self.file.write_all(bytes).inspect_err(|error| {
            if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                self.limit = Some(LimitError::DiskFull);
            }
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(super) fn write_error(error: io::Error) -> Failure {
    EngineError::new(SqlState::IO_ERROR, format!("cannot set a result aside in --temp-directory: {error}")).into()
}

/// A new unnamed file in a directory, which is created if it does not exist.
pub(super) fn unnamed_file(directory: &Path) -> io::Result<File> {
    if !directory.exists() {
        DirBuilder::new().mode(0o700).create(directory).or_else(|error| match error.kind() {
            // Another session has created it.
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(directory) {
        // Not every file system supports unnamed files.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT)) => {}
        opened => return opened,
    }
    let mut random = [0; 16];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = directory.join(format!("colonnade-{name}"));
    let file = options.create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    fn batch() -> RecordBatch {
        let numbers = Int64Array::from_iter_values(0..10_000);
        RecordBatch::try_from_iter([("n", Arc::new(numbers) as _)]).unwrap()
    }

    /// Sets this number of batches of 80 KB aside.
    fn set_aside(spools: &Spools, session: &Arc<Budget>, batches: usize) -> Result<Spool, Failure> {
        let mut left = batches;
        let next = || {
            let batch = (left > 0).then(batch);
            left = left.saturating_sub(1);
            Ok(batch)
        };
        Spool::write(spools, session, batch().schema(), Vec::new(), next)
    }

    fn spools(spool_bytes: Option<usize>, spool_directory: Option<PathBuf>) -> Arc<Spools> {
        Spools::new(&Limits { spool_bytes, spool_directory, ..Limits::default() })
    }

    #[test]
    fn a_spooled_result_reads_back_the_same() {
        let directory = std::env::temp_dir().join(format!("colonnade-spool-{}", std::process::id()));
        for directory in [None, Some(directory.clone())] {
            let session = Budget::new(Some(16 << 20), LimitError::SessionMemory);
            let mut spool = set_aside(&spools(None, directory.clone()), &session, 3).unwrap();
            if let Some(directory) = directory {
                assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "the file has a name");
                assert_eq!(session.remaining(), (16 << 20) - SPOOL_CHARGE);
            } else {
                assert!(session.remaining() < (16 << 20) - SPOOL_CHARGE - 240_000);
            }
            for _ in 0..3 {
                assert_eq!(spool.next().unwrap(), Some(batch()));
            }
            assert_eq!(spool.next().unwrap(), None);
            drop(spool);
            assert_eq!(session.remaining(), 16 << 20);
        }
        std::fs::remove_dir(&directory).unwrap();
    }

    #[test]
    fn space_is_limited_for_all_sessions_and_memory_for_each() {
        let (spools, session) =
            (spools(Some(1_000_000), None), Budget::new(Some(100 << 20), LimitError::SessionMemory));
        let first = set_aside(&spools, &session, 6).unwrap();
        let second = set_aside(&spools, &Budget::new(None, LimitError::SessionMemory), 7);
        assert!(matches!(second, Err(Failure::Limit(LimitError::Spool(1_000_000)))));
        drop(first);
        assert!(set_aside(&spools, &Budget::new(None, LimitError::SessionMemory), 7).is_ok());
        let small = Budget::new(Some(SPOOL_CHARGE + 100_000), LimitError::SessionMemory);
        assert!(matches!(set_aside(&spools, &small, 2), Err(Failure::Limit(LimitError::SessionMemory(_)))));
        assert_eq!(small.remaining(), SPOOL_CHARGE + 100_000);
    }
}
