/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * attach_empty OBJECT HZ -- COMMAND...
 *
 * Runs COMMAND and attaches the first perf_event BPF program of OBJECT to a cpu-clock event.  The
 * threads of COMMAND inherit that event.  pcce-record attaches its program in the same way.  A
 * program for a tracepoint (empty_switch.bpf.c) is attached to that.
 *
 * If OBJECT counts samples (stack.bpf.c), prints the counts to stderr at the end: samples,
 * complete, bytes, lost.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CPUS 1024

static void print_counts(struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, ".bss");
	unsigned long long counts[4]; /* in the order of declaration in stack.bpf.c */
	int zero = 0;

	if (map && bpf_map__value_size(map) == sizeof(counts) &&
	    !bpf_map_lookup_elem(bpf_map__fd(map), &zero, counts))
		fprintf(stderr, "%llu %llu %llu %llu\n", counts[0], counts[1], counts[2],
			counts[3]);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .freq = 1,
				       .inherit = 1,
				       .enable_on_exec = 1,
				       .disabled = 1};
	struct bpf_object *object;
	struct bpf_program *program;
	int go[2], status, cpus = libbpf_num_possible_cpus();
	char c = 0;
	pid_t pid;

	if (argc < 5 || strcmp(argv[3], "--")) {
		fprintf(stderr, "usage: attach_empty OBJECT HZ -- COMMAND...\n");
		return 2;
	}
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "attach_empty: cannot load BPF program '%s': %s; run as root\n",
			argv[1], strerror(errno));
		return 1;
	}
	program = bpf_object__next_program(object, NULL);
	attr.sample_freq = strtoull(argv[2], NULL, 10);
	if (pipe(go)) {
		perror("attach_empty: cannot create a pipe");
		return 1;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	if (bpf_program__type(program) == BPF_PROG_TYPE_TRACING) {
		if (!bpf_program__attach(program)) {
			perror("attach_empty: cannot attach the program to its tracepoint");
			return 1;
		}
		cpus = 0;
	}
	for (int cpu = 0; cpu < cpus && cpu < MAX_CPUS; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 || !bpf_program__attach_perf_event(program, fd)) {
			fprintf(stderr, "attach_empty: cannot attach '%s' on CPU %d: %s\n", argv[1],
				cpu, strerror(errno));
			return 1;
		}
	}
	if (write(go[1], &c, 1) != 1 || waitpid(pid, &status, 0) != pid)
		return 1;
	print_counts(object);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
