//! NAME: what it finds, in one line (section or paper).
//!
//! # Where we differ
//! What, and why.

use super::{Analysis, Context, Findings, Flow, Sees};
use crate::tcp::{Kind, Segment};
use unbloat_table::{Columns, RowWriter, columns};

pub(crate) struct TYPE;

/// A byte here is a byte for each of millions of live flows.
#[derive(Clone, Default)]
pub(crate) struct Light {
    bytes: u64,
}

columns! {
    pub struct TYPEColumns {
        NAME: Option<u64> = "payload bytes; null for flows other than TCP",
    }
}

impl Analysis for TYPE {
    type Light = Light;
    type Deep = ();
    type Columns = TYPEColumns;
    const SEES: Sees = Sees::ALL;

    #[inline]
    fn on_packet(
        _: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        _: &Flow<'_>,
        _: &mut Context<'_>,
    ) {
        light.bytes += u64::from(seg.header.payload_len);
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        _: &mut Findings,
        _: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let columns = TYPEColumns {
            NAME: flow.is_tcp().then_some(light.bytes),
        };
        columns.write(row);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;

    #[test]
    fn the_payload_of_a_flow_is_counted() {
        let results = Script::opened().at(90.0, "> 1+100 ack 1").run();
        assert_eq!(results.flow("NAME"), Some(100.0));
    }
}
