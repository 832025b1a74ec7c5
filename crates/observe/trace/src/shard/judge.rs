//! What was seen of live flows since the last time: for what runs for months and looks at spans of time.

use super::Shard;
use crate::analysis::{Context, Light, write_spun};
use crate::flow::{EndCause, Flow};
use crate::live_flow::{TcpFlow, UdpFlow};
use crate::output::Output;
use crate::tables::order;
use crate::tcp::Half;
use unbloat_units::Both;

impl Shard {
    /// Writes rows of `standing` for the windows of all live flows, which begin anew, and of each of these flows the row of
    /// `flows` that it would have if the trace ended now. Flows without new windows write nothing.
    pub fn judge(&mut self, number: u64) {
        self.judge_tcp(number);
        self.judge_udp(number);
    }

    fn judge_tcp(&mut self, number: u64) {
        let live = self.tcp.iter();
        let live = live.filter(|(_, entry)| entry.flow.light.has_windows());
        let mut slots: Vec<(u64, u32)> = live
            .map(|(slot, entry)| (entry.flow.core.flow_id, slot))
            .collect();
        slots.sort_unstable();
        let mut scratch = Output::default();
        for (_, slot) in slots {
            if let Some(entry) = self.tcp.get(slot) {
                let mut user = self.users.get(entry.user).clone();
                self.show(entry.flow.clone(), &mut user, number, &mut scratch);
            }
            let Some(entry) = self.tcp.get_mut(slot) else {
                continue;
            };
            let TcpFlow {
                core,
                halves,
                light,
                ..
            } = &mut entry.flow;
            let mut cx = context!(self, self.users.get_mut(entry.user), number);
            light.judge(&Flow { core, halves }, &mut cx);
            copy_flow(&scratch, &mut self.output);
            scratch.clear();
        }
    }

    fn judge_udp(&mut self, number: u64) {
        let live = self.udp.iter();
        let live = live.filter(|(_, entry)| {
            let spin = entry.flow.spin.as_ref();
            spin.is_some_and(|spin| spin.has_windows())
        });
        let mut slots: Vec<(u64, u32)> = live
            .map(|(slot, entry)| (entry.flow.core.flow_id, slot))
            .collect();
        slots.sort_unstable();
        let mut scratch = Output::default();
        for (_, slot) in slots {
            let Some(entry) = self.udp.get_mut(slot) else {
                continue;
            };
            let UdpFlow { core, spin } = &mut entry.flow;
            let halves = Both::<Half>::default();
            let view = Flow {
                core,
                halves: &halves,
            };
            let mut user = self.users.get(entry.user).clone();
            let mut cx = Context {
                params: &self.params,
                tables: &mut scratch.side,
                user: &mut user,
                origin: self.origin,
                number,
                summary_only: true,
                built: self.built,
            };
            scratch.flows.row(order(number, core.flow_id), |row| {
                Light::default().finish(None, &view, EndCause::TraceEnd, &mut cx, row);
            });
            let mut own = context!(self, self.users.get_mut(entry.user), number);
            if let Some(spin) = spin {
                write_spun(spin, false, &view, &mut own);
            }
            copy_flow(&scratch, &mut self.output);
            scratch.clear();
        }
    }
}

fn copy_flow(from: &Output, to: &mut Output) {
    if !from.flows.is_empty() {
        to.flows.push_from(&from.flows, 0);
    }
}
