// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What a program sees of a socket at the receiver: `struct bpf_sock_ops` of linux/bpf.h, and the kernel's own structures.
#pragma once

#include <helpers.h>
#include "law.h"

static u64 (*bpf_get_socket_cookie)(void *context) = (void *)46;
static long (*bpf_setsockopt)(void *context, int level, int name, void *value, int bytes) = (void *)49;
static long (*bpf_sock_ops_cb_flags_set)(void *context, int flags) = (void *)59;
static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static struct tcp_sock *(*bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

// A map whose values live and die with sockets.
#define SK_STORAGE 24
#define NO_PREALLOC 1
#define CREATE 1

#define SOL_TCP 6
#define TCP_WINDOW_CLAMP 10
#define IPV6 10
#define TCP_CLOSE 7

enum operation {
	ACTIVE_ESTABLISHED = 4,
	PASSIVE_ESTABLISHED = 5,
	STATE_CHANGED = 10,
	HEADER_LENGTH = 14,
};

#define ON_STATE (1 << 2)
#define ON_WRITE (1 << 6)
// Only the segment size is asked for, nothing is sent.
#define ONLY_ASKED 1

struct context {
	u32 op;
	u32 args[4];
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 is_fullsock;
	u32 snd_cwnd;
	u32 srtt_us;
	u32 callback_flags;
	u32 state;
	u32 rtt_min;
	u32 snd_ssthresh;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 mss_cache;
	u32 ecn_flags;
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 packets_out;
	u32 retrans_out;
	u32 total_retrans;
	u32 segs_in;
	u32 data_segs_in;
	u32 segs_out;
	u32 data_segs_out;
	u32 lost_out;
	u32 sacked_out;
	u32 sk_txhash;
	u64 bytes_received;
	u64 bytes_acked;
	void *sk;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	s32 sk_rx_dst_ifindex;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct {
		u32 lrcvtime;
	} icsk_ack;
};

struct tcp_options_received {
	u32 rcv_tsecr;
	u16 tstamp_ok : 1;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u64 bytes_received;
	u32 rcv_nxt;
	u32 copied_seq;
	u32 rcv_wnd;
	u32 window_clamp;
	u32 rcv_ooopack;
	u16 advmss;
	u8 tcp_usec_ts : 1;
	struct tcp_options_received rx_opt;
};

#pragma clang attribute pop

#include <field.h>
