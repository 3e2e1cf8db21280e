/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Loads bpf/sampler.bpf.c with its constants set for this machine and kernel, and explains
 * failures. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/sampler.h"
#include "sampler/bpf_load.h"
#include "sampler/bpf_ring.h"

static char libbpf_says[256];

/* Keeps libbpf's first message, which is the cause of the later ones. */
static int keep_complaint(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !libbpf_says[0]) {
		vsnprintf(libbpf_says, sizeof(libbpf_says), format, args);
		libbpf_says[strcspn(libbpf_says, "\n")] = 0;
	}
	return 0;
}

/* Sets the pid namespace of pcce-record, unless it is the initial one. The BPF program then
 * translates process numbers. */
static void set_pid_namespace(struct sampler_bpf *skel)
{
	const ino_t initial = 0xeffffffc; /* PROC_PID_INIT_INO */
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == initial)
		return;
	skel->rodata->pidns_dev = st.st_dev;
	skel->rodata->pidns_ino = st.st_ino;
}

static bool kernel_has(const char *function)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return has;
}

static bool is_cpu_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_CPU_CLOCK;
}

/* Makes the programs use the maps of others, which are loaded. */
static int share_maps(struct sampler_bpf *skel, const struct sampler_bpf *first)
{
	struct bpf_map *const to[] = {skel->maps.controls,  skel->maps.rings,  skel->maps.sent,
				      skel->maps.processes, skel->maps.blocks, skel->maps.bss,
				      skel->maps.data};
	struct bpf_map *const from[] = {first->maps.controls,  first->maps.rings,  first->maps.sent,
					first->maps.processes, first->maps.blocks, first->maps.bss,
					first->maps.data};
	int err = 0;

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]) && !err; i++)
		err = bpf_map__reuse_fd(to[i], bpf_map__fd(from[i]));
	return err;
}

static void set_constants(struct sampler_bpf *skel, const struct bpf_program_config *c, int cpus)
{
	bool perf = c->kind == PERF_EVENT_CLOCK || c->kind == PERF_EVENT_COUNT;

	set_pid_namespace(skel);
	skel->rodata->event_number = c->number;
	skel->rodata->weighted = c->kind == PERF_EVENT_COUNT;
	skel->rodata->event_known = perf && kernel_has("bpf_cast_to_kern_ctx");
	skel->rodata->event_clock = skel->rodata->event_known && is_cpu_clock(c->attr);
	skel->rodata->event_timer = skel->rodata->event_known && c->kind == PERF_EVENT_CLOCK;
	skel->rodata->segment_shift = bpf_ring_shift(cpus);
	skel->rodata->copy_stacks = c->copy;
	skel->rodata->kernel_stacks = !c->attr->exclude_kernel;
	skel->rodata->guarded = c->guarded;
	skel->rodata->can_stay = c->kind == PERF_EVENT_PROBE && kernel_has("bpf_preempt_disable");
	skel->rodata->wait_period = c->wait_period;
	skel->rodata->locks = c->kind == PERF_EVENT_LOCKS;
	skel->rodata->holders = c->holders;
	if (!c->system)
		return;
	skel->rodata->system_wide = 1;
	skel->rodata->of_user = c->system->of_user;
	skel->rodata->user = c->system->user;
	skel->rodata->cgroup = c->system->cgroup;
}

/* Makes room for threads that wait. */
static void set_places(struct sampler_bpf *skel, bool running)
{
	skel->rodata->wait_sets = SAMPLER_THREADS / SAMPLER_PLACES;
	bpf_map__set_max_entries(skel->maps.sets, SAMPLER_THREADS / SAMPLER_PLACES);
	bpf_map__set_max_entries(skel->maps.waits, SAMPLER_THREADS);
	if (running)
		bpf_map__set_max_entries(skel->maps.waiting, SAMPLER_THREADS);
}

static void choose_programs(struct sampler_bpf *skel, const struct bpf_program_config *c)
{
	bool waits = perf_event_kind_waits(c->kind), locks = c->kind == PERF_EVENT_LOCKS,
	     tracepoint = c->kind == PERF_EVENT_TRACEPOINT, probe = c->kind == PERF_EVENT_PROBE,
	     follows = waits || tracepoint || probe;

	bpf_program__set_autoload(skel->progs.on_event, !follows);
	bpf_program__set_autoload(skel->progs.on_tracepoint, tracepoint);
	bpf_program__set_autoload(skel->progs.on_probe, probe);
	bpf_program__set_autoload(skel->progs.on_switch, waits && !locks);
	bpf_program__set_autoload(skel->progs.on_lock_switch, locks);
	bpf_program__set_autoload(skel->progs.on_waking, locks);
	bpf_program__set_autoload(skel->progs.on_wakeup, waits && !locks);
	bpf_program__set_autoload(skel->progs.on_wakeup_new, waits && !locks);
	/* Linux 5.18 and later can read the memory of other processes. */
	bpf_program__set_autoload(skel->progs.on_begin,
				  waits && (c->running || locks) &&
					  kernel_has("bpf_copy_from_user_task"));
	bpf_program__set_autoload(skel->progs.on_lock_end, locks);
	bpf_program__set_autoload(skel->progs.on_end, waits && !locks);
	bpf_program__set_autoload(skel->progs.on_fork, follows && !c->system);
	bpf_program__set_autoload(skel->progs.on_exec, follows);
	bpf_program__set_autoload(skel->progs.on_exit, follows && !c->system);
}

int bpf_program_load(const struct bpf_program_config *c, struct sampler_bpf **out,
		     struct error *why)
{
	struct sampler_bpf *skel;
	int cpus = libbpf_num_possible_cpus(), err;

	if (cpus <= 0)
		return error_set(why, -EINVAL, "cannot read the number of CPUs: %s",
				 strerror(-cpus));
	libbpf_says[0] = 0;
	libbpf_set_print(keep_complaint);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	skel = sampler_bpf__open();
	if (!skel)
		return error_set(why, -errno, "cannot open the BPF program: %s", strerror(errno));
	set_constants(skel, c, cpus);
	choose_programs(skel, c);
	bpf_map__set_max_entries(skel->maps.controls, (uint32_t)cpus);
	if (c->copy != SAMPLER_COPY_NONE)
		bpf_map__set_max_entries(skel->maps.blocks, (uint32_t)cpus);
	bpf_map__set_max_entries(skel->maps.rings, (uint32_t)cpus * SAMPLER_SEGMENTS);
	bpf_map__set_value_size(skel->maps.rings, bpf_ring_element(cpus));
	if (perf_event_kind_waits(c->kind))
		set_places(skel, c->running || c->kind == PERF_EVENT_LOCKS);
	err = c->first ? share_maps(skel, c->first) : 0;
	if (!err)
		err = sampler_bpf__load(skel);
	if (err) {
		if (err == -EPERM) /* the verifier returns EACCES */
			error_set(why, 0,
				  "cannot load the BPF program: %s: a container's seccomp filter "
				  "or a security module forbids it",
				  strerror(-err));
		else if (err == -ENOSYS)
			error_set(why, 0, "this kernel does not support BPF");
		else if (access("/sys/kernel/btf/vmlinux", R_OK))
			error_set(why, 0,
				  "cannot load the BPF program: this kernel has no type "
				  "information (/sys/kernel/btf/vmlinux)");
		else
			error_set(why, 0, "cannot load the BPF program: %s%s%s", strerror(-err),
				  libbpf_says[0] ? "; " : "", libbpf_says);
		sampler_bpf__destroy(skel);
		return err;
	}
	*out = skel;
	return 0;
}

static int program_for(const struct sampler_bpf *skel, enum perf_event_kind kind)
{
	return bpf_program__fd(kind == PERF_EVENT_TRACEPOINT ? skel->progs.on_tracepoint
			       : kind == PERF_EVENT_PROBE    ? skel->progs.on_probe
							     : skel->progs.on_event);
}

int bpf_program_attach(const struct sampler_bpf *skel, enum perf_event_kind kind, int event)
{
	return ioctl(event, PERF_EVENT_IOC_SET_BPF, program_for(skel, kind)) ? -errno : 0;
}

int bpf_program_follow(const struct sampler_bpf *skel, pid_t pid, bool armed)
{
	struct sampler_process p = {.armed = armed};
	uint32_t key = (uint32_t)pid;

	if (skel->rodata->pidns_ino) { /* the kernel has another number for this process */
		skel->bss->wanted_armed = armed;
		skel->bss->wanted = key;
		return 0;
	}
	skel->bss->maybe_followed[key % SAMPLER_MAYBE] = 1;
	return bpf_map_update_elem(bpf_map__fd(skel->maps.processes), &key, &p, BPF_ANY);
}

/* Runs a program for each thread in the system. 0 or -errno. */
static int iterate(const struct bpf_link *link)
{
	char nothing[64];
	int fd = bpf_iter_create(bpf_link__fd(link)), err;

	if (fd < 0)
		return -errno;
	while ((err = (int)read(fd, nothing, sizeof(nothing))) > 0)
		;
	err = err < 0 ? -errno : 0;
	close(fd);
	return err;
}

int bpf_program_begin_waits(struct sampler_bpf *skel)
{
	return skel->links.on_begin ? iterate(skel->links.on_begin) : 0;
}

int bpf_program_end_waits(struct sampler_bpf *skel)
{
	struct bpf_link **const links[] = {&skel->links.on_switch, &skel->links.on_lock_switch,
					   &skel->links.on_waking, &skel->links.on_wakeup,
					   &skel->links.on_wakeup_new};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
	return iterate(skel->links.on_end ? skel->links.on_end : skel->links.on_lock_end);
}

bool bpf_counts_missed(void)
{
	unsigned int major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 7));
}

uint64_t bpf_program_missed(const struct sampler_bpf *skel, enum perf_event_kind kind)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);
	int program = program_for(skel, kind);

	if (program < 0 || bpf_obj_get_info_by_fd(program, &info, &size))
		return 0;
	return info.recursion_misses;
}
