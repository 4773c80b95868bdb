"""Functions of a database as files: pulled, run on the inputs of a query, and pushed back (`colonnade udf`).

A file's id is a hash of declaration and body, so the file, the database and what was pulled are compared without a
table of versions. Local calls use the classes of the function processes (`_udf/calls.py`) over memory with the ring's
layout (`memory.py`), so conversions are the same code; only the function is the one that was compiled under the file's
path. `at_rest.py` writes inputs while they arrive, and answers of queries: as Arrow IPC, or encrypted in parts while
Arrow writes them (`sealed.py`). What runs is always read from the file.
"""
