// Loaded into the guest's kernel process (LD_PRELOAD). Seven things that User Mode Linux of 6.12 lacks:
//
// 1. It saves struct _xstate (832 bytes) of a process, but PTRACE_SETREGSET(NT_X86_XSTATE) of hosts with AVX-512 or AMX
//    takes nothing but the whole XSAVE area. So the whole area is kept here, one for each of the kernel's buffers. What
//    a process still has is not set again: of the five requests that a system call costs, one is saved.
// 2. Processes of the guest shall die with the kernel (PTRACE_O_EXITKILL), and the kernel with the thread that started
//    it (PR_SET_PDEATHSIG), so that nothing is left behind, however that ends.
// 3. Randomness comes from a seed ($UNBLOAT_GUEST_SEED): the same run gives the same result.
// 4. The access time of a file is its modification time. Otherwise a read on the host decides whether the guest updates
//    the access time (relatime) and later writes it back, which takes timers of its own.
// 5. It restarts itself without address randomization (ADDR_NO_RANDOMIZE): the gap between the program and its heap is
//    added to the guest's memory, so with a random one each guest has another amount. Where a sandbox refuses it, it
//    goes on with random addresses.
// 6. A crash leaves no core file.
// 7. Whatever happens in it, it writes to nothing of the host but its own folder (the working one) and $TMPDIR, where its
//    memory is: Landlock (Linux 5.13) sees to it. On hosts without it there remain read-only mounts of the guest.
//
// No malloc and no large locals: the kernel calls this on stacks of 16 KiB.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define AREA_BYTES 16384
#define AREAS 4096
#define BUCKETS 1024
#define XSTATE_BV 512 // offset of the header's bitmap of saved components (Intel SDM vol. 1, 13.4.2)

struct area {
  void *buffer; // the kernel's own, as key
  struct area *next;
  size_t used;
  unsigned char bytes[AREA_BYTES];
};
static struct area areas[AREAS], fresh, *buckets[BUCKETS];
static unsigned taken;

static struct area *area_of(void *buffer, int make) {
  struct area **head = &buckets[((uintptr_t)buffer >> 6) % BUCKETS];
  for (struct area *a = *head; a; a = a->next)
    if (a->buffer == buffer) return a;
  if (!make || taken == AREAS) return NULL;
  struct area *a = &areas[taken++];
  a->buffer = buffer;
  a->next = *head;
  return *head = a;
}

// What was last read from a process or written to it, as long as it has not run since. A pair forgotten for another one
// costs a request.
#define PROCESSES 256
static struct {
  long pid;
  struct area *area;
} unchanged[PROCESSES];

static void remember(long pid, struct area *a) {
  unchanged[pid % PROCESSES].pid = pid;
  unchanged[pid % PROCESSES].area = a;
}

static int has_still(long pid, const struct area *a) {
  return unchanged[pid % PROCESSES].pid == pid && unchanged[pid % PROCESSES].area == a;
}

static int lets_run(long request) {
  return request == PTRACE_CONT || request == PTRACE_SYSCALL || request == PTRACE_SYSEMU ||
         request == PTRACE_SINGLESTEP || request == PTRACE_SYSEMU_SINGLESTEP || request == PTRACE_KILL ||
         request == PTRACE_DETACH;
}

static long read_area(long pid, void *set, struct area *a) {
  struct iovec whole = {a->bytes, AREA_BYTES};
  if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, set, &whole) < 0) return -1;
  a->used = whole.iov_len;
  return 0;
}

static long get_registers(long pid, void *set, struct iovec *part) {
  struct area *a = area_of(part->iov_base, 1);
  if (!a) {
    errno = ENOMEM;
    return -1;
  }
  if (read_area(pid, set, a) < 0) return -1;
  remember(pid, a);
  if (part->iov_len > a->used) part->iov_len = a->used;
  memcpy(part->iov_base, a->bytes, part->iov_len);
  return 0;
}

static long set_registers(long pid, void *set, struct iovec *part) {
  struct area *a = area_of(part->iov_base, 0);
  if (!a || !a->used) {
    a = &fresh;
    if (read_area(pid, set, a) < 0) return -1;
  } else if (has_still(pid, a) && part->iov_len <= a->used && !memcmp(a->bytes, part->iov_base, part->iov_len)) {
    return 0;
  }
  // x87, SSE and AVX as the kernel says, what it does not know as it was.
  uint64_t before, now;
  memcpy(&before, a->bytes + XSTATE_BV, sizeof before);
  memcpy(a->bytes, part->iov_base, part->iov_len < a->used ? part->iov_len : a->used);
  memcpy(&now, a->bytes + XSTATE_BV, sizeof now);
  now = (now & 7) | (before & ~(uint64_t)7);
  memcpy(a->bytes + XSTATE_BV, &now, sizeof now);
  struct iovec whole = {a->bytes, a->used};
  remember(pid, NULL);
  return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, set, &whole);
}

long ptrace(enum __ptrace_request request, ...) {
  va_list rest;
  va_start(rest, request);
  long pid = va_arg(rest, pid_t);
  void *address = va_arg(rest, void *), *data = va_arg(rest, void *);
  va_end(rest);
  int is_xstate = (uintptr_t)address == NT_X86_XSTATE;
  if (request == PTRACE_GETREGSET && is_xstate) return get_registers(pid, address, data);
  if (request == PTRACE_SETREGSET && is_xstate) return set_registers(pid, address, data);
  if (lets_run(request)) remember(pid, NULL);
  if (request == PTRACE_SETOPTIONS) data = (void *)((uintptr_t)data | PTRACE_O_EXITKILL);
  if (request < PTRACE_PEEKTEXT || request > PTRACE_PEEKUSER) return syscall(SYS_ptrace, request, pid, address, data);
  long word = 0; // the system call stores what the library's function returns
  if (syscall(SYS_ptrace, request, pid, address, &word) < 0) return -1;
  errno = 0;
  return word;
}

// SplitMix64 (Steele, Lea, Flood 2014)
static uint64_t state;
static uint64_t next_word(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
  (void)flags;
  for (size_t done = 0; done < length; done += 8) {
    uint64_t word = next_word();
    memcpy((char *)buffer + done, &word, length - done < 8 ? length - done : 8);
  }
  return length;
}

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *about) {
  int failed = syscall(SYS_statx, folder, path, flags, mask, about);
  if (!failed) about->stx_atime = about->stx_mtime;
  return failed;
}

// include/uapi/linux/landlock.h, whose older versions lack some of it
#define WRITE_FILE (1 << 1)
#define REMOVE_AND_MAKE (0x1ff << 4)
#define REFER (1 << 13)    // version 2
#define TRUNCATE (1 << 14) // version 3

static void let_write(int rules, uint64_t rights, const char *path) {
  struct __attribute__((packed)) {
    uint64_t rights;
    int32_t folder;
  } rule = {rights, open(path, O_PATH | O_CLOEXEC)};
  if (rule.folder < 0) return;
  syscall(SYS_landlock_add_rule, rules, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0);
  close(rule.folder);
}

static void confine(const char *memory) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
  if (version < 1) return;
  uint64_t rights = WRITE_FILE | REMOVE_AND_MAKE;
  if (version >= 2) rights |= REFER;
  if (version >= 3) rights |= TRUNCATE;
  int rules = syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);
  if (rules < 0) return;
  let_write(rules, rights, ".");
  if (memory) let_write(rules, rights, memory);
  // The kernel tries, on a terminal of its own, how the host tells of input. Device files that a guest opens are its own.
  let_write(rules, WRITE_FILE, "/dev/ptmx");
  let_write(rules, WRITE_FILE, "/dev/pts");
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall(SYS_landlock_restrict_self, rules, 0);
  close(rules);
}

static void begin_without_random_addresses(char **arguments, char **environment) {
  int now = personality(0xffffffff);
  if (now < 0 || now & ADDR_NO_RANDOMIZE || personality(now | ADDR_NO_RANDOMIZE) < 0) return;
  execve("/proc/self/exe", arguments, environment);
}

__attribute__((constructor)) static void prepare(int count, char **arguments, char **environment) {
  (void)count;
  begin_without_random_addresses(arguments, environment);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  const char *seed = getenv("UNBLOAT_GUEST_SEED");
  state = seed ? strtoull(seed, NULL, 10) : 0;
  confine(getenv("TMPDIR"));
}
