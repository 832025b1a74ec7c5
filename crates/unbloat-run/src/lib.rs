//! The run folder: run.json and Parquet tables, and the same tables as CSV, JSON and JSON Lines.
