// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The kernel's helpers by their numbers (linux/bpf.h), and maps, for programs of all crates.
#pragma once

#include "types.h"

#define SECTION(name) __attribute__((section(name), used))

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_probe_read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;

#define HASH 1
#define ARRAY 2
#define PERCPU_ARRAY 6
#define LRU_HASH 9
#define LRU_PERCPU_HASH 10
#define RINGBUF 27
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
