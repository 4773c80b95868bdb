"""Functions as files: `colonnade udf`, and the inputs of functions that the server gives."""
