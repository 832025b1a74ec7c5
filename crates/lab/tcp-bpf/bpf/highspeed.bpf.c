// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// HighSpeed TCP: growth and reduction by the size of the window.
//
// References: RFC 3649, appendix B (the table); Linux 6.12 net/ipv4/tcp_highspeed.c, whose fixed-point
// form of the table is followed. Step by step equal to crates/model/tcp/src/congestion/hstcp.rs.
//
// Where we differ from Linux: BPF may not lower the clamp of the window, so that the reduction is
// computed in 64 bits instead; they are the same for every window that Linux allows.
#include "window.h"

// Up to this window, the reduction in 1/256. Growth is the number of the row, from one.
static const struct {
	u32 cwnd;
	u32 reduction;
} TABLE[] = {
	{38, 128}, {118, 112}, {221, 104}, {347, 98},
	{495, 93}, {663, 89}, {851, 86}, {1058, 83},
	{1284, 81}, {1529, 78}, {1793, 76}, {2076, 74},
	{2378, 72}, {2699, 71}, {3039, 69}, {3399, 68},
	{3778, 66}, {4177, 65}, {4596, 64}, {5036, 62},
	{5497, 61}, {5979, 60}, {6483, 59}, {7009, 58},
	{7558, 57}, {8130, 56}, {8726, 55}, {9346, 54},
	{9991, 53}, {10661, 52}, {11358, 52}, {12082, 51},
	{12834, 50}, {13614, 49}, {14424, 48}, {15265, 48},
	{16137, 47}, {17042, 46}, {17981, 45}, {18955, 45},
	{19965, 44}, {21013, 43}, {22101, 43}, {23230, 42},
	{24402, 41}, {25618, 41}, {26881, 40}, {28193, 39},
	{29557, 39}, {30975, 38}, {32450, 38}, {33986, 37},
	{35586, 36}, {37253, 36}, {38992, 35}, {40808, 35},
	{42707, 34}, {44694, 33}, {46776, 33}, {48961, 32},
	{51258, 32}, {53677, 31}, {56230, 30}, {58932, 30},
	{61799, 29}, {64851, 28}, {68113, 28}, {71617, 27},
	{75401, 26}, {79517, 26}, {84035, 25}, {89053, 24},
};
#define ROWS (sizeof(TABLE) / sizeof(TABLE[0]))

struct highspeed {
	u32 row;
};

// The first row that reaches up to the window, or the last. Linux walks there from the row before; the
// verifier of BPF programs rather follows a search from the beginning.
INLINE u32 find_row(u32 cwnd)
{
	u32 row = 0;

	for (u32 step = 64; step; step /= 2) {
		if (row + step < ROWS && cwnd > TABLE[row + step - 1].cwnd)
			row += step;
	}
	return row;
}

ON_SSTHRESH(tp)
{
	struct highspeed *highspeed = STATE(struct highspeed, tp);
	u32 cwnd = tp->snd_cwnd;
	u32 row = highspeed->row;
	u32 reduction = row < ROWS ? TABLE[row].reduction : 0;

	return max(cwnd - (u32)((u64)cwnd * reduction >> 8), 2u);
}

ON_CONG_AVOID(tp, acked)
{
	struct highspeed *highspeed = STATE(struct highspeed, tp);
	u32 cwnd = tp->snd_cwnd;

	if (!is_limited_by_cwnd(tp))
		return;
	if (is_in_slow_start(tp)) {
		slow_start(tp, acked);
		return;
	}
	highspeed->row = find_row(cwnd);
	if (cwnd < tp->snd_cwnd_clamp) {
		u32 count = tp->snd_cwnd_cnt + highspeed->row + 1;

		if (count >= cwnd) {
			count -= cwnd;
			tp->snd_cwnd = cwnd + 1;
		}
		tp->snd_cwnd_cnt = count;
	}
}

ON_UNDO_CWND(tp)
{
	return prior_window(tp);
}
