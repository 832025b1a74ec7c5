// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A flow that exists for one control only: what a hook may look at comes with each call and what it
// did is handed back, so that a control can be led through any course of events and compared.
#pragma once

#include "socket.h"

// Read and written by tests/replay: same members, same order.
struct call {
	u32 snd_una;
	u32 snd_nxt;
	u32 cwnd;
	u32 cwnd_cnt;
	u32 cwnd_clamp;
	u32 ssthresh;
	u32 prior_cwnd;
	u32 max_packets_out;
	u32 mss;
	u32 is_cwnd_limited;
	u32 ca_state;
	u32 jiffies;
	u32 hz;
	u32 first;
	u32 second;
	u32 result;
};

// Room for the running kernel's structures, which may be larger than what is declared here.
static u64 socket_room[1024];
static u64 sample_room[16];
static u32 replay_jiffies;
static u32 hz;

#define REPLAYED ((struct tcp_sock *)socket_room)
#define REPLAYED_SAMPLE ((struct ack_sample *)sample_room)

INLINE u32 jiffies(void)
{
	return replay_jiffies;
}

#ifdef __bpf__
// Both fields that are set lie in a single byte.
#define SET_BIT_FIELD(base, member, value)                                                         \
	do {                                                                                       \
		u8 *byte = (u8 *)(base) + FIELD(FIELD_BYTES, (base)->member);                      \
		u32 left = FIELD(FIELD_LEFT, (base)->member);                                      \
		u32 right = FIELD(FIELD_RIGHT, (base)->member);                                    \
		u64 mask = ((~0ull << left) >> right) << (right - left);                           \
		*byte = (*byte & ~mask) | (((u64)(value) << (right - left)) & mask);               \
	} while (0)
#else
#define SET_BIT_FIELD(base, member, value) ((base)->member = (value))
#endif

INLINE void enter(const struct call *call)
{
	struct tcp_sock *tp = REPLAYED;

	tp->snd_una = call->snd_una;
	tp->snd_nxt = call->snd_nxt;
	tp->snd_cwnd = call->cwnd;
	tp->snd_cwnd_cnt = call->cwnd_cnt;
	tp->snd_cwnd_clamp = call->cwnd_clamp;
	tp->snd_ssthresh = call->ssthresh;
	tp->prior_cwnd = call->prior_cwnd;
	tp->max_packets_out = call->max_packets_out;
	tp->mss_cache = call->mss;
	SET_BIT_FIELD(tp, is_cwnd_limited, call->is_cwnd_limited);
	SET_BIT_FIELD(tp, inet_conn.icsk_ca_state, call->ca_state);
	REPLAYED_SAMPLE->pkts_acked = call->first;
	REPLAYED_SAMPLE->rtt_us = call->second;
	replay_jiffies = call->jiffies;
	hz = call->hz;
}

INLINE void leave(struct call *call)
{
	struct tcp_sock *tp = REPLAYED;

	call->cwnd = tp->snd_cwnd;
	call->cwnd_cnt = tp->snd_cwnd_cnt;
	call->ssthresh = tp->snd_ssthresh;
}

#define CONTEXT struct call *call
#define SOCKET REPLAYED
#define FIRST call->first
#define SECOND call->second
#define SAMPLE REPLAYED_SAMPLE
#define ENTER enter(call);
#define LEAVE leave(call);
#define RESULT_void
#define RESULT_u32 call->result =
#define RETURN_void return 0;
#define RETURN_u32 return 0;
#define RETURNS(type) int
