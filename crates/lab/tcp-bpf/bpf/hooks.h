// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// How the functions of a control are called: `ON_SSTHRESH(tp) { ... }` is the member `ssthresh` of
// `tcp_congestion_ops`. There are three callers:
//
// - the kernel's TCP: each function is a BPF program (struct_ops) of the member's name,
// - a replay in the kernel (REPLAY): each is a program that can be run at will, on a socket of its own,
// - a replay outside (no BPF): each is a function of a shared library.
//
// The last two are replay.h's.
#pragma once

#include "socket.h"

#if defined(__bpf__) && !defined(REPLAY)

// Ticks a second of the kernel's coarse clock: the loader fills it in.
const volatile u32 hz = 250;

INLINE u32 jiffies(void)
{
	u64 (*bpf_jiffies64)(void) = (void *)118;

	return bpf_jiffies64();
}

// What a hook is given: the arguments of the member of tcp_congestion_ops.
#define CONTEXT u64 *context
#define SOCKET ((struct tcp_sock *)context[0])
#define FIRST context[1]
#define SECOND context[2]
#define SAMPLE ((const struct ack_sample *)context[1])
#define ENTER
#define LEAVE
#define RESULT_void
#define RESULT_u32 u32 result =
#define RETURN_void
#define RETURN_u32 return result;
#define RETURNS(type) type

#else
#include "replay.h"
#endif

#define HOOK(type, name, arguments, parameters)                                                    \
	INLINE type do_##name parameters;                                                          \
	PROGRAM RETURNS(type) name(CONTEXT)                                                        \
	{                                                                                          \
		ENTER RESULT_##type do_##name arguments;                                           \
		LEAVE RETURN_##type                                                                \
	}                                                                                          \
	INLINE type do_##name parameters

// The control is chosen for a flow; its state is all zeros.
#define ON_INIT(tp) HOOK(void, init, (SOCKET), (struct tcp_sock * tp))
// The threshold after congestion.
#define ON_SSTHRESH(tp) HOOK(u32, ssthresh, (SOCKET), (struct tcp_sock * tp))
// Grows the window after segments were delivered.
#define ON_CONG_AVOID(tp, acked)                                                                   \
	HOOK(void, cong_avoid, (SOCKET, SECOND), (struct tcp_sock * tp, u32 acked))
// Recovery is about to enter a state.
#define ON_SET_STATE(tp, state) HOOK(void, set_state, (SOCKET, FIRST), (struct tcp_sock * tp, u8 state))
#define ON_CWND_EVENT(tp, event)                                                                   \
	HOOK(void, cwnd_event, (SOCKET, FIRST), (struct tcp_sock * tp, u32 event))
// An acknowledgement has come.
#define ON_IN_ACK_EVENT(tp, flags)                                                                 \
	HOOK(void, in_ack_event, (SOCKET, FIRST), (struct tcp_sock * tp, u32 flags))
// It took segments off the queue.
#define ON_PKTS_ACKED(tp, sample)                                                                  \
	HOOK(void, pkts_acked, (SOCKET, SAMPLE),                                                   \
	     (struct tcp_sock * tp, const struct ack_sample *sample))
// The window after a reduction that turned out not to be needed.
#define ON_UNDO_CWND(tp) HOOK(u32, undo_cwnd, (SOCKET), (struct tcp_sock * tp))
