//! Where the members of a kernel's structures lie (BTF, Documentation/bpf/btf.rst).
//!
//! aya-obj reads the same format for relocations, but tells nobody about members.

const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;

/// A structure's number, size in bytes and members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub id: u32,
    pub size: u32,
    /// Names and offsets in bytes.
    pub members: Vec<(String, u32)>,
}

impl Layout {
    /// The structure of that name; none if there is none or if this is not BTF.
    pub(crate) fn find(btf: &[u8], name: &str) -> Option<Layout> {
        let sections = Sections::of(btf)?;
        let mut at = 0;
        for id in 1.. {
            let head = Type::at(sections.types, at)?;
            if head.kind == STRUCT && sections.string(head.name)? == name.as_bytes() {
                return head.layout(id, &sections, at + Type::SIZE);
            }
            at += Type::SIZE + head.trailing()?;
        }
        None
    }

    pub(crate) fn member(&self, name: &str) -> Option<(u32, u32)> {
        let position = self.members.iter().position(|(n, _)| n == name)?;
        Some((position as u32, self.members[position].1))
    }
}

/// A description of one type: the least that the kernel takes.
pub(crate) fn smallest() -> Vec<u8> {
    // A signed integer of four bytes.
    assemble(&[1, 1 << 24, 4, 1 << 24 | 32], b"\0int\0")
}

fn assemble(types: &[u32], strings: &[u8]) -> Vec<u8> {
    let length = 4 * types.len() as u32;
    let head = [24, 0, length, length, strings.len() as u32];
    let mut btf = MAGIC.to_ne_bytes().to_vec();
    btf.extend([1, 0]);
    btf.extend(head.iter().chain(types).flat_map(|w| w.to_ne_bytes()));
    btf.extend(strings);
    btf
}

struct Sections<'a> {
    types: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Sections<'a> {
    fn of(btf: &'a [u8]) -> Option<Sections<'a>> {
        if u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let head = word(btf, 4)? as usize;
        let section = |at| {
            let start = head.checked_add(word(btf, at)? as usize)?;
            let end = start.checked_add(word(btf, at + 4)? as usize)?;
            btf.get(start..end)
        };
        Some(Sections {
            types: section(8)?,
            strings: section(16)?,
        })
    }

    fn string(&self, at: u32) -> Option<&'a [u8]> {
        self.strings.get(at as usize..)?.split(|&b| b == 0).next()
    }
}

/// What every type begins with.
struct Type {
    name: u32,
    kind: u32,
    /// Of members, values or parameters.
    count: usize,
    /// Offsets of members hold the width of bit fields too.
    has_bit_fields: bool,
    size: u32,
}

impl Type {
    const SIZE: usize = 12;

    fn at(types: &[u8], at: usize) -> Option<Type> {
        let info = word(types, at + 4)?;
        Some(Type {
            name: word(types, at)?,
            kind: (info >> 24) & 0x1f,
            count: (info & 0xffff) as usize,
            has_bit_fields: info >> 31 == 1,
            size: word(types, at + 8)?,
        })
    }

    /// Bytes that follow, by kind; none for a kind that is not known.
    fn trailing(&self) -> Option<usize> {
        Some(match self.kind {
            // Integers, variables and tags of declarations.
            1 | 14 | 17 => 4,
            // Arrays.
            3 => 12,
            // Structures, unions, sections and wide enumerations.
            4 | 5 | 15 | 19 => self.count * 12,
            // Enumerations and prototypes.
            6 | 13 => self.count * 8,
            // Pointers, declarations, names, qualifiers, functions, floats and tags of types.
            2 | 7..=12 | 16 | 18 => 0,
            _ => return None,
        })
    }

    fn layout(&self, id: u32, sections: &Sections<'_>, at: usize) -> Option<Layout> {
        let members = (0..self.count).map(|n| {
            let name = sections.string(word(sections.types, at + n * 12)?)?;
            let bits = word(sections.types, at + n * 12 + 8)?;
            let bits = if self.has_bit_fields {
                bits & 0xff_ffff
            } else {
                bits
            };
            Some((String::from_utf8_lossy(name).into_owned(), bits / 8))
        });
        Some(Layout {
            id,
            size: self.size,
            members: members.collect::<Option<_>>()?,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An integer, then `struct ops { int a; int b; }`.
    fn example() -> Vec<u8> {
        let strings = b"\0int\0ops\0a\0b\0";
        let types: [u32; 13] = [
            1,
            1 << 24,
            4,
            32, // int
            5,
            4 << 24 | 2,
            8, // struct ops
            9,
            1,
            0, // a
            11,
            1,
            32, // b
        ];
        assemble(&types, strings)
    }

    #[test]
    fn members_of_a_structure_are_found_by_name() {
        let layout = Layout::find(&example(), "ops").unwrap();
        assert_eq!((layout.id, layout.size), (2, 8));
        assert_eq!(layout.member("a"), Some((0, 0)));
        assert_eq!(layout.member("b"), Some((1, 4)));
        assert_eq!(layout.member("c"), None);
        assert_eq!(Layout::find(&example(), "other"), None);
    }

    #[test]
    fn what_is_cut_off_is_not_found_and_does_no_harm() {
        let btf = example();
        for length in 0..btf.len() {
            Layout::find(&btf[..length], "ops");
            assert_eq!(Layout::find(&btf[..length], "other"), None);
        }
    }
}
