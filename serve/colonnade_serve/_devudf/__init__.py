"""Functions of a database as files: pulled, run on the inputs of a query, and pushed back (`colonnade udf`)."""
