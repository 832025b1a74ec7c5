//! The list of analyses: their order is that of the columns of `flows`, and what they keep lies
//! `in light` if a SYN alone says something to them, else `in talk`.

use super::{Analysis, Context, Findings, Flow, flows};
use crate::flow::EndCause;
use crate::index::prefetch;
use crate::tables::{StandingRow, side_tables};
use crate::tcp::{DataKind, Kind, Segment};
use unbloat_table::{Column, Columns, Row, RowWriter};

/// The type of an analysis' state in [`Light`] itself.
macro_rules! in_light {
    (light $analysis:ty) => {
        <$analysis as Analysis>::Light
    };
    (talk $analysis:ty) => {
        ()
    };
}

/// Its type in [`Talk`].
macro_rules! in_talk {
    (light $analysis:ty) => {
        ()
    };
    (talk $analysis:ty) => {
        <$analysis as Analysis>::Light
    };
}

macro_rules! state {
    (light $light:ident $talk:ident $name:ident) => {
        &mut $light.$name
    };
    (talk $light:ident $talk:ident $name:ident) => {
        &mut $talk.$name
    };
}

/// Shows an analysis a packet of a kind that it sees.
macro_rules! show {
    ($kind:ident, $analysis:ty, $light:expr, $deep:ident, $name:ident, $seg:ident, $flow:ident, $cx:ident) => {
        if const { <$analysis>::SEES.has(Kind::$kind) } && $cx.built.has(Place::$name) {
            let deep = $deep.as_deref_mut().map(|deep| &mut deep.$name);
            <$analysis>::on_packet(Kind::$kind, $light, deep, $seg, $flow, $cx);
        }
    };
}

/// Which analyses there are in a shard: a bit for each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built(u32);

impl Built {
    pub(crate) const ALL: Built = Built(u32::MAX);

    #[inline(always)]
    const fn has(self, place: Place) -> bool {
        self.0 & 1 << place as u32 != 0
    }
}

macro_rules! analyses {
    ($($name:ident in $place:ident: $analysis:ty,)*) => {
        /// State of all analyses for one live flow.
        #[expect(dead_code, reason = "what lies in the other has no size here")]
        #[derive(Clone, Default)]
        pub(crate) struct Light {
            talk: Option<Box<Talk>>,
            $($name: in_light!($place $analysis),)*
        }

        /// The part of it that flows need in which more than a SYN was said: those of a scan or a
        /// flood, and calls that nobody answers, live for an hour without.
        #[expect(dead_code, reason = "what lies in the other has no size here")]
        #[derive(Clone, Default)]
        struct Talk { $($name: in_talk!($place $analysis),)* }

        /// State of all analyses for one large flow.
        #[derive(Clone, Default)]
        pub(crate) struct Deep { $($name: <$analysis as Analysis>::Deep,)* }

        #[expect(non_camel_case_types, reason = "the fields' names")]
        #[derive(Clone, Copy)]
        enum Place { $($name,)* }

        impl Built {
            /// What is needed for the columns that `is_read` is true of, by table and column.
            pub(crate) fn for_readers(is_read: impl Fn(&str, &str) -> bool) -> Built {
                let mut built = Built(0);
                for table in side_tables() {
                    let read = table.columns.iter().any(|column| is_read(table.name, column.name));
                    match table.name {
                        _ if !read => {}
                        StandingRow::NAME => built.0 |= 1 << Place::standing as u32,
                        // Users and others know of flows by all analyses.
                        _ => return Built::ALL,
                    }
                }
                $(
                    let mut columns = Vec::new();
                    <$analysis as Analysis>::Columns::columns(&mut columns);
                    for column in columns.iter().filter(|column| is_read(flows::NAME, column.name)) {
                        if !<$analysis>::is_alone(column.name) {
                            return Built::ALL;
                        }
                        built.0 |= 1 << Place::$name as u32;
                    }
                )*
                built
            }
        }

        /// The columns of `flows`.
        pub(crate) fn columns() -> Vec<Column> {
            let mut columns = Vec::new();
            $(<$analysis as Analysis>::Columns::columns(&mut columns);)*
            columns
        }

        impl Light {
            /// Shows all analyses a packet.
            #[inline]
            pub(crate) fn on_packet(
                &mut self,
                kind: Kind,
                mut deep: Option<&mut Deep>,
                seg: &Segment<'_>,
                flow: &Flow<'_>,
                cx: &mut Context<'_>,
            ) {
                if kind == Kind::Other {
                    return self.on_other(deep, seg, flow, cx);
                }
                let talk = self.talk.get_or_insert_default().as_mut();
                if kind == Kind::Data {
                    $(show!(Data, $analysis, state!($place self talk $name), deep, $name, seg, flow, cx);)*
                } else {
                    $(show!(Ack, $analysis, state!($place self talk $name), deep, $name, seg, flow, cx);)*
                }
            }

            #[inline(never)]
            fn on_other(
                &mut self,
                mut deep: Option<&mut Deep>,
                seg: &Segment<'_>,
                flow: &Flow<'_>,
                cx: &mut Context<'_>,
            ) {
                let mut nothing = None;
                let talk = if self.talk.is_none() && is_call(seg) {
                    nothing.insert(Talk::default())
                } else {
                    self.talk.get_or_insert_default().as_mut()
                };
                $(show!(Other, $analysis, state!($place self talk $name), deep, $name, seg, flow, cx);)*
            }

            /// Asks for the memory that a packet touches.
            #[inline]
            pub(crate) fn prefetch(&self) {
                if let Some(talk) = &self.talk {
                    let place = std::ptr::from_ref(talk.as_ref()).cast::<u8>();
                    (0..size_of::<Talk>()).step_by(64).for_each(|at| prefetch(place.wrapping_add(at)));
                }
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
                let mut nothing = Talk::default();
                let talk = self.talk.as_deref_mut().unwrap_or(&mut nothing);
                $(if cx.built.has(Place::$name) && (<$analysis>::IS_OF_ALL || flow.is_tcp()) {
                    <$analysis>::finish(
                        state!($place self talk $name),
                        deep.as_deref_mut().map(|d| &mut d.$name),
                        flow, &mut findings, cx, row,
                    );
                } else {
                    row.skip::<<$analysis as Analysis>::Columns>();
                })*
            }
        }
    };
}

/// A SYN and nothing else, of which analyses in [`Talk`] keep nothing. (Copies of an unanswered one
/// are classified as probes: there is no window yet.)
#[inline]
fn is_call(seg: &Segment<'_>) -> bool {
    let flags = seg.header.tcp_flags;
    flags.syn()
        && !(flags.ack() || flags.fin() || flags.rst())
        && seg.header.payload_len == 0
        && matches!(seg.data, DataKind::InOrder | DataKind::WindowProbe)
}

analyses! {
    volume in light: super::volume::Volume,
    closing in talk: super::closing::Closing,
    tick in light: super::tick::Tick,
    handshake in light: super::handshake::Handshake,
    loss in talk: super::loss::Loss,
    rtt in talk: super::rtt::Rtt,
    in_flight in talk: super::in_flight::InFlight,
    bandwidth in light: super::bandwidth::Bandwidth,
    window in light: super::window::Window,
    slow_start in talk: super::slow_start::SlowStart,
    rto in talk: super::rto::Rto,
    pattern in light: super::pattern::Pattern,
    standing in talk: super::standing::Standing,
    limit in light: super::limit::Limit,
    names in light: super::names::Names,
    http in talk: super::http::Http,
}

impl Light {
    /// Whether delays were looked at since they were last judged.
    pub(crate) fn has_windows(&self) -> bool {
        let talk = self.talk.as_ref();
        talk.is_some_and(|talk| talk.standing.has_windows())
    }

    /// Judges the delays so far, which begin anew.
    pub(crate) fn judge(&mut self, flow: &Flow<'_>, cx: &mut Context<'_>) {
        if let Some(talk) = &mut self.talk {
            talk.standing.judge(flow, cx);
        }
    }
}
