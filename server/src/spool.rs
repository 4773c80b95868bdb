//! A result set aside on disk, so that its session's engine can run something else meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;

use crate::engine::{EngineError, Rows};
use crate::error::{Failure, SqlState};
use crate::limits::LimitError;

/// Rows in a file without a name, as an Arrow IPC stream. The file is gone when this is dropped.
pub struct Spool {
    reader: StreamReader<BufReader<File>>,
    schema: SchemaRef,
    type_names: Vec<String>,
}

impl Spool {
    /// Writes all that `next` gives, `limit` bytes at most.
    ///
    /// # Errors
    /// If there is no room for it, it is more than that, or `next` fails.
    pub fn write(
        schema: SchemaRef,
        type_names: Vec<String>,
        limit: Option<u64>,
        mut next: impl FnMut() -> Result<Option<RecordBatch>, Failure>,
    ) -> Result<Self, Failure> {
        let mut writer = StreamWriter::try_new(BufWriter::new(nameless().map_err(failed)?), &schema)?;
        while let Some(batch) = next()? {
            writer.write(&batch)?;
            // What the buffer still holds comes on top with the next batch.
            let written = writer.get_ref().get_ref().metadata().map_err(failed)?.len();
            if let Some(limit) = limit.filter(|limit| written > *limit) {
                return Err(LimitError::Spool(limit).into());
            }
        }
        writer.finish()?;
        let mut file = writer.into_inner()?.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        let reader = StreamReader::try_new(BufReader::new(file), None)?;
        Ok(Self { reader, schema, type_names })
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

fn failed(error: io::Error) -> Failure {
    EngineError::new(SqlState::IO_ERROR, format!("cannot set a result aside in a temporary file: {error}")).into()
}

/// A new file in the directory for temporary ones, unlinked as soon as it is open.
fn nameless() -> io::Result<File> {
    let mut random = [0; 16];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = std::env::temp_dir().join(format!("colonnade-{name}"));
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
