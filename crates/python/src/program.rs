//! The command, for the program of this package: `program.c` calls it.

use std::ffi::c_int;
use std::panic::catch_unwind;

/// The exit code of the command with this process's arguments; 101 after a panic, as from a program of Rust.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn unbloat_main() -> c_int {
    catch_unwind(unbloat::main).map_or(101, c_int::from)
}
