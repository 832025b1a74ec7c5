// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Vegas: keep between two and four segments in the queue, judged by delay once a round.
//
// References: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet",
// IEEE JSAC 13(8), 1995; Linux 6.12 net/ipv4/tcp_vegas.c, whose arithmetic is followed. Step by step
// equal to crates/model/tcp/src/congestion/vegas.rs.
//
// Where we differ from Linux: no TCP_CC_INFO (struct_ops cannot give it), alpha, beta and gamma are
// fixed.
#include "window.h"

// Grow below ALPHA segments in the queue, shrink above BETA, leave slow start above GAMMA.
#define ALPHA 2
#define BETA 4
#define GAMMA 1
// More than any round-trip time.
#define NO_RTT 0x7fffffff
// With fewer samples in a round, each may be of a delayed ACK.
#define MIN_SAMPLES 3

struct vegas {
	u32 round_end;
	u32 samples;
	u32 round_rtt_us;
	u32 base_rtt_us;
	u32 is_on;
};

INLINE void begin_round(struct tcp_sock *tp)
{
	struct vegas *vegas = STATE(struct vegas, tp);

	vegas->round_end = tp->snd_nxt;
	vegas->samples = 0;
	vegas->round_rtt_us = NO_RTT;
}

INLINE void start(struct tcp_sock *tp)
{
	struct vegas *vegas = STATE(struct vegas, tp);

	vegas->base_rtt_us = NO_RTT;
	vegas->is_on = 1;
	begin_round(tp);
}

INLINE void adjust(struct tcp_sock *tp, u32 acked)
{
	struct vegas *vegas = STATE(struct vegas, tp);
	u32 cwnd = tp->snd_cwnd;
	u32 rtt = vegas->round_rtt_us;
	u32 base = vegas->base_rtt_us;
	// Segments that the path would hold with its queue empty.
	u32 target = (u64)cwnd * base / rtt;
	u32 queued = cwnd * (rtt - base) / base;

	if (is_in_slow_start(tp)) {
		if (queued > GAMMA) {
			cwnd = min(cwnd, target + 1);
			tp->snd_cwnd = cwnd;
			tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
		} else {
			slow_start(tp, acked);
		}
	} else if (queued > BETA) {
		cwnd--;
		tp->snd_cwnd = cwnd;
		tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
	} else if (queued < ALPHA) {
		tp->snd_cwnd = cwnd + 1;
	}
}

INLINE void end_round(struct tcp_sock *tp, u32 acked)
{
	struct vegas *vegas = STATE(struct vegas, tp);

	if (vegas->samples < MIN_SAMPLES) {
		reno_avoid(tp, acked);
		return;
	}
	adjust(tp, acked);
	tp->snd_cwnd = clamp(tp->snd_cwnd, 2u, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = current_ssthresh(tp);
}

ON_INIT(tp)
{
	start(tp);
}

ON_SSTHRESH(tp)
{
	return half(tp);
}

ON_CONG_AVOID(tp, acked)
{
	struct vegas *vegas = STATE(struct vegas, tp);

	if (!vegas->is_on) {
		reno_avoid(tp, acked);
	} else if (is_after(tp->snd_una, vegas->round_end)) {
		end_round(tp, acked);
		begin_round(tp);
	} else if (is_in_slow_start(tp)) {
		slow_start(tp, acked);
	}
}

ON_PKTS_ACKED(tp, sample)
{
	struct vegas *vegas = STATE(struct vegas, tp);
	s32 rtt_us = sample->rtt_us;

	if (rtt_us < 0)
		return;
	// Never zero.
	rtt_us++;
	vegas->base_rtt_us = min(vegas->base_rtt_us, (u32)rtt_us);
	vegas->round_rtt_us = min(vegas->round_rtt_us, (u32)rtt_us);
	vegas->samples++;
}

ON_SET_STATE(tp, state)
{
	struct vegas *vegas = STATE(struct vegas, tp);

	vegas->is_on = state == OPEN;
	if (vegas->is_on)
		begin_round(tp);
}

ON_CWND_EVENT(tp, event)
{
	if (event == CWND_RESTART || event == TX_START)
		start(tp);
}

ON_UNDO_CWND(tp)
{
	return prior_window(tp);
}
