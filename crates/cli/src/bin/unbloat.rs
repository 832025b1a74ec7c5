//! The program.

fn main() -> std::process::ExitCode {
    unbloat::main().into()
}
