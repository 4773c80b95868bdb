"""What is shipped: the packages' builds, versions and installations. `make test-dist` runs the files `shipped_*.py`,
which need what `make dist` builds."""
