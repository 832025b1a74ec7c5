//! HTTP/1 exchanges whose heads were captured (§7.1), and periodic range requests (Fig. 24).
//!
//! Responses answer requests in order (RFC 9112 §9.3.2). The body is what follows the head in
//! sequence space: to the stated length, else to the next head or the end of the flow; so it counts
//! what passed, whatever of it was captured. A head is seen only at the beginning of a segment, or
//! behind a body that ends within the captured part of one; where the capture cut a head off, the
//! body's size is unknown.
//!
//! # Where we differ
//! 1. Interim responses (RFC 9110 §15.2) have no row, but for 101, which ends the exchange.
//! 2. A client that asks again although data came since it asked, and none of it a head, has had an
//!    answer that the capture missed: its exchange ends without one.
//! 3. tshark puts segments together first, so it reads heads that are spread over several, and says
//!    when their last segment passed; without that it counts retransmitted heads again.

use super::http_rows::{Request, Response, owned, write};
use super::{Analysis, Context, Event, Findings, Flow, Sees};
use crate::tcp::{DataKind, Kind, Segment};
use crate::user::Rhythm;
use std::collections::VecDeque;
use unbloat_dissect::{HttpRequest, HttpResponse};
use unbloat_table::{Columns, RowWriter, columns};
use unbloat_units::{Delta, Direction};

pub(crate) struct Http;

/// Nothing but a pointer until a head is seen.
#[derive(Clone, Default)]
pub(crate) struct Light {
    heads: Option<Box<Heads>>,
}

/// What the heads of a flow said.
#[derive(Clone, Default)]
struct Heads {
    requests: u64,
    has_responses: bool,
    /// Where the body of the last request ends.
    upload_end: u64,
    period: Option<Delta>,
    /// What rows tell of; nobody pays for it where nobody reads them.
    exchanges: Option<Box<Exchanges>>,
}

impl Heads {
    /// Reads the requests at the beginning of a segment, which may be several.
    fn on_requests(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let Some(begin) = flow.position(Direction::Up, seg.header.seq) else {
            return;
        };
        let mut at = begin;
        while at >= self.upload_end
            && let Some(bytes) = seg.payload.get((at - begin) as usize..)
            && let Some(request) = HttpRequest::parse(bytes)
        {
            self.on_request(&request, seg, flow, cx);
            let body = request.content_length.unwrap_or(0);
            let Some(head_len) = request.head_len else {
                return;
            };
            at = at.saturating_add(head_len as u64).saturating_add(body);
            self.upload_end = at;
        }
    }

    fn on_request(
        &mut self,
        request: &HttpRequest<'_>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        self.requests += 1;
        if let (Some(host), Some(_)) = (request.host, request.range) {
            self.on_range_request(&owned(host), seg, flow, cx);
        }
        if !cx.summary_only {
            let exchanges = self.exchanges.get_or_insert_default();
            exchanges.on_request(request, seg, flow, cx);
        }
    }

    fn on_responses(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        if !cx.summary_only {
            let exchanges = self.exchanges.get_or_insert_default();
            exchanges.on_responses(seg, flow, cx);
            self.has_responses |= exchanges.response.is_some();
        } else if self.requests == 0 && !self.has_responses {
            self.has_responses = HttpResponse::parse(seg.payload).is_some();
        }
    }

    fn on_range_request(
        &mut self,
        host: &str,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let Rhythm { period, begins } = cx.user.on_range_request(host, seg.now);
        self.period = period.or(self.period);
        if begins {
            let event = Event {
                side: Direction::Up,
                time: seg.now,
                kind: "periodic",
                seq: Some(seg.header.seq),
                value: period.map(Delta::as_ms),
                detail: Some(host),
            };
            cx.event(flow, event);
        }
    }
}

/// Requests and the responses to them.
#[derive(Clone, Default)]
struct Exchanges {
    awaited: VecDeque<Request>,
    /// Requests behind `awaited` that were only counted: their responses stand alone.
    uncounted: u64,
    response: Option<Response>,
}

impl Exchanges {
    /// Requests kept while they await responses; browsers never sent more than six or eight.
    const MAX_AWAITED: usize = 16;

    fn on_request(
        &mut self,
        request: &HttpRequest<'_>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let down_end = down_end(flow);
        if self.has_missed_a_head(down_end)
            && let Some(missed) = self.awaited.pop_front()
        {
            write(Some(&missed), None, down_end, flow, cx);
        }
        if self.awaited.len() < Self::MAX_AWAITED && self.uncounted == 0 {
            if self.awaited.capacity() == 0 {
                // Hardly any client pipelines; without this there would be room for four.
                self.awaited.reserve_exact(1);
            }
            let asked = Request::new(request, seg.now, down_end);
            self.awaited.push_back(asked);
        } else {
            self.uncounted += 1;
        }
    }

    /// Data came since the first request that awaits its response, beyond the body before it.
    fn has_missed_a_head(&self, down_end: u64) -> bool {
        let Some(request) = self.awaited.front() else {
            return false;
        };
        match self.response.as_ref().map(|r| r.body_end) {
            None => down_end > request.down_end,
            Some(Some(body_end)) => down_end > body_end.max(request.down_end),
            // The body may be going on.
            Some(None) => false,
        }
    }

    /// Reads the responses at the beginning of a segment, which may be several.
    fn on_responses(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let Some(begin) = flow.position(Direction::Down, seg.header.seq) else {
            return;
        };
        let mut at = begin;
        while let Some(bytes) = seg.payload.get((at - begin) as usize..)
            && !self.is_in_body(at)
            && let Some(head) = HttpResponse::parse(bytes)
        {
            self.on_response(&head, at, seg, flow, cx);
            match self.response.as_ref().and_then(|r| r.body_end) {
                Some(end) if end > at && end - begin <= seg.payload.len() as u64 => at = end,
                _ => return,
            }
        }
    }

    /// Bytes that look like a head may be content.
    fn is_in_body(&self, at: u64) -> bool {
        let ends = self.response.as_ref().and_then(|r| r.body_end);
        ends.is_some_and(|end| at < end)
    }

    fn on_response(
        &mut self,
        head: &HttpResponse<'_>,
        at: u64,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        self.end_response(at, flow, cx);
        let is_interim = matches!(head.status, 100 | 102..200);
        let request = if is_interim {
            None
        } else {
            self.awaited.pop_front()
        };
        if request.is_none() && !is_interim {
            self.uncounted = self.uncounted.saturating_sub(1);
        }
        self.response = Some(Response::new(head, request, at, seg.now));
    }

    fn end_response(&mut self, down_end: u64, flow: &Flow<'_>, cx: &mut Context<'_>) {
        if let Some(response) = self.response.take()
            && !response.is_interim()
        {
            write(
                response.request.as_ref(),
                Some(&response),
                down_end,
                flow,
                cx,
            );
        }
    }

    fn on_data(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        if let Some(response) = &mut self.response
            && let Some(at) = flow.position(Direction::Down, seg.header.seq)
            && response.body_end.is_none_or(|end| at < end)
        {
            response.last = response.last.max(seg.now);
        }
    }

    fn finish(&mut self, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let down_end = down_end(flow);
        self.end_response(down_end, flow, cx);
        for request in std::mem::take(&mut self.awaited) {
            write(Some(&request), None, down_end, flow, cx);
        }
    }
}

/// Where the data towards the client ends so far.
fn down_end(flow: &Flow<'_>) -> u64 {
    let fin = u64::from(flow.core.is_finished(Direction::Down));
    let high = flow.position(Direction::Down, flow.half(Direction::Down).high());
    high.unwrap_or(0).saturating_sub(fin)
}

/// Bytes that the monitor had not seen before, in their place or late.
fn is_first_copy(data: DataKind) -> bool {
    matches!(
        data,
        DataKind::InOrder
            | DataKind::AboveGap
            | DataKind::Reordered
            | DataKind::UpstreamLoss
            | DataKind::Ambiguous
    )
}

columns! {
    pub struct HttpColumns {
        http_requests: Option<u64> = "HTTP/1 requests seen; null if no head was",
        period_s: Option<f64> = "period of the range requests of this user to this host (Fig. 24), if there is one",
    }
}

impl Analysis for Http {
    type Light = Light;
    type Deep = ();
    type Columns = HttpColumns;
    const SEES: Sees = Sees::NOT_ACK;

    #[inline]
    fn on_packet(
        kind: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let may_begin_a_head = kind != Kind::Data && !seg.payload.is_empty();
        let may_go_on = seg.side == Direction::Down && !cx.summary_only && light.heads.is_some();
        if (may_begin_a_head || may_go_on) && seg.header.payload_len > 0 {
            on_payload(light, seg, flow, cx);
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        _: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let heads = light.heads.take();
        let period = heads.as_ref().and_then(|h| h.period);
        let columns = HttpColumns {
            http_requests: heads.as_ref().map(|h| h.requests),
            period_s: period.map(Delta::as_secs),
        };
        columns.write(row);
        if let Some(mut exchanges) = heads.and_then(|h| h.exchanges) {
            exchanges.finish(flow, cx);
        }
    }
}

/// A segment of a flow that speaks HTTP, or of one whose payload was kept.
fn on_payload(light: &mut Light, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
    if !is_first_copy(seg.data) {
        return;
    }
    if let (Direction::Down, Some(heads)) = (seg.side, &mut light.heads)
        && let Some(exchanges) = &mut heads.exchanges
    {
        exchanges.on_data(seg, flow);
    }
    if seg.payload.is_empty() {
        return;
    }
    let mut first = Heads::default();
    let heads = light.heads.as_deref_mut().unwrap_or(&mut first);
    match seg.side {
        Direction::Up => heads.on_requests(seg, flow, cx),
        Direction::Down => heads.on_responses(seg, flow, cx),
    }
    if first.requests > 0 || first.has_responses {
        light.heads = Some(Box::new(first));
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
