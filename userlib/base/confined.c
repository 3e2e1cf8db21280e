// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Knows what the program's own seccomp filters allow the runtime.
 *
 * A filter kills, or worse, at a system call that its author did not expect. The author knows the
 * program's system calls, not ours. So from the first filter on, the runtime makes none that it has
 * not made before. Two that it has made before need an answer of the filter: the return from a
 * signal handler, without which the self sampler must end, and the mapping of memory for a deep
 * encoding stack. The answer comes from running the filter here, as the kernel would.
 *
 * interpose/prctl.c sees the ways by which a program installs filters: prctl() and syscall().
 * A `syscall` instruction of the program is not seen.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include "base/confined.h"
#include "base/syscall.h"

#define STEPS_MAX 4096 /* BPF_MAXINSNS; jumps go only forward */

__attribute__((visibility("default"))) volatile unsigned int pcce_confinement;

static bool load_word(const struct sock_filter *i, const struct seccomp_data *data,
		      const uint32_t *scratch, uint32_t *to)
{
	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		*to = i->k;
		return true;
	case BPF_LEN:
		*to = sizeof(*data);
		return true;
	case BPF_MEM:
		if (i->k >= BPF_MEMWORDS)
			return false;
		*to = scratch[i->k];
		return true;
	case BPF_ABS:
		if (i->k > sizeof(*data) - 4 || i->k % 4)
			return false;
		*to = ((const uint32_t *)data)[i->k / 4];
		return true;
	default:
		return false;
	}
}

static bool calculate(uint16_t code, uint32_t operand, uint32_t *a)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		*a += operand;
		return true;
	case BPF_SUB:
		*a -= operand;
		return true;
	case BPF_MUL:
		*a *= operand;
		return true;
	case BPF_DIV:
		if (operand)
			*a /= operand;
		return operand;
	case BPF_AND:
		*a &= operand;
		return true;
	case BPF_OR:
		*a |= operand;
		return true;
	case BPF_XOR:
		*a ^= operand;
		return true;
	case BPF_LSH:
		*a = operand < 32 ? *a << operand : 0;
		return true;
	case BPF_RSH:
		*a = operand < 32 ? *a >> operand : 0;
		return true;
	case BPF_NEG:
		*a = -*a;
		return true;
	default:
		return false;
	}
}

/* 0 or 1, or -1 if there is no such condition. */
static int condition(uint16_t code, uint32_t a, uint32_t operand)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == operand;
	case BPF_JGT:
		return a > operand;
	case BPF_JGE:
		return a >= operand;
	case BPF_JSET:
		return (a & operand) != 0;
	default:
		return -1;
	}
}

/* Returns what the filter says about a call; SECCOMP_RET_KILL_PROCESS if it is not understood. */
static uint32_t run_filter(const struct sock_fprog *f, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, scratch[BPF_MEMWORDS] = {0}, operand;
	int taken;

	for (unsigned int pc = 0, steps = 0; pc < f->len && steps < STEPS_MAX; pc++, steps++) {
		const struct sock_filter *i = &f->filter[pc];

		operand = BPF_SRC(i->code) == BPF_X ? x : i->k;
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			if (!load_word(i, data, scratch, &a))
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_LDX:
			if (!load_word(i, data, scratch, &x))
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_ST:
		case BPF_STX:
			if (i->k >= BPF_MEMWORDS)
				return SECCOMP_RET_KILL_PROCESS;
			scratch[i->k] = BPF_CLASS(i->code) == BPF_ST ? a : x;
			break;
		case BPF_ALU:
			if (!calculate(i->code, operand, &a))
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA) {
				pc += i->k;
				break;
			}
			taken = condition(i->code, a, operand);
			if (taken < 0)
				return SECCOMP_RET_KILL_PROCESS;
			pc += taken ? i->jt : i->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? a : i->k;
		case BPF_MISC:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool allows(const struct sock_fprog *f, const struct seccomp_data *data)
{
	uint32_t action = run_filter(f, data) & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

void confined_by_strict_mode(void)
{
	/* sigreturn is one of the four calls that it allows. */
	pcce_confinement = CONFINED | CONFINED_NO_MMAP | CONFINED_NO_GETTID | CONFINED_STRICT;
}

void confined_by_filter(const struct sock_fprog *f)
{
	struct seccomp_data gettid = {.nr = SYS_gettid, .arch = AUDIT_ARCH_X86_64};
	struct seccomp_data map = {
		.nr = SYS_mmap,
		.arch = AUDIT_ARCH_X86_64,
		.args = {0, MEMORY_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0},
	};

	pcce_confinement |= CONFINED;
	if (!f || !f->filter)
		return; /* the kernel will refuse it */
	if (!allows(f, &map))
		pcce_confinement |= CONFINED_NO_MMAP;
	if (!allows(f, &gettid))
		pcce_confinement |= CONFINED_NO_GETTID;
}

bool confined_returns(const struct sock_fprog *f)
{
	struct seccomp_data sigreturn = {.nr = SYS_rt_sigreturn, .arch = AUDIT_ARCH_X86_64};

	return !f || !f->filter || allows(f, &sigreturn);
}
