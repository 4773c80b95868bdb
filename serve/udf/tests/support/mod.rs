//! A pool whose template is a process of the test, and arguments and results as vectors.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use colonnade_udf::{
    CallError, CallOutput, ColumnType, Form, Function, FunctionCaller, FunctionColumn, FunctionKind, Isolation,
    NodeSize, OutputColumn, OutputData, ProcessLimits, ProcessPool, TemplateSource,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// Starts templates with the interpreter of the repository's environment, or the one that `PYTHON` names.
#[derive(Clone, Default)]
pub struct Templates {
    pub started: Arc<Mutex<Vec<Child>>>,
    /// The user of the processes, if it is not the test's.
    pub user: Option<u32>,
    /// A directory with an environment of its own, made by `environment`.
    pub environment: Option<PathBuf>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn interpreter() -> PathBuf {
    std::env::var_os("PYO3_PYTHON").map_or_else(|| root().join(".venv/bin/python"), PathBuf::from)
}

/// What a command prints.
fn printed(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// An environment in `folder` that each user can read: the system's interpreter and a copy of numpy. `None` if the
/// system's interpreter has another version than the one of the tests.
pub fn environment(folder: &Path) -> Option<()> {
    let version = "import sys; print('python%d.%d' % sys.version_info[:2])";
    let numpy = "import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))";
    let system = Path::new("/usr/bin/python3");
    let name = printed(system, &["-c", version])
        .filter(|name| printed(&interpreter(), &["-c", version]).as_ref() == Some(name))?;
    let libraries = PathBuf::from(printed(&interpreter(), &["-c", numpy])?);
    let packages = folder.join("lib").join(name).join("site-packages");
    std::fs::create_dir_all(&packages).unwrap();
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::os::unix::fs::symlink(system, folder.join("bin/python3")).unwrap();
    std::fs::write(folder.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let copies = [
        (libraries.join("numpy"), &packages),
        (libraries.join("numpy.libs"), &packages),
        (root().join("serve/colonnade_serve/_udf"), &folder.to_owned()),
    ];
    for (from, to) in copies {
        assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
    }
    Some(())
}

impl TemplateSource for Templates {
    fn interpreter(&self) -> String {
        interpreter().display().to_string()
    }

    fn start(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let (python, package) = match &self.environment {
            Some(path) => (path.join("bin/python3"), path.join("_udf")),
            None => (interpreter(), root().join("serve/colonnade_serve/_udf")),
        };
        let mut command = Command::new(python);
        command.args(["-I", "-B"]).arg(package.join("__main__.py")).env_clear();
        command.env("OPENBLAS_NUM_THREADS", "1").stdin(Stdio::from(theirs));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        self.started.lock().unwrap().push(command.spawn()?);
        Ok(ours)
    }
}

impl Templates {
    /// Kills all templates.
    pub fn kill(&self) {
        for child in self.started.lock().unwrap().iter_mut() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// Whether the kernel has Landlock. A test that is about the sandbox says so if it does not run.
pub fn has_sandbox() -> bool {
    let refused = ProcessPool::new(Box::new(Templates::default()), limits_of(Isolation::Sandbox)).err();
    if let Some(error) = &refused {
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("--udf-isolation=process"), "{error}");
        eprintln!("not run in a sandbox: {error}");
    }
    refused.is_none()
}

/// The limits of most tests, in the sandbox if there is one.
pub fn limits() -> ProcessLimits {
    limits_of(if has_sandbox() { Isolation::Sandbox } else { Isolation::Process })
}

fn limits_of(isolation: Isolation) -> ProcessLimits {
    ProcessLimits {
        memory: 256 << 20,
        server_memory: 512 << 20,
        processes: 8,
        session_processes: None,
        call: None,
        readable: Vec::new(),
        private: Vec::new(),
        isolation,
    }
}

pub fn pool() -> ProcessPool {
    pool_with(limits())
}

pub fn pool_with(limits: ProcessLimits) -> ProcessPool {
    ProcessPool::new(Box::new(Templates::default()), limits).unwrap()
}

pub fn column(name: &str, column_type: ColumnType) -> FunctionColumn {
    FunctionColumn { name: name.to_owned(), type_name: format!("{column_type:?}"), column_type, is_scalar: false }
}

/// A scalar function. Its parameters are `a`, `b`, …
pub fn function(parameters: &[ColumnType], result: ColumnType, source: &str) -> Arc<Function> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hash = DefaultHasher::new();
    (source, format!("{parameters:?} {result:?}")).hash(&mut hash);
    let names = ["a", "b", "c", "d"];
    let parameters = parameters.iter().zip(names).map(|(found, name)| column(name, found.clone())).collect();
    Arc::new(Function {
        id: hash.finish(),
        name: "main.f".to_owned(),
        parameters,
        results: vec![column("result", result)],
        source: source.to_owned(),
        kind: FunctionKind::Scalar,
        is_strict: false,
        is_arrow: false,
    })
}

/// A column of arguments or of a result: an item for each node, in pre-order.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub length: usize,
    pub nulls: Vec<usize>,
    pub values: Vec<u8>,
    pub heap: Vec<u8>,
}

impl Node {
    pub fn new(length: usize, values: Vec<u8>) -> Self {
        Self { length, nulls: Vec::new(), values, heap: Vec::new() }
    }

    pub fn with_nulls(mut self, nulls: &[usize]) -> Self {
        self.nulls = nulls.to_vec();
        self
    }
}

/// Texts or blobs; `None` is NULL.
pub fn texts<T: AsRef<[u8]>>(items: &[Option<T>]) -> Node {
    let mut node = Node::new(items.len(), 0_u64.to_le_bytes().to_vec());
    for (row, item) in items.iter().enumerate() {
        match item {
            Some(item) => node.heap.extend(item.as_ref()),
            None => node.nulls.push(row),
        }
        node.values.extend((node.heap.len() as u64).to_le_bytes());
    }
    node
}

/// Numbers in their bytes.
pub fn numbers<const N: usize>(items: impl IntoIterator<Item = [u8; N]>) -> Node {
    let values: Vec<u8> = items.into_iter().flatten().collect();
    Node::new(values.len() / N, values)
}

pub fn offsets(items: &[u64]) -> Node {
    Node::new(items.len() - 1, items.iter().flat_map(|item| item.to_le_bytes()).collect())
}

/// Calls a function with its parameters' nodes.
pub fn call<'w>(
    caller: &'w mut FunctionCaller,
    function: &Arc<Function>,
    rows: usize,
    parameters: &[Vec<Node>],
    groups: Option<&[u64]>,
) -> Result<CallOutput<'w>, CallError> {
    let mut inputs = caller.prepare(function, rows)?;
    for nodes in parameters {
        inputs.parameter(Form::Array)?;
        for node in nodes {
            let size = NodeSize {
                length: node.length,
                has_validity: !node.nulls.is_empty(),
                values: node.values.len(),
                heap: node.heap.len(),
            };
            let buffers = inputs.node(size)?;
            if size.has_validity {
                let mut bits = vec![0xff; buffers.validity.len()];
                node.nulls.iter().for_each(|row| bits[row / 8] &= !(1 << (row % 8)));
                buffers.validity.write(0, &bits);
            }
            buffers.values.write(0, &node.values);
            buffers.heap.write(0, &node.heap);
        }
    }
    if let Some(groups) = groups {
        let bytes: Vec<u8> = groups.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        inputs.groups(groups.len() - 1)?.write(0, &bytes);
    }
    inputs.call()
}

/// The rows of a column that is no array itself.
fn rows(column: &OutputColumn<'_>) -> usize {
    match &column.data {
        OutputData::Fixed(values) => values.len(),
        OutputData::Bytes { offsets, .. } | OutputData::List { offsets, .. } => offsets.len() - 1,
        OutputData::Struct(fields) => rows(&fields[0]),
        OutputData::Union { tags, .. } => tags.len(),
        OutputData::Array(_) => panic!("an array of arrays"),
    }
}

/// A result's nodes in pre-order.
pub fn nodes(column: &OutputColumn<'_>, length: usize) -> Vec<Node> {
    let nulls = (0..length).filter(|row| !column.is_valid(*row)).collect();
    let bytes = |offsets: &[u64]| offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect::<Vec<_>>();
    let own = |values, heap| Node { length, nulls, values, heap };
    let all =
        |columns: &[OutputColumn<'_>]| columns.iter().flat_map(|column| nodes(column, length)).collect::<Vec<_>>();
    match &column.data {
        OutputData::Fixed(values) => vec![own(values.to_vec(), Vec::new())],
        OutputData::Bytes { offsets, bytes: heap } => vec![own(bytes(offsets), heap.clone())],
        OutputData::List { offsets, items } => {
            let mut found = vec![own(bytes(offsets), Vec::new())];
            found.extend(nodes(items, *offsets.last().unwrap() as usize));
            found
        }
        OutputData::Array(items) => {
            let mut found = vec![own(Vec::new(), Vec::new())];
            found.extend(nodes(items, rows(items)));
            found
        }
        OutputData::Struct(fields) => {
            let mut found = vec![own(Vec::new(), Vec::new())];
            found.extend(all(fields));
            found
        }
        OutputData::Union { tags, members } => {
            let mut found = vec![own(tags.clone(), Vec::new())];
            found.extend(all(members));
            found
        }
    }
}

/// Calls a function of one session, and gives the nodes of its first result.
pub fn result(function: &Arc<Function>, rows: usize, parameters: &[Vec<Node>]) -> Result<Vec<Node>, CallError> {
    let session = pool().session();
    let mut caller = session.caller();
    let output = call(&mut caller, function, rows, parameters, None)?;
    Ok(nodes(&output.columns[0], output.rows))
}

/// A time limit that a call without a loop does not reach on a busy machine.
pub const SHORT: Duration = Duration::from_secs(1);
