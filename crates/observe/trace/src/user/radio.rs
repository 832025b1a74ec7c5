//! The state of a user's radio, and what it costs (§4.1 and §7, Fig. 4).
//!
//! A packet of either direction finds the radio on, or has it switched on, which takes a promotion.
//! After a packet the radio stays on for `tail`; another packet begins the tail anew. Silence of at
//! most `radio_active` counts as active time, longer silence as tail, and what goes beyond `tail` as
//! idle, but for the promotion at its end.
//!
//! ```text
//! packets   ||||| ||                                  |
//! state     active|tail ............|idle ...|promotion|tail ............|
//! ```
//!
//! # Where we differ
//! 1. Fig. 4 draws no promotion. Here it ends when its packet passes, which is true of packets from
//!    the client; one towards the client waits for its promotion after it has passed the monitor, so
//!    its tail ends later by as much as stands here too early.
//! 2. Whether the radio was on before a user's first packet is known only if the trace is by then
//!    longer than the tail; if it is not, no promotion is counted.
//! 3. The tail after the last packet counts in full, whatever the trace shows of it.
//! 4. Idle is free: paging wakes the radio with traffic or without.
//! 5. A late close costs what its packets add to the radio's energy. Other traffic may pay the same
//!    promotion or tail anyway, and a late close can even save the next promotion, so the sum over
//!    users is less than that of `close_energy_mj` over flows.

use crate::params::Params;
use crate::tables::{RadioRow, order};
use unbloat_table::Rows;
use unbloat_units::{Both, Delta, Time};

/// Tails shorter than this are part of the active time around them in the `radio` table, which
/// bounds it to a few rows per user and second. Sums are exact.
const SHORTEST_ROW: Delta = Delta::secs(1);

/// Where rows of the `radio` table go.
pub(super) struct RadioRows<'a> {
    /// `None` if nobody reads them.
    pub(super) rows: Option<&'a mut Rows>,
    pub(super) number: u64,
    pub(super) user_id: u64,
    pub(super) origin: Time,
}

impl RadioRows<'_> {
    fn write(&mut self, state: &str, from: Time, until: Time) {
        let Some(rows) = self.rows.as_deref_mut().filter(|_| until > from) else {
            return;
        };
        let row = RadioRow {
            user_id: self.user_id,
            time_ns: from.since(self.origin).as_ns(),
            state,
            duration_ms: until.since(from).as_ms(),
        };
        rows.push(order(self.number, self.user_id), row);
    }
}

/// A radio between the user's first packet and now.
#[derive(Clone, Debug)]
pub(super) struct Radio {
    /// Until when the table has been told.
    told: Time,
    begins_with_promotion: bool,
    promotions: u32,
    /// Silences longer than `radio_active`, and what of them was tail and promotion.
    silent: Delta,
    tail: Delta,
    promoting: Delta,
    /// Of users with late closes.
    late: Option<Box<Late>>,
}

/// What late closes cost.
#[derive(Clone, Debug, Default)]
struct Late {
    /// Their packets since the last packet of anything else.
    close: Option<LateClose>,
    avoidable_j: f64,
}

#[derive(Clone, Debug)]
struct LateClose {
    /// The last packet of anything else.
    useful: Time,
    /// Energy since then.
    spent_j: f64,
}

/// What a radio did between its user's first and last packet, and in the tail after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RadioSums {
    pub(super) promotions: u64,
    pub(super) active: Delta,
    pub(super) tail: Delta,
    pub(super) idle: Delta,
    pub(super) energy_j: f64,
    pub(super) avoidable_j: f64,
}

impl Radio {
    pub(super) fn new(now: Time, origin: Time, params: &Params) -> Radio {
        let begins_with_promotion = now.since(origin) > params.tail;
        Radio {
            told: now,
            begins_with_promotion,
            promotions: u32::from(begins_with_promotion),
            silent: Delta::ZERO,
            tail: Delta::ZERO,
            promoting: Delta::ZERO,
            late: None,
        }
    }

    /// A silence longer than `radio_active` ends with a packet at `now`.
    #[cold]
    pub(super) fn on_silence(
        &mut self,
        last: Time,
        now: Time,
        params: &Params,
        rows: &mut RadioRows<'_>,
    ) {
        let silence = now.since(last);
        let tail = silence.min(params.tail);
        let promotion = params.power.promotion.min(silence - tail);
        self.silent += silence;
        self.tail += tail;
        self.promoting += promotion;
        self.promotions += u32::from(silence > params.tail);
        if silence >= SHORTEST_ROW {
            self.tell(last, params, rows);
            rows.write("tail", last, last + tail);
            rows.write("idle", last + tail, now - promotion);
            rows.write("promotion", now - promotion, now);
            self.told = now;
        }
    }

    /// Writes the active time up to `last`.
    fn tell(&mut self, last: Time, params: &Params, rows: &mut RadioRows<'_>) {
        if std::mem::take(&mut self.begins_with_promotion) {
            rows.write("promotion", self.told - params.power.promotion, self.told);
        }
        rows.write("active", self.told, last);
    }

    /// Whether packets have to be shown to [`Radio::on_packet`] that belong to no late close.
    #[inline]
    pub(super) fn is_closing_late(&self) -> bool {
        self.late.as_ref().is_some_and(|late| late.close.is_some())
    }

    /// Takes in a packet `silence` after the user's one before it, which came at `last`.
    #[cold]
    pub(super) fn on_packet(
        &mut self,
        closes_late: bool,
        last: Time,
        silence: Delta,
        params: &Params,
    ) {
        let late = self.late.get_or_insert_default();
        let close = late.close.get_or_insert(LateClose {
            useful: last,
            spent_j: 0.0,
        });
        close.spent_j += silence_j(silence, params);
        if !closes_late {
            // Without the late close the same silence would have been one.
            let needed_j = silence_j(last.since(close.useful) + silence, params);
            late.avoidable_j += close.spent_j - needed_j;
            late.close = None;
        }
    }

    /// The sums, `start` and `last` being the user's first and last packet.
    pub(super) fn finish(
        &mut self,
        (start, last): (Time, Time),
        payload: Both<u64>,
        params: &Params,
        rows: &mut RadioRows<'_>,
    ) -> RadioSums {
        self.tell(last, params, rows);
        rows.write("tail", last, last + params.tail);
        let power = &params.power;
        let active = last.since(start) - self.silent;
        let tail = self.tail + params.tail;
        let on_j = power.active_w * active.as_secs() + power.tail_j(tail);
        let promotions_j = f64::from(self.promotions) * power.promotion_j();
        let late = *self.late.take().unwrap_or_default();
        let late_j = late.close.map_or(0.0, |close| close.spent_j);
        RadioSums {
            promotions: u64::from(self.promotions),
            active,
            tail,
            idle: self.silent - self.tail - self.promoting,
            energy_j: promotions_j + on_j + power.transfer_j(payload.down, payload.up),
            avoidable_j: late.avoidable_j + late_j,
        }
    }
}

/// Joules of a silence and of the promotion that may end it.
fn silence_j(silence: Delta, params: &Params) -> f64 {
    let power = &params.power;
    if silence <= params.radio_active {
        return power.active_w * silence.as_secs();
    }
    let promotion = if silence > params.tail {
        power.promotion_j()
    } else {
        0.0
    };
    power.tail_j(silence.min(params.tail)) + promotion
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;

    fn at(s: f64) -> Time {
        Time::default() + Delta::from_secs_f64(s)
    }

    /// A packet: when, and whether it belongs to a late close.
    type Packet = (f64, bool);

    /// What the radio of a user with these packets does, and its rows as (state, from, until).
    fn run(origin: f64, packets: &[Packet]) -> (RadioSums, Vec<(String, f64, f64)>) {
        let params = Params::default();
        let mut output = Output::default();
        let mut rows = RadioRows {
            rows: Some(&mut output.side.radio),
            number: 0,
            user_id: 0,
            origin: at(origin),
        };
        let start = at(packets[0].0);
        let mut last = start;
        let mut radio = Radio::new(start, at(origin), &params);
        for &(s, closes_late) in &packets[1..] {
            let silence = at(s).since(last);
            if silence > params.radio_active {
                radio.on_silence(last, at(s), &params, &mut rows);
            }
            if closes_late || radio.is_closing_late() {
                radio.on_packet(closes_late, last, silence, &params);
            }
            last = at(s);
        }
        let sums = radio.finish((start, last), Both::default(), &params, &mut rows);
        (sums, states(&output.side.radio))
    }

    fn states(rows: &Rows) -> Vec<(String, f64, f64)> {
        let [_, time, state, duration] = rows.columns() else {
            panic!("four columns")
        };
        let seconds = |value: Option<f64>, unit: f64| value.unwrap() / unit;
        (0..rows.len())
            .map(|row| {
                let from = seconds(time.as_f64(row), 1e9);
                let until = from + seconds(duration.as_f64(row), 1e3);
                let round = |s: f64| (s * 1e4).round() / 1e4;
                let name = state.as_text(row).unwrap().to_owned();
                (name, round(from), round(until))
            })
            .collect()
    }

    fn state(name: &str, from: f64, until: f64) -> (String, f64, f64) {
        (name.to_owned(), from, until)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    const PROMOTION_J: f64 = 1.2107 * 0.2601;

    #[test]
    fn the_delayed_fin_of_fig_4_costs_a_promotion_and_a_tail() {
        let (sums, states) = run(0.0, &[(1.0, false), (13.0, true)]);
        let expected = [
            state("tail", 1.0, 11.0),
            state("idle", 11.0, 12.7399),
            state("promotion", 12.7399, 13.0),
            state("tail", 13.0, 23.0),
        ];
        assert_eq!(states, expected);
        assert_eq!((sums.promotions, sums.active), (1, Delta::ZERO));
        assert_eq!(sums.tail, Delta::secs(20));
        assert_eq!(sums.idle, Delta::us(2_000_000 - 260_100));
        assert!(close(sums.energy_j, PROMOTION_J + 20.0 * 1.06));
        assert!(close(sums.avoidable_j, PROMOTION_J + 10.0 * 1.06));
    }

    #[test]
    fn packets_in_short_succession_are_active_time() {
        let (sums, states) = run(0.0, &[(0.0, false), (0.1, false), (0.15, false)]);
        let expected = [state("active", 0.0, 0.15), state("tail", 0.15, 10.15)];
        assert_eq!(states, expected);
        assert_eq!(sums.active, Delta::ms(150));
        assert_eq!((sums.promotions, sums.idle), (0, Delta::ZERO));
        assert!(close(sums.energy_j, 0.15 * 1.28804 + 10.6));
    }

    #[test]
    fn short_tails_are_summed_but_have_no_rows_of_their_own() {
        let (sums, states) = run(0.0, &[(0.0, false), (0.5, false)]);
        assert_eq!(
            states,
            [state("active", 0.0, 0.5), state("tail", 0.5, 10.5)]
        );
        assert_eq!(
            (sums.active, sums.tail),
            (Delta::ZERO, Delta::ms(500) + Delta::secs(10))
        );
    }

    #[test]
    fn the_first_packet_promotes_if_the_radio_is_known_to_have_been_off() {
        let (sums, states) = run(0.0, &[(20.0, false), (20.05, false)]);
        let expected = [
            state("promotion", 19.7399, 20.0),
            state("active", 20.0, 20.05),
            state("tail", 20.05, 30.05),
        ];
        assert_eq!(states, expected);
        assert_eq!(sums.promotions, 1);
        assert_eq!(run(0.0, &[(10.0, false)]).0.promotions, 0);
    }

    #[test]
    fn a_silence_of_exactly_the_tail_needs_no_promotion() {
        assert_eq!(run(0.0, &[(0.0, false), (10.0, false)]).0.promotions, 0);
        assert_eq!(run(0.0, &[(0.0, false), (10.001, false)]).0.promotions, 1);
    }

    #[test]
    fn states_follow_each_other_without_gap_or_overlap() {
        let packets = [
            (30.0, false),
            (30.05, false),
            (35.0, false),
            (45.1, false),
            (60.0, true),
        ];
        let (sums, states) = run(0.0, &packets);
        for pair in states.windows(2) {
            assert_eq!(pair[0].2, pair[1].1, "{states:?}");
        }
        assert_eq!(sums.promotions, 3);
        // 10 s after 35.0, and 0.1 s later a packet: the promotion takes all of the idle time.
        assert_eq!(states[4], state("promotion", 45.0, 45.1));
    }

    #[test]
    fn a_late_close_while_other_traffic_keeps_the_radio_on_costs_nothing() {
        let (sums, _) = run(0.0, &[(0.0, false), (2.0, true), (4.0, false)]);
        assert!(close(sums.avoidable_j, 0.0), "{}", sums.avoidable_j);
    }

    #[test]
    fn a_late_close_that_saves_the_next_promotion_is_credited_with_it() {
        let (sums, _) = run(0.0, &[(0.0, false), (8.0, true), (12.0, false)]);
        assert!(close(sums.avoidable_j, 2.0 * 1.06 - PROMOTION_J));
    }

    #[test]
    fn what_late_closes_cost_is_the_energy_with_them_less_that_without() {
        const GAPS: [f64; 4] = [0.03, 4.0, 9.0, 12.5];
        for case in 0..8_u32.pow(5) {
            let mut now = 0.0;
            let mut packets = vec![(now, false)];
            for i in 0..5 {
                let choice = case >> (3 * i) & 7;
                now += GAPS[choice as usize & 3];
                packets.push((now, choice & 4 != 0));
            }
            let useful: Vec<Packet> = packets.iter().copied().filter(|p| !p.1).collect();
            let (with, without) = (run(0.0, &packets).0, run(0.0, &useful).0);
            let difference = with.energy_j - without.energy_j;
            assert!(
                (with.avoidable_j - difference).abs() < 1e-6,
                "{packets:?}: {} but {difference}",
                with.avoidable_j
            );
        }
    }
}
