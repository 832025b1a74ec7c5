//! For the fuzz target: what is read from a device, of any bytes, and what leaves by another.

use crate::arrival::Arrival;
use crate::departure::Head;
use crate::ip::{self, Header};
use crate::store::Store;
use unbloat_os::checksum::{fold, sum};

/// A packet that is taken leaves as segments whose payloads are its own, each with a header that is sound; checksums that were
/// left to the device are right.
pub fn passes(read: &[u8], has_header: bool) {
    let Some(arrival) = Arrival::parse(read, has_header) else {
        return;
    };
    let mut store = Store::new();
    assert!(store.open(), "nothing is kept yet");
    store.room()[..read.len()].copy_from_slice(read);
    let lot = store.fill(read.len());
    let handles: Vec<u32> = (0..arrival.count())
        .map(|nth| store.add(lot, arrival.segment(nth, lot.at, 0)))
        .collect();
    let mut payload = Vec::new();
    let mut heads = 0;
    for &handle in &handles {
        let segment = *store.segment(handle);
        let mut head = Head::of(&store, &segment);
        let body = store.payload(&segment);
        payload.extend_from_slice(body);
        heads = head.bytes().len();
        let was_left = head.vnet.needs_csum;
        let at = usize::from(head.vnet.csum_start);
        head.finish(body);
        let bytes = [head.bytes(), body].concat();
        let sound = Header::parse(&bytes).expect("a header that was sound");
        assert_eq!(sound.total, bytes.len());
        if was_left && sound.protocol == ip::TCP && segment.is_shared() {
            let pseudo = sound.pseudo_sum(ip::TCP, bytes.len() - at);
            let all = fold(u64::from(pseudo) + sum(&bytes[at..]));
            assert_eq!(all, 0xffff, "the checksum of a segment");
        }
    }
    let start = if has_header { crate::vnet::LEN } else { 0 };
    let whole = &read[start..start + arrival.ip.total];
    assert_eq!(payload, whole[heads..], "bytes of the payload");
    handles.into_iter().for_each(|handle| store.release(handle));
    store.close(lot);
}
