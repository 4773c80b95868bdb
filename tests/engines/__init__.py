"""`colonnade.distributed`. test_*.py needs no cluster and runs in `make test`; the other modules run the engines on
local clusters, in `make test-engines`."""
