//! Page loads with dependencies: the objects of a level are asked for when the level before is complete, over a bounded
//! number of connections that are kept for the page, as browsers do with HTTP/1.1.
//!
//! A page is done when its last object is (the `load` event without rendering). The next page follows after a pause.

use super::bulk::REQUEST;
use crate::fetch::Fetches;
use crate::metrics::{Metric, Spans};
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Time};

defaults! {
    /// 70 objects, 2.1 MB: our choice, of the order of a median page today.
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        /// Objects in each level; the first is the document.
        pub levels: Vec<u32> = vec![1, 9, 40, 20];
        pub object_size: Bytes = Bytes::new(30_000);
        /// Connections at a time, six in today's browsers.
        pub connections: u32 = 6;
        /// From a page's end to the next page.
        pub pause: Delta = Delta::secs(5);
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    page: Option<Page>,
    /// Connections of earlier pages.
    used: u32,
    times: Spans,
    fetches: Fetches,
}

#[derive(Debug)]
struct Page {
    start: Time,
    level: usize,
    /// Of this level: not yet asked for, and not yet there.
    to_ask: u32,
    to_come: u32,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            page: None,
            used: 0,
            times: Spans::default(),
            fetches: Fetches::default(),
        }
    }

    fn begin(&mut self, now: Time, network: &mut dyn Network) {
        if self.params.levels.iter().all(|objects| *objects == 0) {
            return;
        }
        self.page = Some(Page {
            start: now,
            level: 0,
            to_ask: 0,
            to_come: 0,
        });
        self.enter_level(now, 0, network);
    }

    fn enter_level(&mut self, now: Time, level: usize, network: &mut dyn Network) {
        let Some(&objects) = self.params.levels.get(level) else {
            return self.end(now, network);
        };
        if let Some(page) = &mut self.page {
            (page.level, page.to_ask, page.to_come) = (level, objects, objects);
        }
        if objects == 0 {
            return self.enter_level(now, level + 1, network);
        }
        for index in 0..self.params.connections.clamp(1, objects) {
            self.ask(now, Conn(self.used + index), network);
        }
    }

    fn ask(&mut self, now: Time, conn: Conn, network: &mut dyn Network) {
        if let Some(page) = &mut self.page
            && page.to_ask > 0
        {
            page.to_ask -= 1;
            self.fetches.asked(now, conn, REQUEST);
            network.exchange(conn, REQUEST, self.params.object_size);
        }
    }

    fn end(&mut self, now: Time, network: &mut dyn Network) {
        let Some(page) = self.page.take() else {
            return;
        };
        self.times.push(now, now.since(page.start));
        let widest = self.params.levels.iter().max().copied().unwrap_or(0);
        let opened = self.params.connections.clamp(1, widest.max(1));
        (0..opened).for_each(|index| network.close(Conn(self.used + index)));
        self.used += opened;
        network.wake(now + self.params.pause, 0);
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.begin(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        self.fetches.on_happening(now, &happening);
        match happening {
            Happening::Woke { .. } => self.begin(now, network),
            Happening::Done { conn } => {
                let Some(page) = &mut self.page else {
                    return;
                };
                page.to_come -= 1;
                let (level, is_complete) = (page.level, page.to_come == 0);
                if is_complete {
                    self.enter_level(now, level + 1, network);
                } else {
                    self.ask(now, conn, network);
                }
            }
            _ => {}
        }
    }

    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics("page_load", from);
        metrics.extend(self.fetches.metrics(from));
        metrics.push(Metric::new(
            "unfinished",
            f64::from(u8::from(self.page.is_some())),
        ));
        metrics
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.times.each("page_load", tell);
        self.fetches.each_time(tell);
    }
}
