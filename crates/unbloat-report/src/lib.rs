//! Terminal verdict and one self-contained HTML report over the tables of a run.
