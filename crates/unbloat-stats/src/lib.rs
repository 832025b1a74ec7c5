//! Quantiles, histograms, correlations and windowed extremes: plain state machines over numbers.
