//! What the person at the terminal has chosen: order, filter, pause, help.

use crate::screen::ends;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use std::cmp::Ordering;
use unbloat_units::{Delta, Rate, named};
use unbloat_watch::{FlowLayers, Layer, Wait};

/// Longer filters match nothing anyway.
const LONGEST_FILTER: usize = 64;
const PAGE: usize = 10;

named! {
    /// What flows are sorted by: the columns of their table.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Order {
        /// The sum of all known waits.
        #[default]
        Total = "total",
        Socket = "socket",
        Qdisc = "T_Q",
        Driver = "T_D",
        Below = "below",
        RoundTrip = "RTT_Q",
        Out = "out",
        Acknowledged = "acked",
        Name = "flow",
    }
}

impl Order {
    const ALL: [Order; 9] = [
        Order::Total,
        Order::Socket,
        Order::Qdisc,
        Order::Driver,
        Order::Below,
        Order::RoundTrip,
        Order::Out,
        Order::Acknowledged,
        Order::Name,
    ];

    fn moved(self, steps: usize) -> Order {
        let place = Order::ALL.iter().position(|order| *order == self);
        Order::ALL[(place.unwrap_or(0) + steps) % Order::ALL.len()]
    }

    /// The largest first, names by the alphabet, the unknown last.
    fn compare(self, a: &FlowLayers, b: &FlowLayers) -> Ordering {
        let wait = |flow: &FlowLayers| -> Option<Delta> {
            match self {
                Order::Socket => flow.delay(Layer::Socket),
                Order::Qdisc => flow.delay(Layer::Qdisc),
                Order::Driver => flow.delay(Layer::Driver),
                Order::Below => flow.delay(Layer::Below),
                Order::RoundTrip => flow.round_trip.rtt_q.as_ref().map(Wait::mean),
                _ => Some(flow.total()),
            }
        };
        let rate = |flow: &FlowLayers| -> Option<Rate> {
            match self {
                Order::Acknowledged => flow.rates.acknowledged,
                _ => flow.rates.left.or(flow.rates.sent),
            }
        };
        match self {
            Order::Name => name(a).cmp(&name(b)),
            Order::Out | Order::Acknowledged => rate(b).cmp(&rate(a)),
            _ => wait(b).cmp(&wait(a)),
        }
    }
}

/// A flow in one line.
pub(crate) fn name(flow: &FlowLayers) -> String {
    let process = flow
        .process
        .as_ref()
        .map(|process| format!("{} ", process.name));
    format!(
        "{}{} {}",
        process.unwrap_or_default(),
        flow.flow.protocol,
        flow.flow.to
    )
}

/// State of the view.
#[derive(Clone, Debug, Default)]
pub struct Controls {
    pub order: Order,
    pub is_reversed: bool,
    /// Flows whose line or device has this text; empty: all.
    pub filter: String,
    /// The filter is being typed.
    pub is_typing: bool,
    pub is_paused: bool,
    pub is_helping: bool,
    /// Lines that are scrolled past.
    pub skipped: usize,
}

impl Controls {
    /// Whether the key ends the view.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        match key.code {
            _ if self.is_typing && !ends_always(key) => self.type_filter(key.code),
            _ if ends(key) => return true,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => {
                self.is_helping = !self.is_helping;
                self.skipped = 0;
            }
            KeyCode::Esc if self.is_helping => self.is_helping = false,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('/' | 'f') => {
                (self.is_typing, self.is_helping) = (true, false);
            }
            KeyCode::Char('s') => self.order = self.order.moved(1),
            KeyCode::Char('S') => self.order = self.order.moved(Order::ALL.len() - 1),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char(' ' | 'p') => self.is_paused = !self.is_paused,
            KeyCode::Down | KeyCode::Char('j') => self.skipped += 1,
            KeyCode::Up | KeyCode::Char('k') => self.skipped = self.skipped.saturating_sub(1),
            KeyCode::PageDown => self.skipped += PAGE,
            KeyCode::PageUp => self.skipped = self.skipped.saturating_sub(PAGE),
            KeyCode::Home => self.skipped = 0,
            _ => {}
        }
        false
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(c) if self.filter.chars().count() < LONGEST_FILTER => self.filter.push(c),
            _ => {}
        }
        self.skipped = 0;
    }

    /// The flows that are shown, in order. `skipped` stays within them.
    pub fn chosen<'a>(&mut self, flows: &'a [FlowLayers]) -> Vec<&'a FlowLayers> {
        let wanted = self.filter.to_lowercase();
        let is_chosen = |flow: &&FlowLayers| {
            let device = flow.interface.as_deref().unwrap_or_default();
            let line = format!("{} {} {device}", name(flow), flow.flow.from);
            line.to_lowercase().contains(&wanted)
        };
        let mut chosen: Vec<&FlowLayers> = flows.iter().filter(is_chosen).collect();
        chosen.sort_by(|a, b| self.order.compare(a, b));
        if self.is_reversed {
            chosen.reverse();
        }
        self.skipped = self.skipped.min(chosen.len().saturating_sub(1));
        chosen
    }
}

/// Ctrl-C, also within a filter; `q` is a letter there.
fn ends_always(key: KeyEvent) -> bool {
    ends(key) && key.code != KeyCode::Char('q')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::view::tests::example;
    use ratatui::crossterm::event::KeyModifiers;

    fn press(controls: &mut Controls, keys: &[KeyCode]) -> bool {
        let mut ends = keys
            .iter()
            .map(|code| controls.press(KeyEvent::new(*code, KeyModifiers::NONE)));
        ends.any(|ends| ends)
    }

    fn typed(controls: &mut Controls, text: &str) -> bool {
        let keys: Vec<KeyCode> = text.chars().map(KeyCode::Char).collect();
        press(controls, &keys)
    }

    /// Three flows to ports 1, 2 and 3, with these waits in the queue discipline and rates.
    fn flows() -> Vec<FlowLayers> {
        let one = |(port, ms, mbps): (u16, i64, u64)| {
            let mut flow = example().flows[0].clone();
            flow.flow.to.set_port(port);
            flow.qdisc = Some(Wait::Estimated(Delta::ms(ms)));
            flow.rates.left = Some(Rate::mbps(mbps));
            flow
        };
        [(1, 10, 30), (2, 30, 10), (3, 20, 20)].map(one).to_vec()
    }

    fn ports(controls: &mut Controls) -> Vec<u16> {
        let flows = flows();
        let chosen = controls.chosen(&flows);
        chosen.iter().map(|flow| flow.flow.to.port()).collect()
    }

    #[test]
    fn flows_are_sorted_by_each_column_and_the_other_way_round() {
        let mut controls = Controls::default();
        assert_eq!(ports(&mut controls), [2, 3, 1]);
        typed(&mut controls, "r");
        assert_eq!(ports(&mut controls), [1, 3, 2]);
        typed(&mut controls, "rS");
        assert_eq!(controls.order, Order::Name);
        assert_eq!(ports(&mut controls), [1, 2, 3]);
        typed(&mut controls, "SS");
        assert_eq!(
            (controls.order, ports(&mut controls)),
            (Order::Out, vec![1, 3, 2])
        );
        for _ in Order::ALL {
            typed(&mut controls, "s");
        }
        assert_eq!(controls.order, Order::Out);
    }

    #[test]
    fn a_filter_takes_letters_that_are_keys_elsewhere() {
        let mut controls = Controls::default();
        assert!(!typed(&mut controls, "/::2]:2q"));
        assert!(controls.is_typing);
        assert!(ports(&mut controls).is_empty());
        press(&mut controls, &[KeyCode::Backspace, KeyCode::Enter]);
        assert_eq!(ports(&mut controls), [2]);
        press(&mut controls, &[KeyCode::Esc]);
        assert_eq!(ports(&mut controls).len(), 3);
        typed(&mut controls, "/WAN0");
        assert_eq!(ports(&mut controls).len(), 3);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(controls.press(control_c));
    }

    #[test]
    fn scrolling_ends_at_the_last_flow() {
        let mut controls = Controls::default();
        press(&mut controls, &[KeyCode::PageDown, KeyCode::Down]);
        ports(&mut controls);
        assert_eq!(controls.skipped, 2);
        press(&mut controls, &[KeyCode::Home, KeyCode::Up]);
        assert_eq!(controls.skipped, 0);
    }

    #[test]
    fn help_and_pause_come_and_go_and_q_ends() {
        let mut controls = Controls::default();
        typed(&mut controls, "?p");
        assert!(controls.is_helping && controls.is_paused);
        press(&mut controls, &[KeyCode::Esc, KeyCode::Char(' ')]);
        assert!(!controls.is_helping && !controls.is_paused);
        assert!(typed(&mut controls, "q"));
    }
}
