// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// DRWA: the receiver keeps the round-trip time within a multiple of the least one it has seen.
//
// References: Jiang, Wang, Lee and Rhee, "Tackling Bufferbloat in 3G/4G Networks", IMC 2012, section 5. Where we differ is
// told in crates/model/tcp/src/receive_window/drwa.rs.
#pragma once

#include "law.h"

#define MIN_SEGMENTS 4
#define SHALLOW_QUARTERS 3
#define EARLY_QUARTERS 5
#define DEEP_DIVISOR 8
#define LATE_QUARTERS 3
#define LONGEST_DIP 4
#define ALIKE 8
#define SETTLING 3
#define ROUNDS_PER_DIP 32
#define WHOLE 4096
#define FILLED (WHOLE * 3 / 4)

INLINE void drwa_start(struct drwa *drwa, const struct params *params)
{
	*drwa = (struct drwa){
		.min_rtt_us = {NONE, NONE},
		.seen_us = NONE,
		.filled = WHOLE,
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
	drwa->edge = max(drwa->edge, view->read + drwa->window);
	drwa->allowed = drwa->edge - view->read;
}

INLINE void drwa_judge_use(struct drwa *drwa, u64 data)
{
	u64 share;

	if (!drwa->allowed)
		return;
	share = data * WHOLE / drwa->allowed;
	drwa->filled = (15 * drwa->filled + min(share, (u64)WHOLE)) / 16;
}

INLINE u64 drwa_lambda_eighths(const struct drwa *drwa, const struct params *params)
{
	u32 unfilled = params->lambda_unfilled_eighths;

	return drwa->filled < FILLED ? max(unfilled, params->lambda_eighths) : params->lambda_eighths;
}

INLINE void drwa_estimate(struct drwa *drwa, const struct params *params, u64 data)
{
	u64 old = drwa->cwnd_estimate;
	int is_short = 16 * drwa_rtt_us(drwa) < (8 + drwa_lambda_eighths(drwa, params)) * drwa_least_us(drwa);
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
	u64 scaled = drwa_lambda_eighths(drwa, params) * drwa->cwnd_estimate / 8;

	return min(scaled, 1ull << 36);
}

// Whether a round-trip time was seen that makes a dip needless. The first one is not: who began on a queue knows nothing better.
INLINE int drwa_is_floor(const struct drwa *drwa, u32 seen_us)
{
	u64 least_us = drwa_least_us(drwa);

	return drwa->min_rtt_us[1] != NONE && seen_us <= least_us + least_us / ALIKE;
}

INLINE u64 drwa_dip_lasts_us(const struct drwa *drwa, u64 quarters)
{
	return min(drwa->rtt_before_dip_us, LONGEST_DIP * drwa->least_before_dip_us) * quarters / 4;
}

// By the round-trip times that were known before the dip.
INLINE u64 drwa_path_holds(const struct drwa *drwa)
{
	return drwa->cwnd_estimate * min(drwa->least_before_dip_us, drwa->rtt_before_dip_us) / drwa->rtt_before_dip_us;
}

INLINE void drwa_begin_dip(struct drwa *drwa, const struct params *params, const struct view *view)
{
	int is_first = drwa->min_rtt_us[1] == NONE;

	drwa->rtt_before_dip_us = drwa_rtt_us(drwa);
	drwa->least_before_dip_us = drwa_least_us(drwa);
	if (drwa->min_rtt_us[0] != NONE) {
		drwa->min_rtt_us[1] = drwa->min_rtt_us[0];
		drwa->min_rtt_us[0] = NONE;
	}
	drwa->is_early = 1;
	drwa->dip_end_us = view->now_us + drwa_dip_lasts_us(drwa, EARLY_QUARTERS);
	drwa->dips++;
	drwa_offer(drwa, params, view,
		   is_first ? drwa->cwnd_estimate / DEEP_DIVISOR : drwa_path_holds(drwa) * SHALLOW_QUARTERS / 4);
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

INLINE void drwa_go_on_with_dip(struct drwa *drwa, const struct params *params, const struct view *view)
{
	u64 found_us = drwa->min_rtt_us[0];
	u64 known_us = drwa->least_before_dip_us;
	u64 off_us = found_us > known_us ? found_us - known_us : known_us - found_us;

	if (!drwa->is_early) {
		drwa_end_dip(drwa, params, view);
		return;
	}
	drwa->is_early = 0;
	drwa->dip_end_us = view->now_us + drwa_dip_lasts_us(drwa, LATE_QUARTERS);
	drwa_offer(drwa, params, view,
		   off_us <= known_us / ALIKE ? drwa_path_holds(drwa) : drwa->cwnd_estimate / DEEP_DIVISOR);
}

// A deep dip costs about a round-trip time: on long paths each second one is left out.
INLINE u64 drwa_period(const struct drwa *drwa, u64 every_us)
{
	return every_us < ROUNDS_PER_DIP * drwa_rtt_us(drwa) ? 2 * every_us : every_us;
}

// Whether a dip is under way, so that there is nothing else to do.
INLINE int drwa_dips(struct drwa *drwa, const struct params *params, const struct view *view)
{
	u64 every = params->dip_every_us;
	u32 seen_us;
	int is_due;

	if (!every)
		return 0;
	if (drwa->dip_end_us) {
		if (view->now_us >= drwa->dip_end_us)
			drwa_go_on_with_dip(drwa, params, view);
		return 1;
	}
	if (drwa->next_dip_us && view->now_us < drwa->next_dip_us)
		return 0;
	is_due = drwa->next_dip_us && drwa->cwnd_estimate;
	every = drwa_period(drwa, every);
	drwa->next_dip_us = (view->now_us / every + 1) * every;
	drwa->seen_from_us = drwa->next_dip_us - every / 2;
	seen_us = drwa->seen_us;
	drwa->seen_us = NONE;
	if (!is_due)
		return 0;
	if (drwa_is_floor(drwa, seen_us)) {
		drwa->min_rtt_us[1] = drwa->min_rtt_us[0];
		drwa->min_rtt_us[0] = seen_us;
		return 0;
	}
	drwa_begin_dip(drwa, params, view);
	return 1;
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
	if (!drwa->dip_end_us && view->now_us >= drwa->settled_us && view->now_us >= drwa->seen_from_us)
		drwa->seen_us = min(drwa->seen_us, rtt_us);
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
	data = min(data, LARGEST);
	drwa_judge_use(drwa, data);
	drwa_estimate(drwa, params, data);
	window = drwa_scaled(drwa, params) * drwa_least_us(drwa) / rtt_us;
	drwa_offer(drwa, params, view, window + params->extra_segments * (u64)view->mss);
	drwa_begin_round(drwa, view);
}
