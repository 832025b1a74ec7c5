//! The tables beside `flows`.

use unbloat_table::{Order, Row, Rows, Table, columns};
use unbloat_units::Direction;

macro_rules! tables {
    ($($name:ident: $row:ty,)*) => {
        /// Rows of every table other than `flows`.
        #[derive(Clone, Debug, PartialEq)]
        pub struct SideTables { $(pub $name: Rows,)* }

        pub(crate) fn side_tables() -> Vec<Table> {
            vec![$(<$row>::table(),)*]
        }

        impl SideTables {
            pub(crate) fn new() -> SideTables {
                SideTables { $($name: Rows::new(&<$row>::table()),)* }
            }

            pub(crate) const NAMES: &[&str] = &[$(<$row>::NAME,)*];

            pub(crate) fn all(&self) -> Vec<&Rows> {
                vec![$(&self.$name,)*]
            }

            pub(crate) fn all_mut(&mut self) -> Vec<&mut Rows> {
                vec![$(&mut self.$name,)*]
            }
        }
    };
}

tables! {
    rtt: RttRow,
    in_flight: InFlightRow,
    standing: StandingRow,
    bandwidth: BandwidthRow,
    events: EventRow,
    users: UserRow,
    promotions: PromotionRow,
    concurrency: ConcurrencyRow,
    dns: DnsRow,
    http: HttpRow,
    protocols: ProtocolRow,
}

columns! {
    #[derive(Clone)]
    pub struct RttRow<'a>: rtt = "Round trips between the monitor and a receiver, in bins of `bin`; bin 0 keeps each sample. Flows with less than 64 KiB of payload and fewer than 128 packets have rows only if the report shows them, or with `--tables all`" {
        flow_id: u64 = "the flow",
        side: Direction = "down: downstream RTT, of data towards the client; up: upstream RTT",
        method: &'a str = "ack: Karn's rule on sequence numbers; timestamp: TSval to its echo; sack: SACK block of a duplicate ACK (section 5)",
        time_ns: i64 = "of the last sample in the bin, since the trace began",
        rtt_ms: f64 = "mean of the samples in the bin, each from the newest segment that its ACK covers (as tshark and tcptrace)",
        rtt_min_ms: f64 = "smallest",
        rtt_max_ms: f64 = "largest",
        rtt_from_oldest_ms: Option<f64> = "mean from the oldest segment that each ACK newly covers, not from the newest as rtt_ms: includes the receiver's wait before a delayed ACK, as srtt and RTO of Linux do; method ack only",
        in_flight_bytes: f64 = "mean of the unacknowledged bytes when the data of the samples passed (Fig. 10)",
        samples: u32 = "how many samples the row stands for",
    }

    #[derive(Clone)]
    pub struct InFlightRow: in_flight = "Sender and receiver of one direction over time, in bins of `bin`. Flows with less than 64 KiB of payload and fewer than 128 packets have rows only if the report shows them, or with `--tables all`" {
        flow_id: u64 = "the flow",
        side: Direction = "direction of the data",
        time_ns: i64 = "of the last packet in the bin, since the trace began",
        seq_bytes: Option<u64> = "highest byte sent, from the first byte seen",
        ack_bytes: Option<u64> = "highest byte acknowledged, from the first byte seen; null before it, and without an ACK",
        window_edge_bytes: Option<u64> = "right edge of the receive window, from the first byte seen; null if the scale is unknown",
        in_flight_bytes: Option<u64> = "most unacknowledged bytes in the bin; null without an ACK",
        payload_bytes: u64 = "payload that passed in the bin",
        samples: u32 = "packets that the row stands for",
    }

    pub struct StandingRow<'a>: standing = "Delays that no host can have made, and whether they stood: what the verdict rests on. A row for the round trips between capture point and client and one for those between capture point and server, of each flow and of each minute that it lasts; in windows of 250 ms. Less than two seconds of windows in which nothing stood, stepped or was late have no row, though the verdict counts them" {
        flow_id: u64 = "the flow",
        client: &'a str = "address of the client",
        client_port: u16 = "its port",
        server: &'a str = "address of the server",
        server_port: u16 = "its port",
        direction: Direction = "down: round trips between the capture point and the client; up: between the capture point and the server",
        start_ns: i64 = "first window, since the trace began",
        end_ns: i64 = "end of the last window",
        rtt_floor_ms: Option<f64> = "smallest round trip of the flow, both sides of the capture point; null if only one was seen",
        floor_seen: bool = "the flow's handshake was captured, so the floor is among its samples unless the queue stood before",
        samples: u64 = "delays measured",
        sharp_samples: u64 = "those that bound the host's own wait to 100 ms",
        windows: u32 = "windows with samples",
        low_windows: u32 = "windows with a sample less than half of `bloat_threshold` above the floor: nothing stood",
        standing_windows: u32 = "windows of runs in which every round trip was at least half of `bloat_threshold` above the floor, less all that the host may have waited; a run lasts at least a second and has three windows with samples and eight samples",
        standing_start_ns: Option<i64> = "first of them, since the trace began",
        standing_end_ns: Option<i64> = "end of the last",
        standing_p50_ms: Option<f64> = "median over standing windows of the least delay, host's wait taken off",
        standing_p95_ms: Option<f64> = "95th percentile of it",
        standing_held_ms: Option<f64> = "median over standing windows of what the answering host may have held back: the delay is known to within half of it",
        low_before_windows: Option<u32> = "low windows before the first standing one",
        level_share: Option<f64> = "share of standing windows on levels: two seconds or more in which the delay stayed the same within half of an eighth of the round trip",
        step_share: Option<f64> = "share of the runs seen to begin that did so in one step, as those of a longer route do: from a low window by at least half of the delay at which they stood",
        back_share: Option<f64> = "share of the delay on the way from the answering host to the capture point, by that host's timestamps as far as they agree with the round trips; null if they do not tell",
        step_ms: Option<f64> = "largest step between levels of the least delays: two that lasted for six seconds each, one after the other",
        think_samples: u32 = "delays that no queue made: answers that the server took its time for, beyond what the path takes; direction up",
        think_p50_ms: Option<f64> = "median of them, above the floor",
        wake_samples: u32 = "delays that no queue made: late samples after silence, while others were not late: a radio or a host slept",
        wake_p50_ms: Option<f64> = "median of them, above the floor",
        power_save_samples: u32 = "delays that no queue made: late samples that arrived on a grid of 102.4 ms: a Wi-Fi station that listens at beacons",
        power_save_p50_ms: Option<f64> = "median of them, above the floor",
        ack_samples: u32 = "delays that no queue made: acknowledgments of one segment that were late by the same: a timer",
        ack_p50_ms: Option<f64> = "median of them, above the floor",
        hold_samples: u32 = "delays that no queue made: pauses of 200 ms and more, after which all came at once that was sent meanwhile",
        hold_p50_ms: Option<f64> = "longest of them, above the floor",
        jitter_samples: u32 = "delays that no queue made: late samples that do not depend on what came before: contention, grants and repeats of the link",
        jitter_p50_ms: Option<f64> = "median of them, above the floor",
        ahead_peak_bps: Option<f64> = "bytes on the wire of all flows of the client in this direction: 80th percentile of windows that carried any",
        ahead_standing_bps: Option<f64> = "the same, median over standing windows",
        ahead_own_standing_bps: Option<f64> = "bytes on the wire of this flow in this direction, median over standing windows",
        ahead_before_bps: Option<f64> = "the same, median over low windows before the delay first stood",
        ahead_steadiness: Option<f64> = "bytes of all flows of the client in this direction over standing windows: 25th percentile over the 75th, near 1 where a full link sets the pace",
        ahead_coupling: Option<f64> = "rank correlation of the client's unacknowledged bytes in this direction with the delay, over windows",
        ahead_lost_packets: u64 = "packets of this flow in this direction that show a loss",
        ahead_busy_windows: u32 = "windows with at least half of peak_bps in this direction",
        back_peak_bps: Option<f64> = "bytes on the wire of all flows of the client in the other direction: 80th percentile of windows that carried any",
        back_standing_bps: Option<f64> = "the same, median over standing windows",
        back_own_standing_bps: Option<f64> = "bytes on the wire of this flow in the other direction, median over standing windows",
        back_before_bps: Option<f64> = "the same, median over low windows before the delay first stood",
        back_steadiness: Option<f64> = "bytes of all flows of the client in the other direction over standing windows: 25th percentile over the 75th, near 1 where a full link sets the pace",
        back_coupling: Option<f64> = "rank correlation of the client's unacknowledged bytes in the other direction with the delay, over windows",
        back_lost_packets: u64 = "packets of this flow in the other direction that show a loss",
        back_busy_windows: u32 = "windows with at least half of peak_bps in the other direction",
    }

    pub struct BandwidthRow<'a>: bandwidth = "Estimates of the available bandwidth (section 6.1, formulas 1 and 2)" {
        flow_id: u64 = "the flow; the last one where several were summed",
        side: Direction = "direction of the data",
        time_ns: i64 = "centre of the window, since the trace began",
        window_ms: f64 = "length of the window by the receiver's clock",
        bandwidth_bps: f64 = "receiving rate (formula 2)",
        sending_bps: Option<f64> = "sending rate (formula 1)",
        resolution: f64 = "relative error from the timestamp tick",
        admitted_by: &'a str = "rate: sending rate of at least C; backlog: the queue never ran empty in the window",
        flows: u64 = "concurrent flows of the user that were summed",
    }

    pub struct EventRow<'a>: events = "What happened to flows, one row each" {
        flow_id: u64 = "the flow",
        side: Direction = "direction of the data concerned",
        time_ns: i64 = "since the trace began",
        kind: &'a str = "retransmission, spurious, reordering, upstream_loss, ambiguous, duplicate, hole, dup_ack_train, fast_retransmit, tail_loss_probe, early_retransmission, rto, slow_start, zero_window, full_window, reader_stall, periodic or delayed_close",
        seq_bytes: Option<u64> = "position, from the first byte seen; null before it",
        value: Option<f64> = "size or strength; its meaning depends on the kind",
        detail: Option<&'a str> = "in words",
    }

    pub struct UserRow: users = "Client addresses between gaps of `user_idle`" {
        user_id: u64 = "number of the user's first packet",
        client: String = "address",
        start_ns: i64 = "first packet, since the trace began",
        end_ns: i64 = "last packet",
        flows: u32 = "TCP and UDP flows begun",
        payload_down_bytes: u64 = "towards the client",
        payload_up_bytes: u64 = "from the client",
        tick_ms: Option<f64> = "timestamp tick G of the client's clock",
        promotions: u64 = "times the radio was switched on (section 4.1)",
        active_s: f64 = "time the radio carried packets at most `radio_active` apart",
        tail_s: f64 = "time the radio stayed on after packets; the last tail counts in full",
        idle_s: f64 = "time the radio was off between the user's first and last packet, promotions excluded",
        energy_j: f64 = "radio energy by the power model, idle being free",
        avoidable_energy_j: f64 = "of it, what packets of late closes added; negative where they saved a promotion",
        added_down_p50_ms: Option<f64> = "median delay over the flows' floors, downstream",
        added_down_p95_ms: Option<f64> = "95th percentile of it",
        added_down_p99_ms: Option<f64> = "99th percentile of it",
        added_down_samples: u64 = "round trips that these percentiles rest on",
    }

    pub struct PromotionRow: promotions = "Handshakes after `T` of radio silence whose promotion delay can be told, written once the client's tick is known (section 4.2, Fig. 9)" {
        user_id: u64 = "the user",
        flow_id: u64 = "the flow",
        time_ns: i64 = "its first packet, since the trace began",
        promotion_ms: f64 = "promotion delay of the radio: from SYN to ACK by the client's clock, less the same at the monitor",
        promotion_error_ms: f64 = "bound on its error, from the tick and its estimate",
    }

    pub struct ConcurrencyRow: concurrency = "How many flows downloaded at once, sampled every second in which one did (Fig. 6)" {
        user_id: u64 = "the user",
        concurrent_flows: u64 = "flows with downlink data in the last second",
        seconds: u64 = "samples with that many",
    }

    pub struct DnsRow: dns = "DNS look-ups (Fig. 7)" {
        time_ns: i64 = "request, since the trace began",
        client: String = "asking address",
        server: String = "resolver",
        name: Option<String> = "question",
        r#type: Option<String> = "record type asked for",
        rcode: Option<String> = "result; null if unanswered",
        latency_ms: Option<f64> = "request to response at the monitor; null if unanswered",
        retries: u64 = "copies of the request before the response",
    }

    pub struct HttpRow<'a>: http = "HTTP/1 exchanges whose heads were captured (section 7.1)" {
        flow_id: u64 = "the flow",
        time_ns: Option<i64> = "request, since the trace began; null if unseen",
        method: Option<&'a str> = "request method",
        host: Option<&'a str> = "Host header",
        path: Option<&'a str> = "request target",
        status: Option<u16> = "response status",
        content_type: Option<&'a str> = "media type of the response",
        content_class: Option<&'a str> = "video, image, text, zip, audio, other or unknown",
        content_length: Option<u64> = "body length that the response states",
        range_first: Option<u64> = "first byte of the range asked for",
        range_last: Option<u64> = "last byte of the range asked for",
        first_byte_ms: Option<f64> = "request to response head",
        body_bytes: Option<u64> = "response bytes that passed, head excluded",
        duration_ms: Option<f64> = "request to last response byte",
    }

    pub struct ProtocolRow<'a>: protocols = "Breakdown by protocol and service port (section 4.1)" {
        protocol: &'a str = "tcp, udp, icmp, ...",
        application: &'a str = "by server port",
        flows: u64 = "flows begun",
        packets: u64 = "packets",
        wire_bytes: u64 = "bytes on the wire",
        payload_bytes: u64 = "payload bytes",
    }
}

/// The order of a row written at packet `number` about `subject`.
pub(crate) fn order(number: u64, subject: u64) -> Order {
    Order {
        written_at: number,
        subject,
    }
}
