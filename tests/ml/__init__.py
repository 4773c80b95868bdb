"""Machine learning in the database. The bodies of the functions run here as ordinary Python too, compiled as in
function processes. What needs scikit-learn runs in `make test-ml`, the rest also in `make test`."""
