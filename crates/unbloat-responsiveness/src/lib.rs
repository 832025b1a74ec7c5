//! What load does to delay.
