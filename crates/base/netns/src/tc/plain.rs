//! Options of disciplines that take nothing but numbers.

use super::link::Framing;
use super::value;
use super::words::{self, Value, Word};
use unbloat_os::netlink::Attributes;

pub(super) fn options(known: &[Word], words: &[&str]) -> Result<Vec<u8>, String> {
    Ok(read(known, words)?.0.to_bytes())
}

/// Cake counts what is beyond IP by itself, so its overhead is our framing.
pub(super) fn cake(words: &[&str], rate_bps: u64, framing: Framing) -> Result<Vec<u8>, String> {
    let (mut list, said) = read(words::CAKE, words)?;
    if !said.iter().any(|&w| matches!(w, "bandwidth" | "unlimited")) {
        list = list.u64(2, rate_bps / 8);
    }
    if !said.iter().any(|&w| matches!(w, "overhead" | "raw")) {
        list = list.u32(6, framing.beyond_ip() as u32);
    }
    Ok(list.to_bytes())
}

/// The attributes, and which words were said.
fn read<'a>(known: &[Word], words: &[&'a str]) -> Result<(Attributes, Vec<&'a str>), String> {
    let mut list = Attributes::new();
    let mut said = Vec::new();
    let mut rest = words.iter();
    while let Some(&name) = rest.next() {
        let word = known.iter().find(|word| word.name == name).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|word| word.name).collect();
            format!(
                "it has no option \"{name}\"; the options are {}",
                names.join(", ")
            )
        })?;
        said.push(name);
        list = match word.value {
            Value::Says(value) if word.name == "unlimited" => {
                list.u64(word.attribute, value.into())
            }
            Value::Says(value) => list.u32(word.attribute, value),
            _ => {
                let argument = *rest
                    .next()
                    .ok_or_else(|| format!("\"{name}\" needs a value"))?;
                append(list, word, argument)
                    .ok_or_else(|| format!("\"{argument}\" is not a valid value of \"{name}\""))?
            }
        };
    }
    Ok((list, said))
}

fn append(list: Attributes, word: &Word, argument: &str) -> Option<Attributes> {
    let value = match word.value {
        Value::Count => value::count(argument)?,
        Value::Micros => value::micros(argument)?,
        Value::Nanos => value::nanos(argument)?,
        Value::Bytes => value::bytes(argument)?,
        Value::Rate => u32::try_from(value::bits_per_second(argument)? / 8).ok()?,
        Value::Rate64 => {
            return Some(list.u64(word.attribute, value::bits_per_second(argument)? / 8));
        }
        Value::Signed => argument.parse::<i32>().ok()? as u32,
        Value::Says(value) => value,
    };
    Some(list.u32(word.attribute, value))
}
