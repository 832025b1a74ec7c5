// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// rLEDBAT: the receiver of a background transfer yields by its window.
//
// References: RFC 9840 with the control of LEDBAT++. Where we differ is told in crates/model/tcp/src/ledbat.rs and
// receive_window/rledbat.rs beside it.
#pragma once

#include "law.h"

#define FRACTION 10
#define MINUTES 10
#define MINUTE_US 60000000ull
#define FILTER 4
#define MAX_DIVISOR 16
#define SLOW_SEGMENTS 2
#define SLOWDOWN_RATIO 9
#define INFINITE_SSTHRESH 0x7fffffff

enum slowdown { WAITING, AT, SMALL, GROWING };

struct rledbat {
	u64 window;
	u64 threshold;
	u64 mss;
	u64 minute_end_us;
	// Of the slowdown: when it is due or began, and when the window may grow again.
	u64 slow_us;
	u64 slow_until_us;
	u64 reduced_until_us;
	u64 round_us;
	u64 round_received;
	u32 base[MINUTES];
	u32 recent[FILTER];
	u32 minute;
	u32 samples;
	u32 slowdown;
	u32 is_used;
	u32 rtt_us8;
	u32 zero;
};

INLINE void rledbat_start(struct rledbat *self, const struct params *params, u32 mss)
{
	*self = (struct rledbat){
		.window = (u64)params->initial << FRACTION,
		.threshold = INFINITE_SSTHRESH,
		.mss = mss,
		.base = {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE},
		.recent = {NONE, NONE, NONE, NONE},
		.slowdown = WAITING,
		.is_used = 1,
	};
}

// Bytes, at least two segments.
INLINE u64 rledbat_bytes(const struct rledbat *self)
{
	u64 window = self->window >> FRACTION;
	u64 least = SLOW_SEGMENTS * self->mss;

	return max(window, least);
}

// What flow control allows of it.
INLINE u32 rledbat_window(const struct rledbat *self, const struct params *params)
{
	u64 window = rledbat_bytes(self);
	u64 most = min(params->max, LARGEST);

	return min(window, most);
}

INLINE u64 rledbat_base_us(const struct rledbat *self)
{
	u32 least = NONE;

	for (u32 n = 0; n < MINUTES; n++)
		least = min(least, self->base[n]);
	return least;
}

INLINE u64 rledbat_current_us(const struct rledbat *self)
{
	u32 least = NONE;

	for (u32 n = 0; n < FILTER; n++)
		least = min(least, self->recent[n]);
	return least;
}

INLINE u64 rledbat_queueing_us(const struct rledbat *self)
{
	u64 base = rledbat_base_us(self);
	u64 current = rledbat_current_us(self);

	return current > base ? current - base : 0;
}

INLINE u64 rledbat_target_us(const struct params *params)
{
	return max(params->target_us, 1u);
}

// What the gain is divided by: long paths grow like Reno, short ones more slowly.
INLINE u64 rledbat_divisor(const struct rledbat *self, const struct params *params)
{
	u64 base = max(rledbat_base_us(self), 1ull);
	u64 divisor = (2 * rledbat_target_us(params) + base - 1) / base;

	divisor = max(divisor, 1ull);
	return min(divisor, (u64)MAX_DIVISOR);
}

INLINE void rledbat_sample(struct rledbat *self, u64 now_us, u32 rtt_us)
{
	u32 minute = self->minute;

	self->recent[self->samples % FILTER] = rtt_us;
	self->samples++;
	if (now_us >= self->minute_end_us) {
		self->minute_end_us = now_us + MINUTE_US;
		minute++;
	}
	// Not by a remainder: the kernel takes one for unbounded and refuses the program.
	if (minute >= MINUTES)
		minute = 0;
	if (minute != self->minute)
		self->base[minute] = rtt_us;
	self->minute = minute;
	self->base[minute] = min(self->base[minute], rtt_us);
}

INLINE void rledbat_slow_start(struct rledbat *self, const struct params *params, u64 now_us, u64 bytes)
{
	int is_initial = self->slowdown == WAITING;
	u64 most;

	if (is_initial && rledbat_queueing_us(self) > rledbat_target_us(params) * 3 / 4)
		self->threshold = self->window >> FRACTION;
	else if (self->is_used)
		self->window += (bytes << FRACTION) / rledbat_divisor(self, params);
	if (self->window >> FRACTION < self->threshold)
		return;
	most = max(self->threshold, 1ull) << FRACTION;
	self->window = min(self->window, most);
	if (self->slowdown == WAITING) {
		self->slowdown = AT;
		self->slow_us = now_us + 2 * rledbat_current_us(self);
	} else if (self->slowdown == GROWING) {
		self->slowdown = AT;
		self->slow_us = now_us + SLOWDOWN_RATIO * (now_us - self->slow_us);
	}
}

INLINE void rledbat_avoid(struct rledbat *self, const struct params *params, u64 window, u64 bytes)
{
	u64 queueing = rledbat_queueing_us(self);
	u64 target = rledbat_target_us(params);
	u64 share = (bytes << FRACTION) / window;
	u64 gain = self->mss / rledbat_divisor(self, params);
	u64 excess, down, half;

	if (queueing < target) {
		if (self->is_used)
			self->window += gain * share;
		return;
	}
	// A round changes the window by the gain less its excess over the target, at most by half.
	excess = window * (queueing - target) / target;
	down = excess > gain ? excess - gain : 0;
	half = window / 2;
	down = min(down, half) * share;
	self->window = self->window > down ? self->window - down : 0;
	if (gain > excess)
		self->window += (gain - excess) * share;
}

INLINE void rledbat_step_slowdown(struct rledbat *self, const struct params *params, u64 now_us)
{
	if (self->slowdown == AT && params->slows_down && now_us >= self->slow_us) {
		self->threshold = self->window >> FRACTION;
		self->window = (SLOW_SEGMENTS * self->mss) << FRACTION;
		self->slow_us = now_us;
		self->slow_until_us = now_us + 2 * rledbat_current_us(self);
		self->slowdown = SMALL;
	} else if (self->slowdown == SMALL && now_us >= self->slow_until_us) {
		self->slowdown = GROWING;
	}
}

INLINE void rledbat_delivered(struct rledbat *self, const struct params *params, u64 now_us, u64 bytes)
{
	u64 window, least = (SLOW_SEGMENTS * self->mss) << FRACTION;

	if (!self->samples)
		return;
	rledbat_step_slowdown(self, params, now_us);
	if (self->slowdown == SMALL)
		return;
	window = self->window >> FRACTION;
	if (window < self->threshold) {
		rledbat_slow_start(self, params, now_us, bytes);
	} else {
		rledbat_avoid(self, params, max(window, 1ull), bytes);
		// What is given up is not for slow start to take back.
		window = self->window >> FRACTION;
		self->threshold = min(self->threshold, window);
	}
	self->window = max(self->window, least);
}

// Halves the window, once a round.
INLINE void rledbat_lost(struct rledbat *self, u64 now_us)
{
	u64 rtt = self->samples ? rledbat_current_us(self) : 0;

	if (now_us < self->reduced_until_us)
		return;
	self->reduced_until_us = now_us + rtt;
	self->window /= 2;
	self->threshold = self->window >> FRACTION;
	if (self->slowdown == WAITING) {
		self->slowdown = AT;
		self->slow_us = now_us + 2 * rtt;
	}
}

// Whether the window limits what is sent: half of it arrives in a round.
INLINE void rledbat_judge_use(struct rledbat *self, const struct params *params, const struct view *view)
{
	u64 round = self->rtt_us8 >> 3;

	if (!round || view->now_us - self->round_us < round)
		return;
	self->is_used = 2 * (view->received - self->round_received) >= rledbat_window(self, params);
	self->round_us = view->now_us;
	self->round_received = view->received;
}

// `bytes` have arrived; or there was a sign that some were lost.
INLINE void rledbat_on_segment(struct rledbat *self, const struct params *params, const struct view *view, u64 bytes,
			       int is_loss)
{
	rledbat_judge_use(self, params, view);
	if (view->rtt_us) {
		u32 rtt_us = min(view->rtt_us, LONGEST_RTT_US);

		rledbat_sample(self, view->now_us, rtt_us);
		self->rtt_us8 = self->rtt_us8 ? self->rtt_us8 - (self->rtt_us8 >> 3) + rtt_us : 8 * rtt_us;
	}
	if (is_loss)
		rledbat_lost(self, view->now_us);
	else
		rledbat_delivered(self, params, view->now_us, min(bytes, LARGEST));
}
