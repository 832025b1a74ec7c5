//! The list of analyses. Their order is that of the columns of `flows`.

use super::{Analysis, Context, Findings, Flow};
use crate::flow::EndCause;
use crate::tcp::{Segment, Side};
use unbloat_table::{Column, RowWriter};

macro_rules! analyses {
    ($($name:ident: $analysis:ty,)*) => {
        /// State of all analyses for one live flow.
        #[derive(Clone, Default)]
        pub(crate) struct Light { $($name: <$analysis as Analysis>::Light,)* }

        /// State of all analyses for one large flow.
        #[derive(Clone, Default)]
        pub(crate) struct Deep { $($name: <$analysis as Analysis>::Deep,)* }

        /// The columns of `flows`.
        pub(crate) fn columns() -> Vec<Column> {
            let mut columns = Vec::new();
            $(<$analysis>::columns(&mut columns);)*
            columns
        }

        impl Light {
            #[inline]
            pub(crate) fn on_segment(
                &mut self,
                mut deep: Option<&mut Deep>,
                seg: &Segment<'_>,
                flow: &Flow<'_>,
                cx: &mut Context<'_>,
            ) {
                $(<$analysis>::on_segment(
                    &mut self.$name,
                    deep.as_deref_mut().map(|d| &mut d.$name),
                    seg, flow, cx,
                );)*
            }

            /// Asks for the memory that an ACK of the data of `side` touches.
            #[inline]
            pub(crate) fn prefetch(&self, side: Side) {
                self.rtt.prefetch(side);
            }

            /// Writes the flow's row.
            pub(crate) fn finish(
                &mut self,
                mut deep: Option<&mut Deep>,
                flow: &Flow<'_>,
                end: EndCause,
                cx: &mut Context<'_>,
                row: &mut RowWriter<'_>,
            ) {
                let mut findings = Findings { end, ..Findings::default() };
                $(<$analysis>::finish(
                    &mut self.$name,
                    deep.as_deref_mut().map(|d| &mut d.$name),
                    flow, &mut findings, cx, row,
                );)*
            }
        }
    };
}

analyses! {
    volume: super::volume::Volume,
    closing: super::closing::Closing,
    tick: super::tick::Tick,
    handshake: super::handshake::Handshake,
    loss: super::loss::Loss,
    rtt: super::rtt::Rtt,
    in_flight: super::in_flight::InFlight,
    bandwidth: super::bandwidth::Bandwidth,
    window: super::window::Window,
    slow_start: super::slow_start::SlowStart,
    rto: super::rto::Rto,
    pattern: super::pattern::Pattern,
    limit: super::limit::Limit,
    names: super::names::Names,
    http: super::http::Http,
}
