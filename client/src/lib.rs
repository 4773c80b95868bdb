//! Results of queries as Arrow batches.
