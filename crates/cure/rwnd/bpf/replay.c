// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The laws as a library of this machine, for tests.
#include "drwa.h"
#include "rledbat.h"

struct both {
	struct drwa drwa;
	struct rledbat rledbat;
};

u64 state_bytes(void);
u64 state_bytes(void)
{
	return sizeof(struct both);
}

void start(struct both *both, const struct params *params, u32 mss);
void start(struct both *both, const struct params *params, u32 mss)
{
	drwa_start(&both->drwa, params);
	rledbat_start(&both->rledbat, params, mss);
}

u32 on_segment(struct both *both, const struct params *params, const struct view *view, u64 bytes, int is_loss);
u32 on_segment(struct both *both, const struct params *params, const struct view *view, u64 bytes, int is_loss)
{
	if (params->policy == RLEDBAT) {
		rledbat_on_segment(&both->rledbat, params, view, bytes, is_loss);
		return rledbat_window(&both->rledbat, params);
	}
	drwa_on_segment(&both->drwa, view);
	return both->drwa.window;
}

u32 on_read(struct both *both, const struct params *params, const struct view *view);
u32 on_read(struct both *both, const struct params *params, const struct view *view)
{
	if (params->policy == RLEDBAT)
		return rledbat_window(&both->rledbat, params);
	drwa_on_read(&both->drwa, params, view);
	return both->drwa.window;
}
