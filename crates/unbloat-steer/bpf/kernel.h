// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is used of the kernel: its helpers by their numbers (linux/bpf.h), and of its structures only the members that are
// read, by the kernel's names. Where they lie in the running kernel is found out when the programs are loaded (CO-RE).
#pragma once

#define INLINE static __attribute__((always_inline, unused)) inline
#define SECTION(name) __attribute__((section(name), used))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static long (*bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 bytes) = (void *)26;
static long (*bpf_probe_read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static long (*bpf_ringbuf_output)(void *ring, void *data, u64 bytes, u64 flags) = (void *)130;

#define PERCPU_ARRAY 6
#define LRU_HASH 9
#define RINGBUF 27
// Leave alone what is there.
#define NOEXIST 1
#define NO_WAKEUP 1

// A map as the loader reads it: pointers' types and arrays' lengths carry what it is told.
#define MAP(name, kind, entries, key_type, value_type)                                             \
	struct {                                                                                   \
		int (*type)[kind];                                                                 \
		int (*max_entries)[entries];                                                       \
		key_type *key;                                                                     \
		value_type *value;                                                                 \
	} name SECTION(".maps")

#define RING(name, bytes)                                                                          \
	struct {                                                                                   \
		int (*type)[RINGBUF];                                                              \
		int (*max_entries)[bytes];                                                         \
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
