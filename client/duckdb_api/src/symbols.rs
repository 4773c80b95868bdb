//! The functions of DuckDB's C interface, from the loaded module.
//!
//! Version 2 of the interface is not yet stable: its functions change between minor versions. These declarations are
//! those of DuckDB 2.0.1, and `Api::load` accepts 2.0 only. Version 1 is stable; it alone tells which connection calls.

use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

#[cfg(unix)]
use libloading::os::unix as system;
#[cfg(windows)]
use libloading::os::windows as system;

/// `dlopen` finds a library that is loaded, and loads none.
#[cfg(target_os = "linux")]
const RTLD_NOLOAD: i32 = 4;
#[cfg(target_os = "macos")]
const RTLD_NOLOAD: i32 = 0x10;

/// A handle. All of them are pointers.
pub type Handle = *mut c_void;
/// An error code; 0 is success.
pub type Code = i32;

/// `duckdb_v2_str`: a borrowed text.
#[repr(C)]
#[allow(missing_docs, reason = "DuckDB's header documents them")]
pub struct RawText {
    pub bytes: *const u8,
    pub length: u64,
}

/// `duckdb_v2_opaque`: an object of ours that DuckDB keeps.
#[repr(C)]
#[allow(missing_docs, reason = "DuckDB's header documents them")]
pub struct Opaque {
    pub object: *mut c_void,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub equals: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> bool>,
}

/// `duckdb_v2_vector_view`: a vector's memory. The value of row i is at `selection[i]`, or at i if there is no
/// selection.
#[repr(C)]
#[allow(missing_docs, reason = "DuckDB's header documents them")]
pub struct View {
    pub data: *const c_void,
    pub validity: *const u64,
    pub selection: *const u32,
    pub count: u64,
}

/// The arguments of a bind callback: of all kinds of functions, of this kind, the context, the error.
pub type BindCallback = unsafe extern "C" fn(Handle, Handle, Handle, *mut Handle);
/// The arguments of another callback of a scalar function: its information, the context, the error.
pub type ScalarCallback = unsafe extern "C" fn(Handle, Handle, *mut Handle);
/// The arguments of another callback of an aggregate: its information, the error.
pub type AggregateCallback = unsafe extern "C" fn(Handle, *mut Handle);
/// A bind callback of version 1.
pub type FirstBindCallback = unsafe extern "C" fn(Handle);
/// An exec callback of version 1.
pub type FirstExecCallback = unsafe extern "C" fn(Handle, Handle, Handle);
/// Destroys an object of ours.
pub type Destroy = unsafe extern "C" fn(*mut c_void);
/// Describes a static extension, and registers what it has.
pub type Describe = unsafe extern "C" fn(*mut c_void) -> i32;

macro_rules! api {
    ($(fn $name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// DuckDB's functions by name.
        #[allow(missing_docs, reason = "DuckDB's header documents them")]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Api {
            fn resolve(library: &Library) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        let address = library.symbol(concat!("duckdb_", stringify!($name)))?;
                        // SAFETY: the symbol is DuckDB's function of this name, and the type is its declaration in
                        // DuckDB 2.0.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(address) }
                    },)*
                })
            }
        }
    };
}

api! {
    fn register_static_extension(Describe) -> i32;
    // Version 1.
    fn connect(Handle, *mut Handle) -> i32;
    fn disconnect(*mut Handle) -> ();
    fn create_logical_type(i32) -> Handle;
    fn destroy_logical_type(*mut Handle) -> ();
    fn create_scalar_function() -> Handle;
    fn destroy_scalar_function(*mut Handle) -> ();
    fn scalar_function_set_name(Handle, *const c_char) -> ();
    fn scalar_function_set_return_type(Handle, Handle) -> ();
    fn scalar_function_set_extra_info(Handle, *mut c_void, Option<Destroy>) -> ();
    fn scalar_function_set_bind(Handle, FirstBindCallback) -> ();
    fn scalar_function_set_function(Handle, FirstExecCallback) -> ();
    fn scalar_function_bind_get_extra_info(Handle) -> *mut c_void;
    fn scalar_function_get_client_context(Handle, *mut Handle) -> ();
    fn client_context_get_connection_id(Handle) -> u64;
    fn destroy_client_context(*mut Handle) -> ();
    fn scalar_function_set_bind_data(Handle, *mut c_void, Option<Destroy>) -> ();
    fn scalar_function_set_bind_data_copy(Handle, unsafe extern "C" fn(*mut c_void) -> *mut c_void) -> ();
    fn scalar_function_get_bind_data(Handle) -> *mut c_void;
    fn scalar_function_set_error(Handle, *const c_char) -> ();
    fn register_scalar_function(Handle, Handle) -> i32;
    fn data_chunk_get_size(Handle) -> u64;
    fn vector_assign_string_element_len(Handle, u64, *const c_char, u64) -> ();
    // Version 2.
    fn v2_error_info_set_code(Handle, i32) -> Code;
    fn v2_error_info_set_text(Handle, *const RawText) -> Code;
    fn v2_error_info_get_text(Handle, *mut RawText) -> Code;
    fn v2_error_info_destroy(*mut Handle) -> Code;
    fn v2_context_get_factory(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_factory_create_type_from_id(Handle, i32, *const c_void, *const c_void, u64, *mut Handle, *mut Handle) -> Code;
    fn v2_factory_create_type_from_text(Handle, *const RawText, *mut Handle, *mut Handle) -> Code;
    fn v2_factory_create_type_with_alias(Handle, Handle, *const RawText, *mut Handle, *mut Handle) -> Code;
    fn v2_logical_type_to_text(Handle, *mut c_char, u64, *mut u64, *mut Handle) -> Code;
    fn v2_logical_type_is_equal(Handle, Handle, *mut bool, *mut Handle) -> Code;
    fn v2_logical_type_destroy(*mut Handle) -> Code;
    fn v2_value_is_null(Handle, *mut bool, *mut Handle) -> Code;
    fn v2_value_get_varchar(Handle, *mut RawText, *mut Handle) -> Code;
    fn v2_value_destroy(*mut Handle) -> Code;
    fn v2_function_signature_add_parameter(Handle, *const RawText, Handle, Handle, i32, *mut Handle) -> Code;
    fn v2_function_signature_set_return_type(Handle, Handle, *mut Handle) -> Code;
    fn v2_function_bind_get_arg_count(Handle, *mut u64, *mut u64, *mut u64, *mut u64, *mut Handle) -> Code;
    fn v2_function_bind_get_arg_type(Handle, u64, *mut Handle, *mut Handle) -> Code;
    fn v2_function_bind_get_arg_value(Handle, u64, *mut Handle, *mut Handle) -> Code;
    fn v2_function_bind_get_user_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_function_bind_set_bind_data(Handle, *mut Opaque, *mut Handle) -> Code;
    fn v2_scalar_function_create(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_scalar_function_destroy(*mut Handle) -> Code;
    fn v2_scalar_function_set_name(Handle, *const RawText, *mut Handle) -> Code;
    fn v2_scalar_function_get_signature(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_scalar_function_set_property(Handle, i32, i32, *mut Handle) -> Code;
    fn v2_scalar_function_set_user_data(Handle, *mut Opaque, *mut Handle) -> Code;
    fn v2_scalar_function_set_resolve_types_callback(Handle, BindCallback, *mut Handle) -> Code;
    fn v2_scalar_function_set_bind_callback(Handle, BindCallback, *mut Handle) -> Code;
    fn v2_scalar_function_set_init_callback(Handle, ScalarCallback, *mut Handle) -> Code;
    fn v2_scalar_function_set_exec_callback(Handle, ScalarCallback, *mut Handle) -> Code;
    fn v2_scalar_function_resolve_types_set_return_type(Handle, Handle, *mut Handle) -> Code;
    fn v2_scalar_function_bind_set_bind_data(Handle, *mut Opaque, *mut Handle) -> Code;
    fn v2_scalar_function_init_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_scalar_function_init_set_init_data(Handle, *mut Opaque, *mut Handle) -> Code;
    fn v2_scalar_function_exec_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_scalar_function_exec_get_init_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_scalar_function_exec_get_row_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_scalar_function_exec_get_arg(Handle, u64, *mut Handle, *mut Handle) -> Code;
    fn v2_scalar_function_exec_get_result(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_extension_register_scalar_function(Handle, Handle, *mut Handle) -> Code;
    fn v2_aggregate_function_create(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_aggregate_function_destroy(*mut Handle) -> Code;
    fn v2_aggregate_function_set_name(Handle, *const RawText, *mut Handle) -> Code;
    fn v2_aggregate_function_get_signature(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_aggregate_function_set_user_data(Handle, *mut Opaque, *mut Handle) -> Code;
    fn v2_aggregate_function_set_property(Handle, i32, i32, *mut Handle) -> Code;
    fn v2_aggregate_function_set_bind_callback(Handle, BindCallback, *mut Handle) -> Code;
    fn v2_aggregate_function_set_size_callback(Handle, AggregateCallback, *mut Handle) -> Code;
    fn v2_aggregate_function_set_init_callback(Handle, AggregateCallback, *mut Handle) -> Code;
    fn v2_aggregate_function_set_update_callback(Handle, AggregateCallback, *mut Handle) -> Code;
    fn v2_aggregate_function_set_combine_callback(Handle, AggregateCallback, *mut Handle) -> Code;
    fn v2_aggregate_function_set_finalize_callback(Handle, AggregateCallback, *mut Handle) -> Code;
    fn v2_aggregate_function_bind_set_return_type(Handle, Handle, *mut Handle) -> Code;
    fn v2_aggregate_function_size_set_state_size(Handle, u64, *mut Handle) -> Code;
    fn v2_aggregate_function_init_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_aggregate_function_destroy_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_aggregate_function_destroy_get_state_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_set_destroy_callback(Handle, AggregateCallback, *mut Handle) -> Code;
    fn v2_aggregate_function_init_get_states(Handle, *mut *mut *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_init_get_state_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_update_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_aggregate_function_update_get_arg(Handle, u64, *mut Handle, *mut Handle) -> Code;
    fn v2_aggregate_function_update_get_row_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_update_get_states(Handle, *mut *mut *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_combine_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_aggregate_function_combine_get_sources(Handle, *mut *mut *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_combine_get_targets(Handle, *mut *mut *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_combine_get_state_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_finalize_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_aggregate_function_finalize_get_states(Handle, *mut *mut *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_finalize_get_state_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_aggregate_function_finalize_get_result(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_aggregate_function_finalize_get_result_offset(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_extension_register_aggregate_function(Handle, Handle, *mut Handle) -> Code;
    fn v2_table_function_create(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_table_function_destroy(*mut Handle) -> Code;
    fn v2_table_function_set_name(Handle, *const RawText, *mut Handle) -> Code;
    fn v2_table_function_get_signature(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_table_function_set_bind_callback(Handle, BindCallback, *mut Handle) -> Code;
    fn v2_table_function_set_init_global_callback(Handle, ScalarCallback, *mut Handle) -> Code;
    fn v2_table_function_set_exec_callback(Handle, ScalarCallback, *mut Handle) -> Code;
    fn v2_table_function_set_projection_pushdown(Handle, bool, *mut Handle) -> Code;
    fn v2_table_function_bind_add_result_column(Handle, *const RawText, Handle, *mut Handle) -> Code;
    fn v2_table_function_bind_set_cardinality(Handle, u64, bool, *mut Handle) -> Code;
    fn v2_table_function_init_global_set_max_threads(Handle, u64, *mut Handle) -> Code;
    fn v2_table_function_init_global_set_global_state(Handle, *mut Opaque, *mut Handle) -> Code;
    fn v2_table_function_exec_get_bind_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_table_function_exec_get_global_state(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_table_function_exec_get_column_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_table_function_exec_get_column_index(Handle, u64, *mut u64, *mut Handle) -> Code;
    fn v2_table_function_exec_get_output_chunk(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_extension_register_table_function(Handle, Handle, *mut Handle) -> Code;
    fn v2_custom_type_create(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_custom_type_destroy(*mut Handle) -> Code;
    fn v2_custom_type_set_name(Handle, *const RawText, *mut Handle) -> Code;
    fn v2_custom_type_set_base_type(Handle, Handle, *mut Handle) -> Code;
    fn v2_extension_register_custom_type(Handle, Handle, *mut Handle) -> Code;
    fn v2_cast_function_create(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_cast_function_destroy(*mut Handle) -> Code;
    fn v2_cast_function_set_source_type(Handle, Handle, *mut Handle) -> Code;
    fn v2_cast_function_set_target_type(Handle, Handle, *mut Handle) -> Code;
    fn v2_cast_function_set_user_data(Handle, *mut Opaque, *mut Handle) -> Code;
    fn v2_cast_function_set_implicit_cast_cost(Handle, i64, *mut Handle) -> Code;
    fn v2_cast_function_set_exec_callback(Handle, ScalarCallback, *mut Handle) -> Code;
    fn v2_cast_function_exec_get_user_data(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_cast_function_exec_get_row_count(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_cast_function_exec_get_input(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_cast_function_exec_get_output(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_cast_function_exec_get_mode(Handle, *mut i32, *mut Handle) -> Code;
    fn v2_extension_register_cast_function(Handle, Handle, *mut Handle) -> Code;
    fn v2_data_chunk_get_vector(Handle, u64, *mut Handle, *mut Handle) -> Code;
    fn v2_vector_get_vector_type(Handle, *mut i32, *mut Handle) -> Code;
    fn v2_vector_flatten(Handle, *mut Handle) -> Code;
    fn v2_vector_get_view(Handle, *mut View, *mut Handle) -> Code;
    fn v2_vector_get_data_mutable(Handle, *mut *mut c_void, *mut Handle) -> Code;
    fn v2_vector_flat_get_validity_mutable(Handle, *mut *mut u64, *mut Handle) -> Code;
    fn v2_vector_constant_set_valid(Handle, bool, *mut Handle) -> Code;
    fn v2_vector_get_child(Handle, u64, *mut Handle, *mut Handle) -> Code;
    fn v2_vector_reference(Handle, Handle, *mut Handle) -> Code;
    fn v2_vector_get_size(Handle, *mut u64, *mut Handle) -> Code;
    fn v2_vector_set_size(Handle, u64, *mut Handle) -> Code;
    fn v2_vector_get_arena(Handle, *mut Handle, *mut Handle) -> Code;
    fn v2_arena_allocate(Handle, u64, *mut *mut u8, *mut Handle) -> Code;
}

/// A loaded library, which is never closed.
struct Library(ManuallyDrop<system::Library>);

impl Library {
    /// The library of a file that this process has loaded already. No code of the file runs.
    fn loaded(path: &str) -> Result<Self, String> {
        #[cfg(unix)]
        // SAFETY: with RTLD_NOLOAD nothing is loaded.
        let found = unsafe { system::Library::open(Some(path), system::RTLD_NOW | RTLD_NOLOAD) };
        #[cfg(windows)]
        let found = system::Library::open_already_loaded(path);
        found.map(|library| Self(ManuallyDrop::new(library))).map_err(|_| format!("{path} is not loaded"))
    }

    fn symbol(&self, name: &str) -> Result<*mut c_void, String> {
        // SAFETY: the address is only taken. Who calls it knows its type.
        let found = unsafe { self.0.get::<*mut c_void>(name.as_bytes()) };
        found.map(|symbol| symbol.as_raw_ptr()).map_err(|_| format!("it has no {name}"))
    }
}

static API: OnceLock<Api> = OnceLock::new();

impl Api {
    /// Finds DuckDB's functions in the file of its extension module.
    ///
    /// # Errors
    /// Why this DuckDB cannot be used.
    pub fn load(path: &str) -> Result<&'static Self, String> {
        if let Some(api) = API.get() {
            return Ok(api);
        }
        let library = Library::loaded(path)?;
        let address = library.symbol("duckdb_library_version")?;
        // SAFETY: this function has had this declaration since the first version of the interface.
        let version: unsafe extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(address) };
        // SAFETY: it returns a constant text.
        let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
        if !version.starts_with("v2.0.") {
            return Err(format!("this needs DuckDB 2.0, but here is DuckDB {version}"));
        }
        let api = Self::resolve(&library)?;
        Ok(API.get_or_init(|| api))
    }

    /// The functions, in a callback of DuckDB: only a library that was loaded calls back.
    pub fn loaded() -> Result<&'static Self, &'static str> {
        API.get().ok_or("DuckDB's functions were not loaded")
    }
}
