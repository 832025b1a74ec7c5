// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The part of the kernel's TCP that congestion controls see: only members that are used, by the
// kernel's names. Where they lie in the running kernel is found out when a program is loaded
// (CO-RE), so no header of any kernel is needed.
#pragma once

#define INLINE static __attribute__((always_inline, unused)) inline
#ifdef __bpf__
// The loader's parser knows no section for struct_ops; any that holds programs will do, because the
// kind of a program is chosen when it is loaded.
#define PROGRAM __attribute__((section("tp_btf"), used))
char LICENSE[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
#else
#define PROGRAM
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 max_packets_out;
	u32 mss_cache;
	u8 is_cwnd_limited : 1;
};

// Segments that were taken off the queue, and the round-trip time of the last one: negative if none
// was measured.
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

#ifdef __bpf__
#pragma clang attribute pop

#include <field.h>
#else
#define BIT_FIELD(base, member) ((base)->member)
#endif

// Where loss recovery stands.
enum ca_state { OPEN, DISORDER, CWR, RECOVERY, LOSS };

// What happens to a flow besides acknowledgements.
enum event { TX_START, CWND_RESTART, COMPLETE_CWR, LOSS_EVENT };

// The acknowledgement was more than a plain advance with the window unchanged.
#define SLOW_PATH 1
