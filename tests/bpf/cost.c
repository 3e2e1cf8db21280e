/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cost COMMAND...
 *
 * Measures the time of the BPF sampler per sample, and that of an empty program.  Prints
 * `name: value` lines.
 *
 * Both are attached to the same command at nearly 10 kHz.  Their frequencies drift against each
 * other, so that whatever else the machine does affects both.  The kernel's statistics give the
 * time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/sampler.h"
#include "sampler/bpf_ring.h"
#include "sampler.skel.h"

static int fail(const char *what)
{
	fprintf(stderr, "cost: %s: %s\n", what, strerror(errno));
	return 1;
}

static int load_empty(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "empty", "Dual BSD/GPL", insns, 2, NULL);
}

static struct sampler_bpf *load_sampler(int cpus)
{
	struct sampler_bpf *skel = sampler_bpf__open();
	int i;

	if (!skel)
		return NULL;
	bpf_map__set_max_entries(skel->maps.controls, (unsigned int)cpus);
	bpf_map__set_max_entries(skel->maps.rings, (unsigned int)cpus * SAMPLER_SEGMENTS);
	bpf_map__set_value_size(skel->maps.rings, bpf_ring_element(cpus));
	skel->rodata->segment_shift = bpf_ring_shift(cpus);
	skel->rodata->event_clock = !getenv("NO_EVENT_CLOCK");
	bpf_program__set_autoload(skel->progs.on_tracepoint, false);
	bpf_program__set_autoload(skel->progs.on_switch, false);
	bpf_program__set_autoload(skel->progs.on_wakeup, false);
	bpf_program__set_autoload(skel->progs.on_wakeup_new, false);
	bpf_program__set_autoload(skel->progs.on_begin, false);
	bpf_program__set_autoload(skel->progs.on_end, false);
	bpf_program__set_autoload(skel->progs.on_fork, false);
	bpf_program__set_autoload(skel->progs.on_exec, false);
	bpf_program__set_autoload(skel->progs.on_exit, false);
	if (sampler_bpf__load(skel))
		return NULL;
	for (i = 0; i < 4; i++)
		skel->bss->offsets[i] = -4096 * (i + 1);
	skel->bss->n_offsets = 4;
	return skel;
}

static int attach(pid_t pid, unsigned int frequency, int program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.freq = 1,
		.sample_freq = frequency,
		.inherit = 1,
		.disabled = 1,
		.enable_on_exec = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -1 : ioctl(fd, PERF_EVENT_IOC_SET_BPF, program);
}

static int drop(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	(void)ctx;
	(void)s;
	(void)size;
	(void)kernel;
	return 0;
}

static double report(const char *name, int program)
{
	struct bpf_prog_info info = {0};
	unsigned int size = sizeof(info);
	double each;

	if (bpf_obj_get_info_by_fd(program, &info, &size) || !info.run_cnt)
		return 0;
	each = (double)info.run_time_ns / (double)info.run_cnt;
	printf("%s_runs: %llu\n%s_ns: %.1f\n", name, (unsigned long long)info.run_cnt, name, each);
	return each;
}

int main(int argc, char **argv)
{
	int cpus = libbpf_num_possible_cpus(), empty, program, go[2];
	struct bpf_ring *rings;
	struct sampler_bpf *skel;
	double base, ours;
	pid_t pid;
	char byte;

	if (argc < 2) {
		fputs("usage: cost COMMAND...\n", stderr);
		return 2;
	}
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return fail("statistics");
	empty = load_empty();
	skel = cpus > 0 ? load_sampler(cpus) : NULL;
	if (empty < 0 || !skel)
		return fail("load");
	program = bpf_program__fd(skel->progs.on_event);
	if (bpf_ring_open(bpf_map__fd(skel->maps.controls), bpf_map__fd(skel->maps.rings), cpus,
			  &rings) ||
	    pipe(go))
		return fail("mmap");
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) < 0)
			_exit(1);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (attach(pid, 9973, empty) || attach(pid, 10007, program))
		return fail("perf_event_open");
	close(go[1]);
	while (!waitpid(pid, NULL, WNOHANG)) {
		usleep(10000);
		bpf_ring_read(rings, drop, NULL);
	}
	base = report("empty", empty);
	ours = report("sampler", program);
	if (base > 0 && ours > 0)
		printf("ratio: %.2f\n", ours / base);
	return !(base > 0 && ours > 0);
}
