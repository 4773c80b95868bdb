//! The users file, for `colonnade user`.

use std::path::PathBuf;

use colonnade_server::auth::{Role, Users, UsersError};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// Adds the functions of `colonnade user` to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(add_user, module)?)?;
    module.add_function(wrap_pyfunction!(remove_user, module)?)?;
    module.add_function(wrap_pyfunction!(list_users, module)?)
}

/// Adds a user to the file, or changes the user of that name. Creates the file if needed. Returns whether the user is new.
#[pyfunction]
#[pyo3(signature = (path, name, password, *, read_only=false, connections=None))]
fn add_user(
    py: Python<'_>,
    path: PathBuf,
    name: &str,
    password: &str,
    read_only: bool,
    connections: Option<usize>,
) -> PyResult<bool> {
    let role = if read_only { Role::ReadOnly } else { Role::ReadWrite };
    py.detach(|| {
        let mut users = match Users::read(&path) {
            Err(UsersError::File { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => Users::default(),
            found => found.map_err(to_py)?,
        };
        let is_new = users.add(name, password, role, connections);
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

/// The users: name, role, and the limit of concurrent sessions if there is one.
#[pyfunction]
fn list_users(path: PathBuf) -> PyResult<Vec<(String, String, Option<usize>)>> {
    let users = Users::read(&path).map_err(to_py)?;
    Ok(users.iter().map(|(name, user)| (name.to_owned(), user.role.to_string(), user.connections)).collect())
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn to_py(error: UsersError) -> PyErr {
    PyOSError::new_err(error.to_string())
}
