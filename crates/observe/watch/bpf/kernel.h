// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is used of the kernel: its helpers by their numbers (linux/bpf.h), and of its structures only the
// members that are read, by the kernel's names. Where they lie in the running kernel is found out when
// the programs are loaded (CO-RE), so no header of any kernel is needed.
#pragma once

#include <device.h>
#include <helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock;

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	s64 tstamp;
	u32 len;
	u32 data_len;
	u16 network_header;
	u32 end;
	u8 *head;
	u8 *data;
	// Linux 6.10 and newer: which clock `tstamp` is of.
	u8 tstamp_type : 2;
};

// Linux 5.18 to 6.9: whether `tstamp` is of the monotonic clock.
struct sk_buff___old {
	u8 mono_delivery_time : 1;
};

struct skb_shared_info {
	u16 gso_size;
};

struct tcp_sock {
	u32 snd_nxt;
	u32 packets_out;
	u32 total_retrans;
};

#pragma clang attribute pop

static struct tcp_sock *(*bpf_skc_to_tcp_sock)(const struct sock *socket) = (void *)137;

#include <field.h>
