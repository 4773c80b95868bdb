"""The processes that run Python functions of `colonnade serve`. They import nothing else of this package, because they
run in the interpreter that `--udf-python` names: the standard library, numpy, and what a function imports.

`template` forks a function process on request. It maps its ring, confines itself, and then answers calls
(`calls`): `inbound` makes arrays of arguments, `compiled` is the user's function, `outbound` writes its result."""
