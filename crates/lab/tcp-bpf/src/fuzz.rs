//! For the fuzz target: a description of types (BTF) of any bytes.

use crate::btf::Layout;

/// Names and offsets of a structure's members.
pub fn members(btf: &[u8], name: &str) -> Option<Vec<(String, u32)>> {
    Layout::find(btf, name).map(|layout| layout.members)
}
