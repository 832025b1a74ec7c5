//! One-way delays between two clocks.
