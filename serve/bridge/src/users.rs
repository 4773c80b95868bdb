//! The users file, for `colonnade user`.

use std::path::PathBuf;

use colonnade_server::auth::{Role, User, Users, UsersError};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

type ListedUser = (String, String, Option<usize>, bool);

/// Adds the functions of `colonnade user` to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(add_user, module)?)?;
    module.add_function(wrap_pyfunction!(remove_user, module)?)?;
    module.add_function(wrap_pyfunction!(list_users, module)?)
}

/// Adds a user to the file, or changes the user of that name. Creates the file if needed. Returns whether the user is
/// new.
#[pyfunction]
#[pyo3(signature = (path, name, password, *, read_only=false, connections=None, functions=false))]
fn add_user(
    py: Python<'_>,
    path: PathBuf,
    name: &str,
    password: &str,
    read_only: bool,
    connections: Option<usize>,
    functions: bool,
) -> PyResult<bool> {
    let role = if read_only { Role::ReadOnly } else { Role::ReadWrite };
    py.detach(|| {
        let mut users = match Users::read(&path) {
            Err(UsersError::File { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => Users::default(),
            found => found.map_err(to_py)?,
        };
        let is_new = users.add(name, password, role, connections, functions);
        let is_new = is_new.map_err(|error| PyValueError::new_err(error.to_string()))?;
        users.write(&path).map_err(to_py)?;
        Ok(is_new)
    })
}

/// Removes a user from the file. Returns whether the file had the user.
#[pyfunction]
fn remove_user(path: PathBuf, name: &str) -> PyResult<bool> {
    let mut users = Users::read(&path).map_err(to_py)?;
    let was_there = users.remove(name);
    if was_there {
        users.write(&path).map_err(to_py)?;
    }
    Ok(was_there)
}

/// The users: name, role, the limit of concurrent sessions if there is one, and whether the user may create functions.
#[pyfunction]
fn list_users(path: PathBuf) -> PyResult<Vec<ListedUser>> {
    let users = Users::read(&path).map_err(to_py)?;
    let listed =
        |(name, user): (&str, &User)| (name.to_owned(), user.role.to_string(), user.connections, user.functions);
    Ok(users.iter().map(listed).collect())
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn to_py(error: UsersError) -> PyErr {
    PyOSError::new_err(error.to_string())
}
