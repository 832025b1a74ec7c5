// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Westwood+: after congestion, the window is what the measured rate fills in the least round trip.
//
// References: Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood", MobiCom 2001; Grieco and
// Mascolo, ACM CCR 34(2), 2004; Linux 6.12 net/ipv4/tcp_westwood.c, whose arithmetic is followed. Step
// by step equal to crates/model/tcp/src/congestion/westwood.rs.
//
// Where we differ from Linux: no TCP_CC_INFO (struct_ops cannot give it).
#include "window.h"

// Times in ticks, rates in bytes a tick.
struct westwood {
	u32 rate_once;
	u32 rate;
	u32 round_start;
	// Acknowledged in this round.
	u32 bytes;
	u32 snd_una;
	// Bytes that duplicate ACKs have stood for.
	u32 accounted;
	u32 rtt;
	u32 min_rtt;
	u8 is_started;
	// The next sample is the least of a new path.
	u8 forgets_min_rtt;
};

INLINE u32 smooth(u32 old, u32 new)
{
	return (7 * old + new) >> 3;
}

INLINE void filter(struct westwood *westwood, u32 sample)
{
	if (!westwood->rate_once && !westwood->rate) {
		westwood->rate_once = sample;
		westwood->rate = sample;
	} else {
		westwood->rate_once = smooth(westwood->rate_once, sample);
		westwood->rate = smooth(westwood->rate, westwood->rate_once);
	}
}

// A round is a round-trip time, and 50 ms at least.
INLINE void end_round_if_due(struct westwood *westwood, u32 snd_una)
{
	u32 now = jiffies();
	s32 span = now - westwood->round_start;

	if (!westwood->is_started) {
		westwood->is_started = 1;
		westwood->snd_una = snd_una;
	}
	if (westwood->rtt && span > (s32)max(westwood->rtt, hz / 20)) {
		filter(westwood, westwood->bytes / (u32)span);
		westwood->bytes = 0;
		westwood->round_start = now;
	}
}

// Bytes that an ACK stands for: duplicates for a segment each, which later ones leave out.
INLINE u32 count(struct westwood *westwood, u32 bytes, u32 mss)
{
	if (!bytes) {
		westwood->accounted += mss;
		bytes = mss;
	}
	if (bytes > mss) {
		if (westwood->accounted >= bytes) {
			westwood->accounted -= bytes;
			bytes = mss;
		} else {
			bytes -= westwood->accounted;
			westwood->accounted = 0;
		}
	}
	return bytes;
}

INLINE u32 window(struct tcp_sock *tp)
{
	struct westwood *westwood = STATE(struct westwood, tp);

	return max(westwood->rate * westwood->min_rtt / tp->mss_cache, 2u);
}

ON_INIT(tp)
{
	struct westwood *westwood = STATE(struct westwood, tp);

	westwood->rate_once = 0;
	westwood->rate = 0;
	westwood->round_start = jiffies();
	westwood->bytes = 0;
	westwood->snd_una = tp->snd_una;
	westwood->accounted = 0;
	// More than any round trip, until there is a sample.
	westwood->rtt = 20 * hz;
	westwood->min_rtt = 20 * hz;
	westwood->is_started = 0;
	westwood->forgets_min_rtt = 1;
}

ON_SSTHRESH(tp)
{
	return half(tp);
}

ON_CONG_AVOID(tp, acked)
{
	reno_avoid(tp, acked);
}

ON_IN_ACK_EVENT(tp, flags)
{
	struct westwood *westwood = STATE(struct westwood, tp);
	u32 snd_una = tp->snd_una;
	u32 bytes;

	end_round_if_due(westwood, snd_una);
	bytes = snd_una - westwood->snd_una;
	if (flags & SLOW_PATH)
		bytes = count(westwood, bytes, tp->mss_cache);
	westwood->bytes += bytes;
	westwood->snd_una = snd_una;
	if (westwood->forgets_min_rtt) {
		westwood->forgets_min_rtt = 0;
		westwood->min_rtt = westwood->rtt;
	} else {
		westwood->min_rtt = min(westwood->min_rtt, westwood->rtt);
	}
}

ON_CWND_EVENT(tp, event)
{
	struct westwood *westwood = STATE(struct westwood, tp);

	if (event == COMPLETE_CWR) {
		tp->snd_ssthresh = window(tp);
		tp->snd_cwnd = tp->snd_ssthresh;
	} else if (event == LOSS_EVENT) {
		tp->snd_ssthresh = window(tp);
		westwood->forgets_min_rtt = 1;
	}
}

ON_PKTS_ACKED(tp, sample)
{
	struct westwood *westwood = STATE(struct westwood, tp);
	s32 rtt_us = sample->rtt_us;

	if (rtt_us > 0)
		westwood->rtt = ticks(rtt_us);
}

ON_UNDO_CWND(tp)
{
	return prior_window(tp);
}
