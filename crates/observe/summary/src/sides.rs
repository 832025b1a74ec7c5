//! What flows tell of the capture that they come from: directions that are not in it, and missing
//! bytes.

use crate::view::View;
use unbloat_health::Flows;
use unbloat_table::Names;
use unbloat_trace::flows::{LossColumns, VolumeColumns};
use unbloat_units::Both;

/// Counts the rows of `flows`.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaptureSides {
    found: Flows,
}

/// A SYN and its answers may be all that there is of a flow.
const FEWEST_PACKETS: u64 = 3;

impl CaptureSides {
    pub(crate) fn add(&mut self, view: &View) {
        let both = |names: Names| names.map(|name| view.column(name));
        let packets = both(Both::new(
            VolumeColumns::packets_down,
            VolumeColumns::packets_up,
        ));
        let payload = both(Both::new(
            VolumeColumns::payload_down_bytes,
            VolumeColumns::payload_up_bytes,
        ));
        let missing = both(LossColumns::missing_bytes);
        let syn_only = view.column(VolumeColumns::syn_only);
        for row in view.tcp_rows() {
            let Both { down, up } = packets.map(|column| column.u64(row).unwrap_or(0));
            if down + up < FEWEST_PACKETS || syn_only.is_true(row) {
                continue;
            }
            self.found.tcp_flows += 1;
            match (down, up) {
                (_, 0) => self.found.only_down += 1,
                (0, _) => self.found.only_up += 1,
                _ => {
                    let sum = |columns: Both<unbloat_table::ColumnView<'_>>| {
                        let values = columns.iter().filter_map(|column| column.u64(row));
                        values.sum::<u64>()
                    };
                    self.found.payload_bytes += sum(payload);
                    self.found.missing_bytes += sum(missing);
                }
            }
        }
    }

    pub(crate) fn found(&self) -> Flows {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Value::{B, U};
    use crate::testing::{Record, rows};
    use crate::view::Index;
    use unbloat_table::{Column, Table};

    fn found(records: &[Record]) -> Flows {
        let numbers = [
            "packets_down",
            "packets_up",
            "payload_down_bytes",
            "missing_down_bytes",
        ];
        let mut columns: Vec<Column> = numbers.map(|name| Column::of::<u64>(name, "")).into();
        columns.push(Column::of::<&str>("protocol", ""));
        columns.push(Column::of::<bool>("syn_only", ""));
        let table = Table {
            name: "flows",
            doc: "",
            columns,
        };
        let mut sides = CaptureSides::default();
        sides.add(&View::new(&Index::of(&table), &rows(&table, records)));
        sides.found()
    }

    fn flow(down: u64, up: u64) -> Record {
        vec![
            ("packets_down", U(down)),
            ("packets_up", U(up)),
            ("payload_down_bytes", U(1000)),
            ("missing_down_bytes", U(50)),
        ]
    }

    #[test]
    fn flows_without_one_direction_are_counted_and_their_gaps_are_not() {
        let flows = found(&[flow(9, 8), flow(7, 0), flow(0, 5), flow(0, 2)]);
        assert_eq!((flows.tcp_flows, flows.only_down, flows.only_up), (3, 1, 1));
        assert_eq!((flows.payload_bytes, flows.missing_bytes), (1000, 50));
    }

    #[test]
    fn calls_that_nobody_answers_are_no_one_sided_flows() {
        let mut unanswered = flow(0, 7);
        unanswered.push(("syn_only", B(true)));
        assert_eq!(found(&[unanswered]), Flows::default());
    }
}
