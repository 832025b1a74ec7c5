//! The guest's first process: runs the referee and switches the guest off.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        unbloat_uml::inside::run_referee();
    }
    eprintln!("guest-init: this is the first process of a guest; see unbloat_uml::referee");
    ExitCode::FAILURE
}
