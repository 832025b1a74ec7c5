//! What would be known if the trace ended now: for live capture.

use super::{EndCause, Shard};
use crate::analysis::Context;
use crate::flow::Flow;
use crate::live_flow::TcpFlow;
use crate::output::Output;
use crate::tables::order;
use crate::user::User;
use std::collections::BTreeMap;
use unbloat_units::Both;

impl Shard {
    /// The rows of `flows` and `users` for what still lives, as the end of the trace would write
    /// them, without ending anything. Flows whose round trips nobody measured are left out. It
    /// copies the state of each flow that it shows, so it is for now and then.
    pub fn snapshot(&self, number: u64) -> Output {
        let mut flows: Vec<_> = self
            .tcp
            .iter()
            .filter(|(_, entry)| entry.flow.core.payload != Both::default())
            .collect();
        flows.sort_unstable_by_key(|(_, entry)| entry.flow.core.flow_id);
        let mut output = Output::default();
        let mut users: BTreeMap<u32, User> = BTreeMap::new();
        for (_, entry) in flows {
            let user = users.entry(entry.user);
            let user = user.or_insert_with(|| self.users.get(entry.user).clone());
            self.show(entry.flow.clone(), user, number, &mut output);
        }
        for user in users.values_mut() {
            user.write(number, self.origin, &self.params, &mut output.side);
        }
        output
    }

    pub(super) fn show(
        &self,
        mut flow: TcpFlow,
        user: &mut User,
        number: u64,
        output: &mut Output,
    ) {
        let mut cx = Context {
            params: &self.params,
            tables: &mut output.side,
            user,
            origin: self.origin,
            number,
            summary_only: true,
            built: self.built,
        };
        let view = Flow {
            core: &flow.core,
            halves: &flow.halves,
        };
        let deep = flow.deep.as_deref_mut();
        output.flows.row(order(number, flow.core.flow_id), |row| {
            let end = EndCause::TraceEnd;
            flow.light.finish(deep, &view, end, &mut cx, row);
        });
    }
}
