// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// H-TCP: growth by the time since the last congestion, reduction by the ratio of round-trip times.
//
// References: draft-leith-tcp-htcp-06; Leith and Shorten, "H-TCP: TCP for high-speed and long-distance
// networks", PFLDnet 2004; Linux 6.12 net/ipv4/tcp_htcp.c, whose arithmetic is followed. Step by step
// equal to crates/model/tcp/src/congestion/htcp.rs.
//
// Where we differ from Linux: scaling by the round-trip time and the bandwidth switch are always on.
#include "window.h"

// Fixed point of alpha and beta.
#define ONE (1u << 7)
#define BETA_MIN (1u << 6)
// 0.8.
#define BETA_MAX 102u

// Times in ticks, rates in segments a second.
struct htcp {
	u32 alpha;
	u32 beta;
	// Segments of the last ACK.
	u32 segments;
	u32 min_rtt;
	u32 max_rtt;
	u32 last_congestion;
	struct {
		u32 last_congestion;
		u32 max_rtt;
		u32 old_max_rate;
	} undo;
	struct {
		u32 segments;
		u32 since;
		u32 smoothed;
		u32 max;
		u32 old_max;
	} rate;
	// Beta may follow delay: there was a congestion before.
	u8 is_adaptive;
	u8 can_undo;
};

INLINE u32 since_congestion(const struct htcp *htcp)
{
	return jiffies() - htcp->last_congestion;
}

INLINE void measure_rtt(struct htcp *htcp, u8 state, u32 rtt)
{
	if (!htcp->min_rtt || htcp->min_rtt > rtt)
		htcp->min_rtt = rtt;
	if (state != OPEN)
		return;
	htcp->max_rtt = max(htcp->max_rtt, htcp->min_rtt);
	// A jump is taken for an outlier.
	if (htcp->max_rtt < rtt && rtt <= htcp->max_rtt + ticks(20000))
		htcp->max_rtt = rtt;
}

INLINE void measure_rate(struct htcp *htcp, const struct tcp_sock *tp, u8 state, u32 segments)
{
	u32 now = jiffies();
	u32 span = now - htcp->rate.since;
	u32 current;

	if (state > DISORDER) {
		htcp->rate.segments = 0;
		htcp->rate.since = now;
		return;
	}
	htcp->rate.segments += segments;
	// A window's worth, in a round trip at least.
	if (htcp->rate.segments < tp->snd_cwnd - max(htcp->alpha >> 7, 1u))
		return;
	if (!htcp->min_rtt || span < htcp->min_rtt)
		return;
	current = htcp->rate.segments * hz / span;
	if (since_congestion(htcp) / htcp->min_rtt <= 3) {
		htcp->rate.smoothed = current;
		htcp->rate.max = current;
	} else {
		htcp->rate.smoothed = (3 * htcp->rate.smoothed + current) / 4;
		htcp->rate.max = max(htcp->rate.max, htcp->rate.smoothed);
	}
	htcp->rate.segments = 0;
	htcp->rate.since = now;
}

INLINE void update_beta(struct htcp *htcp)
{
	u32 now = htcp->rate.max;
	u32 old = htcp->rate.old_max;

	htcp->rate.old_max = now;
	htcp->beta = BETA_MIN;
	// The rate has changed by more than a fifth: start anew.
	if (5 * now < 4 * old || 5 * now > 6 * old) {
		htcp->is_adaptive = 0;
	} else if (htcp->is_adaptive && htcp->min_rtt > ticks(10000) && htcp->max_rtt) {
		// As in Linux, the ratio is kept in eight bits.
		u8 ratio = (htcp->min_rtt << 7) / htcp->max_rtt;

		htcp->beta = clamp(ratio, BETA_MIN, BETA_MAX);
	} else {
		htcp->is_adaptive = 1;
	}
}

INLINE void update_alpha(struct htcp *htcp)
{
	u32 elapsed = since_congestion(htcp);
	u32 factor = 1;

	if (elapsed > hz) {
		u32 d = elapsed - hz;

		factor = 1 + (10 * d + (d / 2) * (d / 2) / hz) / hz;
	}
	if (htcp->min_rtt) {
		// 100 ms over the round-trip time, times eight.
		u32 scale = clamp((hz << 3) / (10 * htcp->min_rtt), 1u << 2, 10u << 3);

		factor = max((factor << 3) / scale, 1u);
	}
	htcp->alpha = 2 * factor * (ONE - htcp->beta);
	if (!htcp->alpha)
		htcp->alpha = ONE;
}

ON_INIT(tp)
{
	struct htcp *htcp = STATE(struct htcp, tp);

	htcp->alpha = ONE;
	htcp->beta = BETA_MIN;
	htcp->segments = 1;
	htcp->last_congestion = jiffies();
}

ON_SSTHRESH(tp)
{
	struct htcp *htcp = STATE(struct htcp, tp);
	u32 min_rtt = htcp->min_rtt;
	u32 max_rtt = htcp->max_rtt;

	update_beta(htcp);
	update_alpha(htcp);
	// The largest round-trip time fades.
	if (min_rtt && max_rtt > min_rtt)
		htcp->max_rtt = min_rtt + (max_rtt - min_rtt) * 95 / 100;
	return max((tp->snd_cwnd * htcp->beta) >> 7, 2u);
}

ON_CONG_AVOID(tp, acked)
{
	struct htcp *htcp = STATE(struct htcp, tp);
	u32 cwnd = tp->snd_cwnd;

	if (!is_limited_by_cwnd(tp))
		return;
	if (is_in_slow_start(tp)) {
		slow_start(tp, acked);
		return;
	}
	if ((tp->snd_cwnd_cnt * htcp->alpha) >> 7 >= cwnd) {
		tp->snd_cwnd = min(cwnd + 1, tp->snd_cwnd_clamp);
		tp->snd_cwnd_cnt = 0;
		update_alpha(htcp);
	} else {
		tp->snd_cwnd_cnt += htcp->segments;
	}
	htcp->segments = 1;
}

ON_PKTS_ACKED(tp, sample)
{
	struct htcp *htcp = STATE(struct htcp, tp);
	u32 segments = sample->pkts_acked;
	s32 rtt_us = sample->rtt_us;
	u8 state = ca_state(tp);

	if (state == OPEN)
		htcp->segments = segments;
	if (rtt_us > 0)
		measure_rtt(htcp, state, ticks(rtt_us));
	measure_rate(htcp, tp, state, segments);
}

ON_SET_STATE(tp, state)
{
	struct htcp *htcp = STATE(struct htcp, tp);

	if (state == OPEN) {
		if (htcp->can_undo) {
			htcp->last_congestion = jiffies();
			htcp->can_undo = 0;
		}
	} else if (state >= CWR) {
		htcp->undo.last_congestion = htcp->last_congestion;
		htcp->undo.max_rtt = htcp->max_rtt;
		htcp->undo.old_max_rate = htcp->rate.old_max;
		htcp->can_undo = 1;
		htcp->last_congestion = jiffies();
	}
}

ON_UNDO_CWND(tp)
{
	struct htcp *htcp = STATE(struct htcp, tp);

	if (htcp->can_undo) {
		htcp->last_congestion = htcp->undo.last_congestion;
		htcp->max_rtt = htcp->undo.max_rtt;
		htcp->rate.old_max = htcp->undo.old_max_rate;
		htcp->can_undo = 0;
	}
	return prior_window(tp);
}
