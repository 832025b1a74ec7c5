//! The list of congestion controls: one line each.

use super::{AckKind, AckSample, Congestion, CwndEvent, Flow, Needs, RateSample, State};
use crate::choices::choices;

macro_rules! controls {
    ($($name:literal => $variant:ident($module:ident::$type:ident),)*) => {
        choices! { AnyCongestion: $($name => $variant($module::$type),)* }

        impl Congestion for AnyCongestion {
            fn needs(&self) -> Needs {
                match self { $(AnyCongestion::$variant(c) => c.needs(),)* }
            }

            fn init(&mut self, flow: &mut Flow) {
                match self { $(AnyCongestion::$variant(c) => c.init(flow),)* }
            }

            fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
                match self { $(AnyCongestion::$variant(c) => c.ssthresh(flow),)* }
            }

            #[inline]
            fn avoid(&mut self, flow: &mut Flow, acked: u32) {
                match self { $(AnyCongestion::$variant(c) => c.avoid(flow, acked),)* }
            }

            #[inline]
            fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
                match self { $(AnyCongestion::$variant(c) => c.control(flow, sample),)* }
            }

            fn undo(&mut self, flow: &mut Flow) -> u32 {
                match self { $(AnyCongestion::$variant(c) => c.undo(flow),)* }
            }

            fn set_state(&mut self, flow: &mut Flow, state: State) {
                match self { $(AnyCongestion::$variant(c) => c.set_state(flow, state),)* }
            }

            fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
                match self { $(AnyCongestion::$variant(c) => c.on_event(flow, event),)* }
            }

            #[inline]
            fn on_ack(&mut self, flow: &mut Flow, kind: AckKind) {
                match self { $(AnyCongestion::$variant(c) => c.on_ack(flow, kind),)* }
            }

            #[inline]
            fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
                match self { $(AnyCongestion::$variant(c) => c.acked(flow, sample),)* }
            }
        }
    };
}

controls! {
    "newreno" => NewReno(newreno::NewReno),
    "vegas" => Vegas(vegas::Vegas),
    "bic" => Bic(bic::Bic),
    "cubic" => Cubic(cubic::Cubic),
    "cubic2009" => Cubic2009(cubic2009::Cubic2009),
    "htcp" => Htcp(htcp::Htcp),
    "hstcp" => Hstcp(hstcp::Hstcp),
    "westwood" => Westwood(westwood::Westwood),
    "bbr" => Bbr(bbr::Bbr),
    "bbr3" => Bbr3(bbr3::Bbr3),
    "ledbat" => Ledbat(ledbat::Ledbat),
    "prague" => Prague(prague::Prague),
}
