//! The base station's side of the uplink: from requests and reports to grants.

use super::block::{OVERHEAD, Report};
use super::capacity::Capacity;
use super::grid::ANSWER;
use std::collections::VecDeque;
use unbloat_units::Bytes;

/// Leave to send a block of so many bytes, headers included, in a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) tti: i64,
    pub(crate) bytes: u64,
}

/// What the base station knows of one phone.
#[derive(Debug)]
pub(crate) struct Scheduler {
    capacity: Capacity,
    first_grant: u64,
    /// Data that the phone is believed to have and for which nothing was granted.
    wanted: u64,
    /// TTIs in which requests take effect.
    requests: VecDeque<i64>,
    /// Grants that the newest report does not know of yet, as data.
    since_report: VecDeque<(i64, u64)>,
    newest_report: i64,
    last_grant: i64,
}

impl Scheduler {
    pub(crate) fn new(capacity: Capacity, first_grant: Bytes) -> Scheduler {
        Scheduler {
            capacity,
            first_grant: first_grant.as_u64(),
            wanted: 0,
            requests: VecDeque::new(),
            since_report: VecDeque::new(),
            newest_report: -1,
            last_grant: -1,
        }
    }

    /// A request was sent in this TTI.
    pub(crate) fn request(&mut self, tti: i64) {
        self.requests.push_back(tti + ANSWER);
    }

    /// The last block was decoded and told nothing of what is left.
    pub(crate) fn ask(&mut self) {
        if self.wanted == 0 {
            self.wanted = self.small();
        }
    }

    /// Data of a first grant.
    fn small(&self) -> u64 {
        self.first_grant.saturating_sub(OVERHEAD).max(1)
    }

    /// A report was decoded. One that was held up and is older than another counts for nothing.
    pub(crate) fn report(&mut self, report: Report) {
        if report.tti <= self.newest_report {
            return;
        }
        self.newest_report = report.tti;
        while super::pop_if(&mut self.since_report, |(tti, _)| *tti <= report.tti).is_some() {}
        let coming: u64 = self.since_report.iter().map(|(_, data)| data).sum();
        let reported = report.level.granted_for().as_u64();
        self.wanted = reported.saturating_sub(coming);
    }

    /// The next TTI with something to do, from `earliest` on.
    pub(crate) fn next(&self, earliest: i64) -> Option<i64> {
        match self.wanted {
            0 => self.requests.front().map(|tti| (*tti).max(earliest)),
            _ => Some(earliest),
        }
    }

    /// The grant given in a TTI, for four later, unless that one is taken.
    pub(crate) fn grant(&mut self, tti: i64, is_taken: bool) -> Option<Grant> {
        let heard = super::pop_if(&mut self.requests, |due| *due <= tti);
        // A phone that was granted a block after it asked has reported in that one.
        let is_news = heard.is_some_and(|due| self.last_grant < due - ANSWER);
        if is_news && self.wanted == 0 {
            self.wanted = self.small();
        }
        if self.wanted == 0 || is_taken {
            return None;
        }
        let data = self.capacity.bytes(tti + ANSWER).saturating_sub(OVERHEAD);
        let data = data.min(self.wanted);
        if data == 0 {
            return None;
        }
        self.wanted -= data;
        let grant = Grant {
            tti: tti + ANSWER,
            bytes: data + OVERHEAD,
        };
        self.last_grant = grant.tti;
        self.since_report.push_back((grant.tti, data));
        Some(grant)
    }
}
