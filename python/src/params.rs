//! Python values as query parameters.

use colonnade_client::{Date, Dialect, FileUri, MEMORY, Parameters, Time, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyFloat, PyInt, PyList,
    PyMapping, PyString, PyTime, PyTimeAccess, PyTuple, PyType, PyTzInfo, PyTzInfoAccess,
};

use crate::error::to_py;

/// The query with its parameters as literals of a dialect.
#[pyfunction]
#[pyo3(signature = (sql, params=None, dialect="duckdb"))]
pub(crate) fn bind(sql: &str, params: Option<&Bound<'_, PyAny>>, dialect: &str) -> PyResult<String> {
    bound(sql, params, Dialect::of_name(dialect))
}

/// A name in the quotes of a dialect.
#[pyfunction]
pub(crate) fn quoted(name: &str, dialect: &str) -> String {
    colonnade_sql::quote::identifier(name, Dialect::of_name(dialect))
}

/// The parts of a file's URI: its name without a password, the path, and the parameters in order.
type FileParts = (String, String, Vec<(String, String)>);

/// Reads the URI of a database in a file. The file must exist, unless the database is in memory.
#[pyfunction]
pub(crate) fn file_uri(py: Python<'_>, uri: &str) -> PyResult<FileParts> {
    let read = || {
        let mut uri = FileUri::parse(uri)?;
        if uri.path.is_empty() {
            MEMORY.clone_into(&mut uri.path);
        }
        // A database in memory can have a name, which follows (DuckDB).
        if !uri.path.starts_with(MEMORY) {
            uri.check().map_err(|error| error.with_origin(&uri.name()))?;
        }
        Ok((uri.name(), uri.path, uri.parameters))
    };
    read().map_err(|error| to_py(py, &error))
}

/// The query with its parameters as literals; unchanged if there are none.
pub(crate) fn bound(sql: &str, params: Option<&Bound<'_, PyAny>>, dialect: Dialect) -> PyResult<String> {
    let Some(params) = params else { return Ok(sql.to_owned()) };
    let parameters = parameters(params)?;
    colonnade_client::bind(sql, &parameters, dialect).map_err(|error| to_py(params.py(), &error))
}

/// The parameters, or `None` if Python passed None.
pub(crate) fn given(params: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Parameters>> {
    params.map(parameters).transpose()
}

fn parameters(params: &Bound<'_, PyAny>) -> PyResult<Parameters> {
    if let Ok(mapping) = params.cast::<PyMapping>() {
        let mut named = Vec::new();
        for item in mapping.items()? {
            let (name, item): (String, Bound<'_, PyAny>) = item.extract()?;
            let converted = value(&item).map_err(|error| about(params.py(), &format!("${name}"), &error))?;
            named.push((name, converted));
        }
        return Ok(Parameters::Named(named));
    }
    if params.is_instance_of::<PyList>() || params.is_instance_of::<PyTuple>() {
        let mut positional = Vec::new();
        for (index, item) in params.try_iter()?.enumerate() {
            let converted = value(&item?).map_err(|error| about(params.py(), &format!("${}", index + 1), &error))?;
            positional.push(converted);
        }
        return Ok(Parameters::Positional(positional));
    }
    Err(PyTypeError::new_err("params must be a list or tuple for $1, $2, …, or a mapping for $name"))
}

/// The same error, with the parameter's name before its message.
fn about(py: Python<'_>, name: &str, error: &PyErr) -> PyErr {
    PyErr::from_type(error.get_type(py), format!("parameter {name}: {}", error.value(py)))
}

fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(truth) = object.cast::<PyBool>() {
        Ok(Value::Bool(truth.is_true()))
    } else if object.is_instance_of::<PyInt>() {
        integer(object)
    } else if let Ok(float) = object.cast::<PyFloat>() {
        Ok(Value::Float(float.value()))
    } else if let Ok(text) = object.cast::<PyString>() {
        // The class of Python's own error takes five arguments, so `about` cannot make one.
        let text = text.to_cow().map_err(|_| PyValueError::new_err("the text has a surrogate, which UTF-8 lacks"))?;
        Ok(Value::Text(text.into_owned()))
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        Ok(Value::Bytes(bytes.as_bytes().to_vec()))
    } else if let Ok(bytes) = object.cast::<PyByteArray>() {
        Ok(Value::Bytes(bytes.to_vec()))
    } else if let Ok(timestamp) = object.cast::<PyDateTime>() {
        instant(timestamp)
    } else if let Ok(date) = object.cast::<PyDate>() {
        Ok(Value::Date(self::date(date)))
    } else if let Ok(time) = object.cast::<PyTime>() {
        Ok(Value::Time(self::time(time), offset(time)?))
    } else if let Ok(delta) = object.cast::<PyDelta>() {
        duration(delta)
    } else if object.is_instance(DECIMAL.import(py, "decimal", "Decimal")?)? {
        decimal(object)
    } else if object.is_instance(UUID.import(py, "uuid", "UUID")?)? {
        Ok(Value::Uuid(object.getattr("bytes")?.extract::<[u8; 16]>()?))
    } else if let Some(interval) = interval(object) {
        interval
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        py_list(object)
    } else if let Some(plain) = numpy(object)? {
        value(&plain)
    } else {
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "a value of type {kind} is not supported: use None, bool, int, float, Decimal, str, bytes, date, time, \
             datetime, timedelta, UUID, or a list of these"
        )))
    }
}

fn py_list(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    // Python's recursion limit does not protect this stack.
    thread_local!(static DEPTH: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
    if DEPTH.get() > 64 {
        return Err(PyValueError::new_err("its lists are more than 64 levels deep"));
    }
    DEPTH.set(DEPTH.get() + 1);
    let values = object.try_iter().and_then(|items| items.map(|item| value(&item?)).collect());
    DEPTH.set(DEPTH.get() - 1);
    values.map(Value::List)
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(number) = object.extract::<i128>() {
        return Ok(Value::Integer(number));
    }
    object
        .extract::<u128>()
        .map(Value::Unsigned)
        .map_err(|_| PyValueError::new_err("the integer has more than 128 bits: pass it as str and cast it"))
}

fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let not_finite = || PyValueError::new_err("a Decimal must be finite: no decimal type holds NaN or Infinity");
    let (negative, digits, exponent): (u8, Vec<u8>, Bound<'_, PyAny>) = object.call_method0("as_tuple")?.extract()?;
    let exponent: i64 = exponent.extract().map_err(|_| not_finite())?;
    let too_long = || PyValueError::new_err("a Decimal can have at most 38 digits");
    let mut unscaled: i128 = 0;
    let zeros = exponent.clamp(0, 64) as usize;
    for digit in digits.into_iter().chain(std::iter::repeat_n(0, zeros)) {
        let more = unscaled.checked_mul(10).and_then(|number| number.checked_add(digit.into()));
        unscaled = more.ok_or_else(too_long)?;
    }
    let scale = u8::try_from(-exponent.min(0)).ok().filter(|scale| *scale <= 38).ok_or_else(too_long)?;
    Ok(Value::Decimal { unscaled: if negative == 1 { -unscaled } else { unscaled }, scale })
}

fn instant(timestamp: &Bound<'_, PyDateTime>) -> PyResult<Value> {
    // pandas' Timestamp is a datetime with nanoseconds, and NaT is a datetime without a value.
    if differs(timestamp, "nanosecond", 0) {
        return Err(PyValueError::new_err("the timestamp has nanoseconds or is NaT: round it, or pass None"));
    }
    // A Timestamp outside of Python's years is a datetime of another year.
    if differs(timestamp, "year", timestamp.get_year()) {
        return Err(PyValueError::new_err("the timestamp is outside of the years 1 to 9999: pass it as text"));
    }
    if timestamp.get_tzinfo().is_none() {
        return Ok(Value::Timestamp(date(timestamp), time(timestamp)));
    }
    let utc = timestamp.call_method1("astimezone", (PyTzInfo::utc(timestamp.py())?,))?;
    let utc = utc.cast::<PyDateTime>()?;
    Ok(Value::Instant(date(utc), time(utc)))
}

fn duration(delta: &Bound<'_, PyDelta>) -> PyResult<Value> {
    // pandas' Timedelta is a timedelta with nanoseconds, and without them if it is outside of Python's range.
    let (days, seconds, microseconds) = (delta.get_days(), delta.get_seconds(), delta.get_microseconds());
    let fields = [("nanoseconds", 0), ("days", days), ("seconds", seconds), ("microseconds", microseconds)];
    if fields.into_iter().any(|(name, expected)| differs(delta, name, expected)) {
        return Err(PyValueError::new_err("the duration has nanoseconds, or is longer than a timedelta: round it"));
    }
    Ok(Value::Duration { days, microseconds: i64::from(seconds) * 1_000_000 + i64::from(microseconds) })
}

/// An interval of pyarrow (`MonthDayNano`), which is a tuple of three numbers with names. `None` for other values.
fn interval(object: &Bound<'_, PyAny>) -> Option<PyResult<Value>> {
    let part = |name: &str| object.getattr(name).and_then(|value| value.extract::<i64>()).ok();
    let is_tuple = object.is_instance_of::<PyTuple>();
    let (months, days, nanoseconds) = (part("months").filter(|_| is_tuple)?, part("days")?, part("nanoseconds")?);
    let days = i32::try_from(days).ok().filter(|_| months == 0 && nanoseconds % 1000 == 0);
    let Some(days) = days else {
        let instead = "pass it as text, such as '1 mon 2 days', and cast it";
        return Some(Err(PyValueError::new_err(format!("the interval has months or nanoseconds: {instead}"))));
    };
    Some(Ok(Value::Duration { days, microseconds: nanoseconds / 1000 }))
}

/// Whether an attribute that the object has is not this number. A subclass can have other values than its base class.
fn differs(object: &Bound<'_, PyAny>, name: &str, expected: i32) -> bool {
    object.getattr(name).is_ok_and(|value| !value.eq(expected).unwrap_or(false))
}

fn date(object: &impl PyDateAccess) -> Date {
    Date { year: object.get_year() as u16, month: object.get_month(), day: object.get_day() }
}

fn time(object: &impl PyTimeAccess) -> Time {
    Time {
        hour: object.get_hour(),
        minute: object.get_minute(),
        second: object.get_second(),
        microsecond: object.get_microsecond(),
    }
}

fn offset(time: &Bound<'_, PyTime>) -> PyResult<Option<i32>> {
    if time.get_tzinfo().is_none() {
        return Ok(None);
    }
    let offset = time.call_method0("utcoffset")?;
    let Ok(offset) = offset.cast::<PyDelta>() else {
        return Err(PyValueError::new_err(
            "the offset of the time's zone depends on the date: use a zone with a fixed offset",
        ));
    };
    Ok(Some(offset.get_days() * 86_400 + offset.get_seconds()))
}

/// A NumPy scalar or array as Python's values, except for datetimes, which NumPy would convert to integers.
fn numpy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let kind =
        object.getattr("dtype").and_then(|dtype| dtype.getattr("kind")).and_then(|kind| kind.extract::<String>());
    match kind.as_deref() {
        Ok("b" | "i" | "u" | "f" | "U" | "S") => object.call_method0("tolist").map(Some),
        _ => Ok(None),
    }
}
