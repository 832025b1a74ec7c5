// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is used of the kernel: its helpers by their numbers (linux/bpf.h), and of its structures only the members that are
// read, by the kernel's names. Where they lie in the running kernel is found out when the programs are loaded (CO-RE).
#pragma once

#include <device.h>
#include <helpers.h>

static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static long (*bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 bytes) = (void *)26;
static long (*bpf_ringbuf_output)(void *ring, void *data, u64 bytes, u64 flags) = (void *)130;

#define NO_WAKEUP 1

// As MAP is read.
#define RING(name, bytes)                                                                          \
	struct {                                                                                   \
		int (*type)[RINGBUF];                                                              \
		int (*max_entries)[bytes];                                                         \
	} name SECTION(".maps")

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sk_buff {
	u32 len;
	u32 data_len;
	u16 vlan_proto;
	u8 *data;
};

#pragma clang attribute pop

// What programs of tc are given (struct __sk_buff of linux/bpf.h).
struct tc_packet {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
};
