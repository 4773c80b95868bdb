//! PostgreSQL's functions and operators of ranges.

use std::ptr;

use colonnade_duckdb_api::arguments::argument_type;
use colonnade_duckdb_api::extension::{ANY, CONSISTENT, ExtensionInput, POSITIONAL_ONLY, add_parameter};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_server::value::keyed::{Element, KeyedType, KnownRange, RangeComparison, RangeOperation, RangeTest};

use super::{conversion, each, keyed_type, write};
use crate::duckdb_api::handles::{CallbackError, OwnedType, checked, object, owned, report};
use crate::duckdb_api::results::write_texts;
use crate::duckdb_api::symbols::{Api, Handle};
use crate::duckdb_api::vectors::VectorValues;

/// What a function does.
#[derive(Clone, Copy)]
enum Action {
    /// Gives a bound's value.
    Bound {
        is_upper: bool,
    },
    Test(RangeTest),
    Compare(RangeComparison),
    Operate(RangeOperation),
    /// Whether the range, which is the first argument or the second, contains the other one, of any type. DuckDB could
    /// not choose between a range and an element for a text without a type, which is a range.
    ContainsAny {
        is_range_first: bool,
    },
}

struct Call {
    element: Element,
    action: Action,
    /// What the argument of any type is.
    form: ElementForm,
}

/// What a range may contain, as DuckDB stores it.
#[derive(Clone, Copy)]
enum ElementForm {
    I8,
    I16,
    I32,
    I64,
    /// A range's text.
    Text,
}

/// PostgreSQL's names.
const ACTIONS: [(&str, Action); 19] = [
    // Not `lower` and `upper`: DuckDB could not choose for NULL and for parameters, which have no type yet.
    ("lower_bound", Action::Bound { is_upper: false }),
    ("upper_bound", Action::Bound { is_upper: true }),
    ("isempty", Action::Test(RangeTest::IsEmpty)),
    ("lower_inc", Action::Test(RangeTest::LowerInclusive)),
    ("upper_inc", Action::Test(RangeTest::UpperInclusive)),
    ("lower_inf", Action::Test(RangeTest::LowerInfinite)),
    ("upper_inf", Action::Test(RangeTest::UpperInfinite)),
    ("@>", Action::Compare(RangeComparison::Contains)),
    ("<@", Action::Compare(RangeComparison::IsContained)),
    ("&&", Action::Compare(RangeComparison::Overlaps)),
    ("-|-", Action::Compare(RangeComparison::IsAdjacent)),
    ("<<", Action::Compare(RangeComparison::IsBefore)),
    (">>", Action::Compare(RangeComparison::IsAfter)),
    ("+", Action::Operate(RangeOperation::Union)),
    ("*", Action::Operate(RangeOperation::Intersection)),
    ("-", Action::Operate(RangeOperation::Difference)),
    ("range_merge", Action::Operate(RangeOperation::Merge)),
    ("@>", Action::ContainsAny { is_range_first: true }),
    ("<@", Action::ContainsAny { is_range_first: false }),
];

/// DuckDB's type of an element, unless that has any number of digits.
fn element_type(element: Element) -> Option<&'static str> {
    Some(match element {
        Element::Int4 => "INTEGER",
        Element::Int8 => "BIGINT",
        Element::Date => "DATE",
        Element::Timestamp => "TIMESTAMP",
        Element::TimestampTz => "TIMESTAMP WITH TIME ZONE",
        Element::Numeric => return None,
    })
}

/// Registers the functions of one type of ranges.
///
/// # Safety
/// `input` is that of an entry that runs.
pub(super) unsafe fn register(
    api: &'static Api,
    input: &ExtensionInput,
    element: Element,
) -> Result<(), CallbackError> {
    for (name, action) in ACTIONS {
        let value = element_type(element);
        if value.is_none() && matches!(action, Action::Bound { .. }) {
            continue;
        }
        let function = ScalarFunction {
            name,
            stability: CONSISTENT,
            user_data: Some(owned(Call { element, action, form: ElementForm::Text })),
            resolve: None,
            bind,
            begin: scalar::no_state,
            execute,
        };
        // SAFETY: the caller promises the input; the types live until the signature has them; the callbacks take what
        // they have given DuckDB.
        unsafe {
            function.register(api, input.context, input.extension, |factory, signature| {
                let range = keyed_type(api, input, factory, KeyedType::Range(element))?;
                let boolean = OwnedType::parse(api, input.context, "BOOLEAN")?;
                let value = OwnedType::parse(api, input.context, value.unwrap_or("BOOLEAN"))?;
                let any = OwnedType::new(api, |out, error| {
                    (api.v2_factory_create_type_from_id)(factory, ANY, ptr::null(), ptr::null(), 0, out, error)
                })?;
                let (first, second, result) = match action {
                    Action::Bound { .. } => (&range, None, &value),
                    Action::Test(_) => (&range, None, &boolean),
                    Action::Compare(_) => (&range, Some(&range), &boolean),
                    Action::Operate(_) => (&range, Some(&range), &range),
                    Action::ContainsAny { is_range_first: true } => (&range, Some(&any), &boolean),
                    Action::ContainsAny { is_range_first: false } => (&any, Some(&range), &boolean),
                };
                add_parameter(api, signature, "first", first, POSITIONAL_ONLY)?;
                if let Some(second) = second {
                    add_parameter(api, signature, "second", second, POSITIONAL_ONLY)?;
                }
                checked(api, |error| (api.v2_function_signature_set_return_type)(signature, result.handle, error))
            })?;
        }
    }
    Ok(())
}

unsafe extern "C" fn bind(info: Handle, own_info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind, whose data are those of `register`.
    unsafe {
        report(error, |api| {
            let call: &Call = object(api, |out, error| (api.v2_function_bind_get_user_data)(info, out, error))?;
            let form = match call.action {
                Action::ContainsAny { is_range_first } => {
                    call.form(&argument_type(api, info, u64::from(is_range_first))?.text()?)?
                }
                _ => call.form,
            };
            let mut copy = owned(Call { form, ..*call });
            checked(api, |error| (api.v2_scalar_function_bind_set_bind_data)(own_info, &raw mut copy, error))
        });
    }
}

unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `bind`. The vectors have the
    // types of the signature.
    unsafe {
        report(error, |api| {
            let call: &Call = object(api, |out, error| (api.v2_scalar_function_exec_get_bind_data)(info, out, error))?;
            let rows = scalar::row_count(api, info)?;
            let result = scalar::result(api, info)?;
            let first = scalar::argument(api, info, 0)?;
            match call.action {
                Action::Bound { is_upper } => {
                    let values = each(rows, &[&first], |entries| Ok(call.range(&first, entries[0])?.bound(is_upper)))?;
                    match call.element {
                        Element::Int4 | Element::Date => {
                            let narrow: Vec<_> =
                                values.into_iter().map(|value| value.map(|value| value as i32)).collect();
                            write(api, result, &narrow)
                        }
                        _ => write(api, result, &values),
                    }
                }
                Action::Test(test) => {
                    let values = each(rows, &[&first], |entries| Ok(Some(call.range(&first, entries[0])?.test(test))))?;
                    write(api, result, &values)
                }
                Action::Compare(comparison) => {
                    let second = scalar::argument(api, info, 1)?;
                    let values = each(rows, &[&first, &second], |entries| {
                        let (a, b) = (call.range(&first, entries[0])?, call.range(&second, entries[1])?);
                        Ok(Some(a.compare(comparison, &b)))
                    })?;
                    write(api, result, &values)
                }
                Action::ContainsAny { is_range_first } => {
                    let second = scalar::argument(api, info, 1)?;
                    let (ranges, values) = if is_range_first { (&first, &second) } else { (&second, &first) };
                    let found = each(rows, &[ranges, values], |entries| {
                        let (range, entry) = (call.range(ranges, entries[0])?, entries[1]);
                        let number = match call.form {
                            ElementForm::I8 => values.value::<i8>(entry).into(),
                            ElementForm::I16 => values.value::<i16>(entry).into(),
                            ElementForm::I32 => values.value::<i32>(entry).into(),
                            ElementForm::I64 => values.value::<i64>(entry),
                            ElementForm::Text => {
                                let text =
                                    std::str::from_utf8(values.text(entry)).map_err(|_| "a text is not UTF-8")?;
                                let other = KnownRange::parse(call.element, text).map_err(conversion)?;
                                return Ok(Some(range.compare(RangeComparison::Contains, &other)));
                            }
                        };
                        Ok(Some(range.contains_value(number)))
                    })?;
                    write(api, result, &found)
                }
                Action::Operate(operation) => {
                    let second = scalar::argument(api, info, 1)?;
                    let keys = each(rows, &[&first, &second], |entries| {
                        let (a, b) = (call.range(&first, entries[0])?, call.range(&second, entries[1])?);
                        a.operate(operation, &b).map(Some).map_err(conversion)
                    })?;
                    let (mut bytes, mut places) = (Vec::new(), Vec::new());
                    for key in keys {
                        let start = bytes.len();
                        bytes.extend_from_slice(key.as_deref().unwrap_or_default());
                        places.push(key.is_some().then_some(start..bytes.len()));
                    }
                    write_texts(api, result, &places, &bytes)
                }
            }
        });
    }
}

impl Call {
    /// What an argument of this type is.
    fn form(&self, type_: &str) -> Result<ElementForm, CallbackError> {
        Ok(match (self.element, type_) {
            (_, "VARCHAR" | "STRING_LITERAL" | "\"NULL\"") => ElementForm::Text,
            (Element::Int4 | Element::Int8, "TINYINT") => ElementForm::I8,
            (Element::Int4 | Element::Int8, "SMALLINT") => ElementForm::I16,
            (Element::Int4 | Element::Int8, "INTEGER" | "INTEGER_LITERAL") => ElementForm::I32,
            (Element::Int4 | Element::Int8, "BIGINT") => ElementForm::I64,
            (Element::Date, "DATE") => ElementForm::I32,
            (Element::Timestamp, "TIMESTAMP") | (Element::TimestampTz, "TIMESTAMP WITH TIME ZONE") => ElementForm::I64,
            _ => {
                let range = KeyedType::Range(self.element).name();
                let text =
                    format!("a {range} contains no values of type {type_}; cast the value, or make a range of it");
                return Err(CallbackError::bind(text));
            }
        })
    }

    /// # Safety
    /// The values are ranges of this element, and the entry is not NULL.
    unsafe fn range(&self, values: &VectorValues, entry: usize) -> Result<KnownRange, CallbackError> {
        // SAFETY: the caller promises it.
        KnownRange::of_key(self.element, unsafe { values.text(entry) }).map_err(conversion)
    }
}
