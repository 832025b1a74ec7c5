// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// DRWA: the receiver keeps the round-trip time within a multiple of the least one it has seen.
//
// References: Jiang, Wang, Lee and Rhee, "Tackling Bufferbloat in 3G/4G Networks", IMC 2012, section 5. Where we differ is
// told in crates/unbloat-tcp/src/receive_window/drwa.rs.
#pragma once

#include "law.h"

#define MIN_SEGMENTS 4
#define DIP_DIVISOR 8
#define SETTLING 3
#define ROUNDS_PER_DIP 32

INLINE void drwa_start(struct drwa *drwa, const struct params *params)
{
	*drwa = (struct drwa){
		.min_rtt_us = {NONE, NONE},
		.window = min(params->initial, params->max),
	};
}

INLINE u64 drwa_rtt_us(const struct drwa *drwa)
{
	return drwa->rtt_us8 >> 3;
}

INLINE u64 drwa_least_us(const struct drwa *drwa)
{
	return min(drwa->min_rtt_us[0], drwa->min_rtt_us[1]);
}

INLINE void drwa_begin_round(struct drwa *drwa, const struct view *view)
{
	drwa->since_us = view->now_us;
	drwa->since_read = view->read;
}

INLINE void drwa_estimate(struct drwa *drwa, const struct params *params, u64 data)
{
	u64 old = drwa->cwnd_estimate;
	int is_short = 16 * drwa_rtt_us(drwa) < (8 + (u64)params->lambda_eighths) * drwa_least_us(drwa);
	u64 alpha = min(params->alpha_eighths, 8u);

	if (!old || (params->is_eager && is_short && data > old))
		drwa->cwnd_estimate = data;
	else
		drwa->cwnd_estimate = (alpha * old + (8 - alpha) * data) / 8;
}

INLINE void drwa_offer(struct drwa *drwa, const struct params *params, const struct view *view, u64 window)
{
	u64 least = MIN_SEGMENTS * (u64)view->mss;
	u64 most = min(params->max, LARGEST);

	window = max(window, least);
	drwa->window = min(window, most);
}

// What a sender with that estimate may have under way while the round-trip time is the least.
INLINE u64 drwa_scaled(const struct drwa *drwa, const struct params *params)
{
	u64 scaled = params->lambda_eighths * drwa->cwnd_estimate / 8;

	return min(scaled, 1ull << 36);
}

INLINE void drwa_begin_dip(struct drwa *drwa, const struct params *params, const struct view *view)
{
	u64 rtt_us = drwa_rtt_us(drwa);

	if (drwa->min_rtt_us[0] != NONE) {
		drwa->min_rtt_us[1] = drwa->min_rtt_us[0];
		drwa->min_rtt_us[0] = NONE;
	}
	drwa->rtt_before_dip_us = rtt_us;
	drwa->dip_end_us = view->now_us + rtt_us + rtt_us / 2;
	drwa->dips++;
	drwa_offer(drwa, params, view, drwa->cwnd_estimate / DIP_DIVISOR);
}

// Without a queue, a window that is smaller by as much keeps the same rate.
INLINE void drwa_end_dip(struct drwa *drwa, const struct params *params, const struct view *view)
{
	u64 least = min(drwa_least_us(drwa), drwa->rtt_before_dip_us);

	drwa->dip_end_us = 0;
	drwa->cwnd_estimate = drwa->cwnd_estimate * least / drwa->rtt_before_dip_us;
	drwa->rtt_us8 = 8 * least;
	drwa_offer(drwa, params, view, drwa_scaled(drwa, params));
	drwa->settled_us = view->now_us + SETTLING * least;
	drwa_begin_round(drwa, view);
}

// A dip costs about two of the least round-trip times: on long paths each second one is left out.
INLINE u64 drwa_period(const struct drwa *drwa, u64 every_us)
{
	return every_us < ROUNDS_PER_DIP * drwa_rtt_us(drwa) ? 2 * every_us : every_us;
}

// Whether a dip is under way, so that there is nothing else to do.
INLINE int drwa_dips(struct drwa *drwa, const struct params *params, const struct view *view)
{
	u64 every = params->dip_every_us;
	int is_due;

	if (!every)
		return 0;
	if (drwa->dip_end_us) {
		if (view->now_us >= drwa->dip_end_us)
			drwa_end_dip(drwa, params, view);
		return 1;
	}
	if (drwa->next_dip_us && view->now_us < drwa->next_dip_us)
		return 0;
	is_due = drwa->next_dip_us && drwa->cwnd_estimate;
	every = drwa_period(drwa, every);
	drwa->next_dip_us = (view->now_us / every + 1) * every;
	if (is_due)
		drwa_begin_dip(drwa, params, view);
	return is_due;
}

// A segment has arrived.
INLINE void drwa_on_segment(struct drwa *drwa, const struct view *view)
{
	u32 rtt_us = min(view->rtt_us, LONGEST_RTT_US);

	if (!rtt_us)
		return;
	if (drwa->rtt_us8)
		drwa->rtt_us8 += rtt_us - (drwa->rtt_us8 >> 3);
	else
		drwa->rtt_us8 = 8 * (u64)rtt_us;
	drwa->min_rtt_us[0] = min(drwa->min_rtt_us[0], rtt_us);
}

// The application has read.
INLINE void drwa_on_read(struct drwa *drwa, const struct params *params, const struct view *view)
{
	u64 rtt_us = drwa_rtt_us(drwa);
	u64 data, window;

	if (!drwa->since_us || view->now_us < drwa->settled_us) {
		drwa_begin_round(drwa, view);
		return;
	}
	if (!rtt_us || drwa_dips(drwa, params, view) || view->now_us - drwa->since_us < rtt_us)
		return;
	data = view->read - drwa->since_read;
	drwa_estimate(drwa, params, min(data, LARGEST));
	window = drwa_scaled(drwa, params) * drwa_least_us(drwa) / rtt_us;
	drwa_offer(drwa, params, view, window + params->extra_segments * (u64)view->mss);
	drwa_begin_round(drwa, view);
}
