//! The papers are part of the program: a new file among them rebuilds it.

#[expect(
    clippy::disallowed_macros,
    reason = "how a build script speaks to Cargo"
)]
fn main() {
    println!("cargo:rerun-if-changed=included/papers");
}
