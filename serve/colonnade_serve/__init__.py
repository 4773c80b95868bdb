"""The part of colonnade that serves: `colonnade serve`, its functions in Python, and models. The package `colonnade`
has the public names and the command."""
