// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Laws of a receive window: what is told to them, and what they keep. Step by step equal to
// crates/model/tcp/src/receive_window/, which says what they follow and where they differ. Compiled for the kernel
// and, by a test, for this machine.
#pragma once

#include <types.h>

#define NONE 0xffffffffu
// No round takes longer; keeps products within 64 bits.
#define LONGEST_RTT_US 60000000u
#define LARGEST (1u << 30)

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

enum policy { DRWA, RLEDBAT };

// src/law.rs has the same members in the same order, as it has those of all structures below.
struct params {
	u32 policy;
	u32 lambda_eighths;
	u16 lambda_unfilled_eighths;
	u16 alpha_eighths;
	u16 is_eager;
	u16 extra_segments;
	u64 dip_every_us;
	u32 initial;
	u32 max;
	// rLEDBAT's.
	u32 target_us;
	u32 slows_down;
};

// What is known of a receiver. Bytes are counted from its beginning.
struct view {
	u64 now_us;
	u64 received;
	u64 read;
	u32 mss;
	// A new sample of the round-trip time; zero without one.
	u32 rtt_us;
};

struct drwa {
	u64 cwnd_estimate;
	u64 rtt_us8;
	u64 since_us;
	u64 since_read;
	u64 edge;
	u64 allowed;
	u64 filled;
	u64 next_dip_us;
	u64 seen_from_us;
	u64 dip_end_us;
	u64 rtt_before_dip_us;
	u64 least_before_dip_us;
	u64 settled_us;
	u32 min_rtt_us[2];
	u32 seen_us;
	u32 is_early;
	u32 window;
	u32 dips;
};
