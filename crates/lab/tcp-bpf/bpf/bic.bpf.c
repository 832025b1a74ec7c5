// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// BIC: binary search for the window at which the last loss was.
//
// References: Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
// Networks", INFOCOM 2004; Linux 6.12 net/ipv4/tcp_bic.c, whose arithmetic is followed. Step by step
// equal to crates/model/tcp/src/congestion/bic.rs.
//
// Where we differ from Linux: the parameters are fixed.
#include "window.h"

// Window after congestion, in 1/1024 of the one before.
#define BETA 819
#define SCALE 1024
// As Reno up to this window.
#define LOW_WINDOW 14
// Most segments to grow by in a round.
#define MAX_INCREMENT 16
// Rounds from one search step below the maximum to the maximum.
#define SMOOTH_PART 20
// The search steps to one part of so many of the distance.
#define SEARCH 4
// The ratio of segments to ACKs has four bits of fraction.
#define RATIO_SHIFT 4

// All of it is forgotten at a timeout.
struct bic {
	// Deliveries for one segment more.
	u32 count;
	u32 w_max;
	u32 last_cwnd;
	u32 last_time;
	// Segments for each ACK.
	u32 ratio;
};

INLINE void forget(struct tcp_sock *tp)
{
	struct bic *bic = STATE(struct bic, tp);

	bic->count = 0;
	bic->w_max = 0;
	bic->last_cwnd = 0;
	bic->last_time = 0;
	bic->ratio = 2 << RATIO_SHIFT;
}

// Search for the maximum, in steps neither too large nor too small.
INLINE u32 count_below(u32 cwnd, u32 distance)
{
	u32 step = distance / SEARCH;

	if (step > MAX_INCREMENT)
		return cwnd / MAX_INCREMENT;
	if (step <= 1)
		return cwnd * SMOOTH_PART / SEARCH;
	return cwnd / step;
}

// Beyond it: slowly away, then faster.
INLINE u32 count_above(u32 cwnd, u32 beyond)
{
	if (beyond < SEARCH)
		return cwnd * SMOOTH_PART / SEARCH;
	if (beyond < MAX_INCREMENT * (SEARCH - 1))
		return cwnd * (SEARCH - 1) / beyond;
	return cwnd / MAX_INCREMENT;
}

INLINE u32 count_at(const struct bic *bic, u32 cwnd)
{
	u32 w_max = bic->w_max;
	u32 count;

	if (cwnd <= LOW_WINDOW)
		return cwnd;
	count = cwnd < w_max ? count_below(cwnd, w_max - cwnd) : count_above(cwnd, cwnd - w_max);
	if (!w_max)
		count = min(count, 20u);
	return max((count << RATIO_SHIFT) / bic->ratio, 1u);
}

// Looks for a new pace when the window has changed, or 32 times a second.
INLINE void update(struct bic *bic, u32 cwnd)
{
	u32 now = jiffies();

	if (bic->last_cwnd == cwnd && (s32)(now - bic->last_time) <= (s32)(hz / 32))
		return;
	bic->last_cwnd = cwnd;
	bic->last_time = now;
	bic->count = count_at(bic, cwnd);
}

ON_INIT(tp)
{
	forget(tp);
}

ON_SSTHRESH(tp)
{
	struct bic *bic = STATE(struct bic, tp);
	u32 cwnd = tp->snd_cwnd;

	// Who has less than last time makes room for others.
	bic->w_max = cwnd < bic->w_max ? cwnd * (SCALE + BETA) / (2 * SCALE) : cwnd;
	if (cwnd <= LOW_WINDOW)
		return half(tp);
	return max(cwnd * BETA / SCALE, 2u);
}

ON_CONG_AVOID(tp, acked)
{
	struct bic *bic = STATE(struct bic, tp);

	if (!is_limited_by_cwnd(tp))
		return;
	if (is_in_slow_start(tp)) {
		acked = slow_start(tp, acked);
		if (!acked)
			return;
	}
	update(bic, tp->snd_cwnd);
	additive_increase(tp, bic->count, acked);
}

ON_SET_STATE(tp, state)
{
	if (state == LOSS)
		forget(tp);
}

ON_PKTS_ACKED(tp, sample)
{
	struct bic *bic = STATE(struct bic, tp);

	if (ca_state(tp) == OPEN)
		bic->ratio += sample->pkts_acked - (bic->ratio >> RATIO_SHIFT);
}

ON_UNDO_CWND(tp)
{
	return prior_window(tp);
}
