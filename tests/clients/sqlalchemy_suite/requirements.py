"""What the suite may expect of the dialect for PostgreSQL in front of DuckDB."""

from __future__ import annotations

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

#: What the suite asks only of those who say so, and there is.
HERE = """
    index_reflects_included_columns
    create_table_as create_temp_table_as table_ddl_if_exists index_ddl_if_exists uuid_data_type
    unique_constraints_reflect_as_index table_value_constructor nullsordering intersect except_ window_functions
    window_range ctes ctes_with_values standalone_binds boolean_col_expressions tuple_in views schemas
    implicit_default_schema sequences sequences_optional reflects_pk_names comment_reflection
    comment_reflection_full_unicode schema_reflection view_reflection view_column_reflection
    primary_key_constraint_reflection temp_table_names has_temp_table temporary_views create_or_replace_view
    check_constraint_reflection inline_check_constraint_reflection unicode_ddl datetime_interval datetime_literals
    datetime_timezone time_timezone timestamp_microseconds datetime_historic date_historic autocommit array_type
    json_type precision_numerics_enotation_small precision_numerics_enotation_large server_defaults
    expression_server_defaults precision_numerics_many_significant_digits
    precision_numerics_retains_significant_digits aggregate_order_by infinity_floats update_from delete_from
    mod_operator_as_percent_sign percent_schema_names order_by_label_with_expression supports_distinct_on
    regexp_match regexp_replace
    fetch_first fetch_no_order_by supports_bitwise_or supports_bitwise_and supports_bitwise_not
    supports_bitwise_shift indexes_with_expressions reflect_indexes_with_expressions
    implements_get_lastrowid binary_literals cross_schema_fk_reflection named_constraints
    unusual_column_name_characters default_schema_name_switch isolation_level duplicate_key_raises_integrity_error
"""
#: What it takes for granted, and is not.
NOT_HERE = """
    on_update_cascade on_update_or_deferrable_fks self_referential_foreign_keys_cascade recursive_fk_cascade
    indexes_with_ascdesc reflect_indexes_with_ascdesc savepoints
"""


class Requirements(SuiteRequirements):
    """As an object that the suite asks by names."""


for names, answer in ((HERE, exclusions.open), (NOT_HERE, exclusions.closed)):
    for name in names.split():
        setattr(Requirements, name, property(lambda self, answer=answer: answer()))
