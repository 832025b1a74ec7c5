//! What a device leaves to hardware, or to the kernel on its behalf (`SIOCETHTOOL`, include/uapi/linux/ethtool.h).
//!
//! Queues see packets as on a wire only where segments are neither put off nor merged.

use crate::device::{self, GET_LINK, LINK, link};
use crate::netlink::{Attributes, Family, Netlink, attribute, u32_at};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// As `ethtool -K` calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offload {
    /// TCP's segments are made by the device.
    Tso,
    /// Segments are made after the queue discipline.
    Gso,
    /// What arrives is merged.
    Gro,
    TxChecksum,
    RxChecksum,
}

/// Those that make several packets one, for queue disciplines and filters.
pub const MERGING: [Offload; 3] = [Offload::Tso, Offload::Gso, Offload::Gro];

impl Offload {
    /// `ETHTOOL_G*`; the number after it is `ETHTOOL_S*`.
    fn question(self) -> u32 {
        match self {
            Offload::Tso => 0x1e,
            Offload::Gso => 0x23,
            Offload::Gro => 0x2b,
            Offload::TxChecksum => 0x16,
            Offload::RxChecksum => 0x14,
        }
    }

    /// Whether a device of this thread's namespace does it; one that knows nothing of it does not.
    pub fn is_on(self, device: &str) -> io::Result<bool> {
        let asked = call(device, self.question(), 0);
        match asked {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            asked => Ok(asked? != 0),
        }
    }

    /// Switches it. A device that cannot do it needs not be told to leave it.
    pub fn set(self, device: &str, on: bool) -> io::Result<()> {
        match call(device, self.question() + 1, on.into()) {
            Err(error) if !on && error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
            told => told.map(drop),
        }
    }
}

/// Words of 32 features that this knows room for; kernels have two.
const MOST_WORDS: usize = 8;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;

/// `struct ethtool_gfeatures`.
#[repr(C)]
struct Got {
    command: u32,
    size: u32,
    /// available, requested, active, never changed.
    words: [[u32; 4]; MOST_WORDS],
}

/// `struct ethtool_sfeatures`.
#[repr(C)]
struct Wanted {
    command: u32,
    size: u32,
    /// valid, requested.
    words: [[u32; 2]; MOST_WORDS],
}

fn got(device: &str) -> io::Result<Got> {
    let mut got = Got {
        command: GET_FEATURES,
        size: MOST_WORDS as u32,
        words: [[0; 4]; MOST_WORDS],
    };
    // SAFETY: the structure has room for as many words as it says.
    unsafe { ask(device, (&raw mut got).cast()) }?;
    got.size = got.size.min(MOST_WORDS as u32);
    Ok(got)
}

/// All that was asked of a device, as bits in the kernel's order. One switch of [`Offload`] is several of them: whoever puts a device
/// back to how it was goes by these.
pub fn features(device: &str) -> io::Result<Vec<u32>> {
    let got = got(device)?;
    let words = &got.words[..got.size as usize];
    Ok(words.iter().map(|word| word[1]).collect())
}

/// Asks for the same again. What the device cannot do, or nobody changed, is not touched.
pub fn set_features(device: &str, wanted: &[u32]) -> io::Result<()> {
    let now = got(device)?;
    let mut asked = Wanted {
        command: SET_FEATURES,
        size: now.size,
        words: [[0; 2]; MOST_WORDS],
    };
    for ((to, word), bits) in asked.words.iter_mut().zip(now.words).zip(wanted) {
        let [available, requested, ..] = word;
        *to = [available & (requested ^ bits), *bits];
    }
    match asked.words.iter().all(|word| word[0] == 0) {
        true => Ok(()),
        // SAFETY: the structure has room for as many words as it says.
        false => unsafe { ask(device, (&raw mut asked).cast()) },
    }
}

/// `IFLA_GSO_MAX_SEGS`.
const MOST_SEGMENTS: u16 = 40;

/// How many segments one packet of this host's own TCP may have on its way to the device (`ip link`'s `gso_max_segs`). None: the kernel
/// does not tell. Since Linux 4.17 TCP makes large packets also for devices whose GSO and TSO are off, and only this bounds them.
pub fn most_segments(device: &str) -> io::Result<Option<u32>> {
    let index = device::index(device)?;
    let mut most = None;
    Netlink::open(Family::Route)?.get(GET_LINK, &link(index), |answer| {
        let list = answer.get(LINK..).unwrap_or_default();
        most = attribute(list, MOST_SEGMENTS).and_then(|value| u32_at(value, 0));
    })?;
    Ok(most)
}

/// Sets it. Connections that exist learn of it when they look up their route again.
pub fn set_most_segments(device: &str, most: u32) -> io::Result<()> {
    const SET_LINK: u16 = 19;
    let asked = Attributes::new().u32(MOST_SEGMENTS, most).to_bytes();
    let body = [&link(device::index(device)?)[..], &asked].concat();
    Netlink::open(Family::Route)?.tell(SET_LINK, &body)
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

fn call(device: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = Value { command, data };
    // SAFETY: both commands' structure is an ethtool_value.
    unsafe { ask(device, (&raw mut value).cast()) }?;
    Ok(value.data)
}

/// # Safety
/// `what` is the structure of the command that it begins with, and may be written.
unsafe fn ask(device: &str, what: *mut libc::c_char) -> io::Result<()> {
    // Any address: that of loopback cannot be had while that device is down.
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: an ifreq is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte less than there is: it ends with a zero.
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = what;
    // SAFETY: the request names a device and points to what the caller vouches for; both outlive the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = Offload::Gso.is_on("no-such-device").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn loopback_tells_what_it_merges() {
        assert!(Offload::Gso.is_on("lo").unwrap());
        assert!(features("lo").unwrap().iter().any(|word| *word != 0));
        assert!(most_segments("lo").unwrap().is_some_and(|most| most > 1));
    }
}
