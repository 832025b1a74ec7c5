//! The tables beside `flows`.

use unbloat_table::{Column, Order, Rows, Table};

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident: $about:literal, [$($kind:ident $column:literal $meaning:literal,)*];)*) => {
        /// Rows of every table other than `flows`.
        #[derive(Clone, Debug, PartialEq)]
        pub struct SideTables { $($(#[$doc])* pub $name: Rows,)* }

        pub(crate) fn side_tables() -> Vec<Table> {
            vec![$(Table {
                name: stringify!($name),
                doc: $about,
                columns: vec![$(Column::$kind($column, $meaning),)*],
            },)*]
        }

        impl SideTables {
            pub(crate) fn new() -> SideTables {
                let mut tables = side_tables().into_iter();
                SideTables { $($name: Rows::new(&tables.next().expect("one per field")),)* }
            }

            pub(crate) const NAMES: &[&str] = &[$(stringify!($name),)*];

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
    rtt: "Round trips between the monitor and a receiver, in bins of `bin`; bin 0 keeps each sample", [
        u64 "flow_id" "the flow",
        text "side" "down: downstream RTT, of data towards the client; up: upstream RTT",
        text "method" "ack: Karn's rule on sequence numbers; timestamp: TSval to its echo; sack: SACK block of a duplicate ACK (section 5)",
        i64 "time_ns" "of the last sample in the bin, since the trace began",
        f64 "rtt_ms" "mean of the samples in the bin, each from the newest segment that its ACK covers (as tshark and tcptrace)",
        f64 "rtt_min_ms" "smallest",
        f64 "rtt_max_ms" "largest",
        f64 "rtt_from_oldest_ms" "mean from the oldest segment that each ACK newly covers, not from the newest as rtt_ms: includes the receiver's wait before a delayed ACK, as srtt and RTO of Linux do; method ack only",
        f64 "in_flight_bytes" "mean of the unacknowledged bytes when the data of the samples passed (Fig. 10)",
        u64 "samples" "how many samples the row stands for",
    ];
    in_flight: "Sender and receiver of one direction over time, in bins of `bin`", [
        u64 "flow_id" "the flow",
        text "side" "direction of the data",
        i64 "time_ns" "of the last packet in the bin, since the trace began",
        u64 "seq_bytes" "highest byte sent, from the first byte seen",
        u64 "ack_bytes" "highest byte acknowledged, from the first byte seen; null before it, and without an ACK",
        u64 "window_edge_bytes" "right edge of the receive window, from the first byte seen; null if the scale is unknown",
        u64 "in_flight_bytes" "most unacknowledged bytes in the bin; null without an ACK",
        u64 "payload_bytes" "payload that passed in the bin",
        u64 "samples" "packets that the row stands for",
    ];
    standing: "Delays that no host can have made, and whether they stood: what the verdict rests on. A row for the round trips between capture point and client and one for those between capture point and server, of each flow and of each minute that it lasts; in windows of 250 ms. A flow with too few samples to show a standing queue, a step of the path or another delay has no rows", [
        u64 "flow_id" "the flow",
        text "client" "address of the client",
        u64 "client_port" "its port",
        text "server" "address of the server",
        u64 "server_port" "its port",
        text "direction" "down: round trips between the capture point and the client; up: between the capture point and the server",
        i64 "start_ns" "first window, since the trace began",
        i64 "end_ns" "end of the last window",
        f64 "rtt_floor_ms" "smallest round trip of the flow, both sides of the capture point as far as they were seen",
        bool "floor_seen" "the flow's handshake was captured, so the floor is among its samples unless the queue stood before",
        u64 "samples" "delays measured",
        u64 "sharp_samples" "those that bound the host's own wait to 100 ms",
        u64 "windows" "windows with samples",
        u64 "low_windows" "windows with a sample less than half of `bloat_threshold` above the floor: nothing stood",
        u64 "standing_windows" "windows of runs in which every round trip was at least half of `bloat_threshold` above the floor, less all that the host may have waited; a run lasts at least a second and has three windows with samples and eight samples",
        i64 "standing_start_ns" "first of them, since the trace began",
        i64 "standing_end_ns" "end of the last",
        f64 "standing_p50_ms" "median over standing windows of the least delay, host's wait taken off",
        f64 "standing_p95_ms" "95th percentile of it",
        u64 "low_before_windows" "low windows before the first standing one",
        f64 "level_share" "share of standing windows on levels: two seconds or more in which the delay stayed the same within half of an eighth of the round trip",
        f64 "step_share" "share of the runs that began in one step, as those of a longer route do: from a low window by at least half of the delay at which they stood",
        f64 "back_share" "share of the delay on the way from the answering host to the capture point, by that host's timestamps as far as they agree with the round trips; null if they do not tell",
        f64 "step_ms" "largest step between levels of the least delays: two that lasted for six seconds each, one after the other",
        u64 "think_samples" "delays that no queue made: answers that the server took its time for, beyond what the path takes; direction up",
        f64 "think_p50_ms" "median of them, above the floor",
        u64 "wake_samples" "delays that no queue made: late samples after silence, while others were not late: a radio or a host slept",
        f64 "wake_p50_ms" "median of them, above the floor",
        u64 "power_save_samples" "delays that no queue made: late samples that arrived on a grid of 102.4 ms: a Wi-Fi station that listens at beacons",
        f64 "power_save_p50_ms" "median of them, above the floor",
        u64 "ack_samples" "delays that no queue made: acknowledgments of one segment that were late by the same: a timer",
        f64 "ack_p50_ms" "median of them, above the floor",
        u64 "hold_samples" "delays that no queue made: pauses of 200 ms and more, after which all came at once that was sent meanwhile",
        f64 "hold_p50_ms" "longest of them, above the floor",
        u64 "jitter_samples" "delays that no queue made: late samples that do not depend on what came before: contention, grants and repeats of the link",
        f64 "jitter_p50_ms" "median of them, above the floor",
        f64 "ahead_peak_bps" "bytes on the wire of all flows of the client in this direction: 80th percentile of windows that carried any",
        f64 "ahead_standing_bps" "the same, median over standing windows",
        f64 "ahead_own_standing_bps" "bytes on the wire of this flow in this direction, median over standing windows",
        f64 "ahead_before_bps" "the same, median over low windows before the delay first stood",
        f64 "ahead_steadiness" "bytes of all flows of the client in this direction over standing windows: 25th percentile over the 75th, near 1 where a full link sets the pace",
        f64 "ahead_coupling" "rank correlation of the client's unacknowledged bytes in this direction with the delay, over windows",
        u64 "ahead_lost_packets" "packets of this flow in this direction that show a loss",
        u64 "ahead_busy_windows" "windows with at least half of peak_bps in this direction",
        f64 "back_peak_bps" "bytes on the wire of all flows of the client in the other direction: 80th percentile of windows that carried any",
        f64 "back_standing_bps" "the same, median over standing windows",
        f64 "back_own_standing_bps" "bytes on the wire of this flow in the other direction, median over standing windows",
        f64 "back_before_bps" "the same, median over low windows before the delay first stood",
        f64 "back_steadiness" "bytes of all flows of the client in the other direction over standing windows: 25th percentile over the 75th, near 1 where a full link sets the pace",
        f64 "back_coupling" "rank correlation of the client's unacknowledged bytes in the other direction with the delay, over windows",
        u64 "back_lost_packets" "packets of this flow in the other direction that show a loss",
        u64 "back_busy_windows" "windows with at least half of peak_bps in the other direction",
    ];
    bandwidth: "Estimates of the available bandwidth (section 6.1, formulas 1 and 2)", [
        u64 "flow_id" "the flow; the last one where several were summed",
        text "side" "direction of the data",
        i64 "time_ns" "centre of the window, since the trace began",
        f64 "window_ms" "length of the window by the receiver's clock",
        f64 "bandwidth_bps" "receiving rate (formula 2)",
        f64 "sending_bps" "sending rate (formula 1)",
        f64 "resolution" "relative error from the timestamp tick",
        text "admitted_by" "rate: sending rate of at least C; backlog: the queue never ran empty in the window",
        u64 "flows" "concurrent flows of the user that were summed",
    ];
    events: "What happened to flows, one row each", [
        u64 "flow_id" "the flow",
        text "side" "direction of the data concerned",
        i64 "time_ns" "since the trace began",
        text "kind" "retransmission, spurious, reordering, upstream_loss, ambiguous, duplicate, hole, dup_ack_train, fast_retransmit, tail_loss_probe, early_retransmission, rto, slow_start, zero_window, full_window, reader_stall, periodic or delayed_close",
        u64 "seq_bytes" "position, from the first byte seen; null before it",
        f64 "value" "size or strength; its meaning depends on the kind",
        text "detail" "in words",
    ];
    users: "Client addresses between gaps of `user_idle`", [
        u64 "user_id" "number of the user's first packet",
        text "client" "address",
        i64 "start_ns" "first packet, since the trace began",
        i64 "end_ns" "last packet",
        u64 "flows" "TCP and UDP flows begun",
        u64 "payload_down_bytes" "towards the client",
        u64 "payload_up_bytes" "from the client",
        f64 "tick_ms" "timestamp tick G of the client's clock",
        u64 "promotions" "times the radio was switched on (section 4.1)",
        f64 "active_s" "time the radio carried packets at most `radio_active` apart",
        f64 "tail_s" "time the radio stayed on after packets; the last tail counts in full",
        f64 "idle_s" "time the radio was off between the user's first and last packet, promotions excluded",
        f64 "energy_j" "radio energy by the power model, idle being free",
        f64 "avoidable_energy_j" "of it, what packets of late closes added; negative where they saved a promotion",
        f64 "added_down_p50_ms" "median delay over the flows' floors, downstream",
        f64 "added_down_p95_ms" "95th percentile of it",
        f64 "added_down_p99_ms" "99th percentile of it",
        u64 "added_down_samples" "round trips that these percentiles rest on",
    ];
    radio: "State of each user's radio over time (section 4.1); tails below one second belong to the active time around them", [
        u64 "user_id" "the user",
        i64 "time_ns" "when the state began, since the trace began",
        text "state" "promotion, active, tail or idle",
        f64 "duration_ms" "how long it lasted",
    ];
    promotions: "Handshakes after `T` of radio silence whose promotion delay can be told, written once the client's tick is known (section 4.2, Fig. 9)", [
        u64 "user_id" "the user",
        u64 "flow_id" "the flow",
        i64 "time_ns" "its first packet, since the trace began",
        f64 "promotion_ms" "promotion delay of the radio: from SYN to ACK by the client's clock, less the same at the monitor",
        f64 "promotion_error_ms" "bound on its error, from the tick and its estimate",
    ];
    concurrency: "How many flows downloaded at once, sampled every second in which one did (Fig. 6)", [
        u64 "user_id" "the user",
        u64 "concurrent_flows" "flows with downlink data in the last second",
        u64 "seconds" "samples with that many",
    ];
    dns: "DNS look-ups (Fig. 7)", [
        i64 "time_ns" "request, since the trace began",
        text "client" "asking address",
        text "server" "resolver",
        text "name" "question",
        text "type" "record type asked for",
        text "rcode" "result; null if unanswered",
        f64 "latency_ms" "request to response at the monitor; null if unanswered",
        u64 "retries" "copies of the request before the response",
    ];
    http: "HTTP/1 exchanges whose heads were captured (section 7.1)", [
        u64 "flow_id" "the flow",
        i64 "time_ns" "request, since the trace began; null if unseen",
        text "method" "request method",
        text "host" "Host header",
        text "path" "request target",
        u64 "status" "response status",
        text "content_type" "media type of the response",
        text "content_class" "video, image, text, zip, audio, other or unknown",
        u64 "content_length" "body length that the response states",
        u64 "range_first" "first byte of the range asked for",
        u64 "range_last" "last byte of the range asked for",
        f64 "first_byte_ms" "request to response head",
        u64 "body_bytes" "response bytes that passed, head excluded",
        f64 "duration_ms" "request to last response byte",
    ];
    protocols: "Breakdown by protocol and service port (section 4.1)", [
        text "protocol" "tcp, udp, icmp, ...",
        text "application" "by server port",
        u64 "flows" "flows begun",
        u64 "packets" "packets",
        u64 "wire_bytes" "bytes on the wire",
        u64 "payload_bytes" "payload bytes",
    ];
}

/// The order of a row written at packet `number` about `subject`.
pub(crate) fn order(number: u64, subject: u64) -> Order {
    Order {
        written_at: number,
        subject,
    }
}
