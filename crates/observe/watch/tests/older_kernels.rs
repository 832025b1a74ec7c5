//! The programs as older kernels take them, by a function that the crate keeps to itself. Needs root.

#[allow(
    dead_code,
    unused_imports,
    reason = "of the crate's own modules the test needs one function"
)]
#[path = "../src"]
mod own {
    pub mod counts;
    pub mod error;
    pub mod probes;
    pub mod process;
    pub mod spread;
}

use own::probes::Probes;
use own::process::namespace;
use own::{counts, error, spread};

fn kernels_that_forbid_loads_from_packets_take_the_programs_too() {
    Probes::load_with(namespace().unwrap(), false).unwrap();
}

unbloat_testkit::main! {
    root("measuring within the kernel") => [
        kernels_that_forbid_loads_from_packets_take_the_programs_too,
    ],
}
