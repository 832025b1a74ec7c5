// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is used of the kernel: its helpers by their numbers (linux/bpf.h), and of its structures only the members that are
// read, by the kernel's names. Where they lie in the running kernel is found out when the programs are loaded (CO-RE).
#pragma once

#include "law.h"

#define SECTION(name) __attribute__((section(name), used))

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;

#define ARRAY 2
#define LRU_HASH 9

// A map as the loader reads it: pointers' types and arrays' lengths carry what it is told.
#define MAP(name, kind, entries, key_type, value_type)                                             \
	struct {                                                                                   \
		int (*type)[kind];                                                                 \
		int (*max_entries)[entries];                                                       \
		key_type *key;                                                                     \
		value_type *value;                                                                 \
	} name SECTION(".maps")
