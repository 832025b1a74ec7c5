//! Bins of time that the tables `rtt` and `in_flight` are thinned to, and their rows until they are written.

use super::{Context, Flow};
use crate::tables::{SideTables, order};
use unbloat_table::{Columns, Rows};
use unbloat_units::Time;

/// The end of the bin that is being filled. Kept, because telling bins apart by division would
/// cost every packet more than the rest of its sample.
#[derive(Clone, Copy, Default)]
pub(crate) struct BinEnd {
    begin: Time,
    end: Time,
}

impl BinEnd {
    /// Whether `now` lies in another bin than the time before; with bins of zero width every
    /// sample has its own.
    #[inline]
    pub(crate) fn is_over(&mut self, now: Time, cx: &Context<'_>) -> bool {
        if self.begin <= now && now < self.end {
            return false;
        }
        let width = cx.params.bin;
        if width.as_ns() > 0 {
            let number = cx.since_origin(now).div_euclid(width.as_ns());
            self.begin = cx.origin + width * number;
            self.end = self.begin + width;
        }
        true
    }
}

/// Writes the rows that wait in `held`, once their flow is long ([`Params::is_long`](crate::Params::is_long)) or ends. Those of a short one
/// so come with its row of `flows`, and who takes them can tell whether they are of use.
pub(super) fn write_held<R: Columns>(
    held: &mut Vec<R>,
    ends: bool,
    flow: &Flow<'_>,
    cx: &mut Context<'_>,
    table: fn(&mut SideTables) -> &mut Rows,
) {
    let (payload, packets) = (flow.core.payload, flow.core.packets);
    let is_long = || (cx.params).is_long(payload.down + payload.up, packets.down + packets.up);
    if ends || is_long() {
        let (order, rows) = (order(cx.number, flow.core.flow_id), table(cx.tables));
        held.drain(..).for_each(|row| rows.push(order, row));
        // From now on they wait one by one.
        held.shrink_to(4);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;
    use unbloat_units::Bytes;

    /// Where the rows of `table` stand, for a flow that is long after so many bytes.
    fn written_at(table: &str, deep_after: u64) -> Vec<u64> {
        let mut script = Script::opened().with(|params| params.deep_after = Bytes::new(deep_after));
        for i in 0..4 {
            let ms = 200.0 + 200.0 * f64::from(i);
            script.packet(ms, &format!("< {}+1000 ack 1", 1 + 1000 * i));
            script.packet(ms + 50.0, &format!("> 1+0 ack {}", 1001 + 1000 * i));
        }
        script.run().written_at(table)
    }

    #[test]
    fn rows_wait_until_their_flow_is_long_and_those_of_a_short_one_for_its_end() {
        // Three packets of the handshake, then two for each bin: a row is complete when the next bin begins.
        assert_eq!(written_at("in_flight", 2000), [5, 7, 9, 11]);
        assert_eq!(written_at("in_flight", 3000), [7, 7, 9, 11]);
        assert_eq!(written_at("in_flight", 65_536), [11; 4]);
        // The two sides of the handshake too.
        assert_eq!(written_at("rtt", 65_536), [11; 6]);
    }
}
