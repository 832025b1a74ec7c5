// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is used of the kernel: its helpers by their numbers (linux/bpf.h), and of its structures only the
// members that are read, by the kernel's names. Where they lie in the running kernel is found out when
// the programs are loaded (CO-RE), so no header of any kernel is needed.
#pragma once

#define INLINE static __attribute__((always_inline, unused)) inline
#define SECTION(name) __attribute__((section(name), used))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_probe_read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;

#define HASH 1
#define ARRAY 2
#define LRU_HASH 9
#define LRU_PERCPU_HASH 10
// Leave alone what is there.
#define NOEXIST 1

// A map as the loader reads it: pointers' types and arrays' lengths carry what it is told.
#define MAP(name, kind, entries, key_type, value_type)                                             \
	struct {                                                                                   \
		int (*type)[kind];                                                                 \
		int (*max_entries)[entries];                                                       \
		key_type *key;                                                                     \
		value_type *value;                                                                 \
	} name SECTION(".maps")

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	u32 ifindex;
	possible_net_t nd_net;
};

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

#include "../../../bpf/field.h"
