// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What controls have in common: slow start, growth by a segment a round, halving (RFC 5681), as
// counted by Linux `net/ipv4/tcp_cong.c`. Windows are in segments.
#pragma once

#include "hooks.h"

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define clamp(x, low, high) min(max(x, low), high)

// The control's own state in a socket.
#define STATE(type, tp)                                                                            \
	({                                                                                         \
		_Static_assert(sizeof(type) <= sizeof((tp)->inet_conn.icsk_ca_priv), "too large"); \
		(type *)&(tp)->inet_conn.icsk_ca_priv[0];                                          \
	})

// Sequence numbers wrap.
INLINE int is_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

// A span in ticks of the coarse clock, rounded up.
INLINE u32 ticks(u32 us)
{
	u32 tick_us = 1000000 / hz;

	return us / tick_us + (us % tick_us != 0);
}

INLINE u8 ca_state(const struct tcp_sock *tp)
{
	return BIT_FIELD(tp, inet_conn.icsk_ca_state);
}

INLINE int is_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

// Whether growing the window makes sense: it is used, or in slow start half used.
INLINE int is_limited_by_cwnd(const struct tcp_sock *tp)
{
	if (BIT_FIELD(tp, is_cwnd_limited))
		return 1;
	return is_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

// The threshold to keep when the window is left: at least three quarters of it.
INLINE u32 current_ssthresh(const struct tcp_sock *tp)
{
	u8 state = ca_state(tp);

	if (state == CWR || state == RECOVERY)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

// One segment for each that was delivered; what is left over at the threshold is returned.
INLINE u32 slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 before = tp->snd_cwnd;
	u32 cwnd = min(before + acked, tp->snd_ssthresh);

	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked - (cwnd - before);
}

// One segment more for every `w` delivered.
INLINE void additive_increase(struct tcp_sock *tp, u32 w, u32 acked)
{
	u32 cwnd = tp->snd_cwnd;
	u32 count = tp->snd_cwnd_cnt;

	// Credit from a time with larger w is used, but gently.
	if (count >= w) {
		count = 0;
		cwnd++;
	}
	count += acked;
	if (count >= w) {
		u32 whole = count / w;

		count -= whole * w;
		cwnd += whole;
	}
	tp->snd_cwnd_cnt = count;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
}

// Growth of Reno, which several controls fall back to.
INLINE void reno_avoid(struct tcp_sock *tp, u32 acked)
{
	if (!is_limited_by_cwnd(tp))
		return;
	if (is_in_slow_start(tp)) {
		acked = slow_start(tp, acked);
		if (!acked)
			return;
	}
	additive_increase(tp, tp->snd_cwnd, acked);
}

// Half the window, at least two segments.
INLINE u32 half(const struct tcp_sock *tp)
{
	return max(tp->snd_cwnd >> 1, 2u);
}

// The window as it was when the reduction began.
INLINE u32 prior_window(const struct tcp_sock *tp)
{
	return max(tp->snd_cwnd, tp->prior_cwnd);
}
