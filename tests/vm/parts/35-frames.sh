# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Records with --frames.  run.sh checks the frames.  The programs are those of tests/e2e/frames.

frames() { # DATA SAMPLER WHICH OPTION... -- COMMAND...
	data=$1
	sampler=$2
	which=$3
	shift 3
	check "frames are recorded: $data" pcce-record-frames -q -b "$sampler" --frames="$which" \
		-o "$data" "$@"
	mv "$data" /out
}

if [ -e /bin/pcce-record-frames ]; then
	frames foreign.kmod kmod foreign -F 1000 -- program
	frames all.kmod kmod all -F 1000 -- program
	frames plain.kmod kmod all -F 1000 -- plain
	# Each system call is a sample.  So the samplers must see the same.
	for sampler in kmod bpf; do
		for which in foreign all; do
			frames ask.$which.$sampler $sampler $which \
				-e syscalls:sys_enter_getppid -c 1 -- program ask
		done
		frames ask.plain.$sampler $sampler all -e syscalls:sys_enter_getppid -c 1 -- plain ask
	done
	frames wide.foreign.kmod kmod foreign -F 1000 -- program wide
	frames wide.plain.kmod kmod all -F 1000 -- plain wide
	# The recorder stands still, and then goes on.
	frames lost.kmod kmod foreign -e page-faults -c 1 -- program touch 20

	refused() { # NAME REASON COMMAND...: -b kmod --frames ends with this sentence
		name=$1
		reason=$2
		shift 2
		is "$name" "$("$@" -b kmod --frames=foreign -o none -- true 2>&1)" \
			"pcce-record: cannot use the kmod sampler: $reason"
	}
	# What the module says of itself is changed.
	old="env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=/t/old_module.so OLD"
	refused "a module that does not know the flags" \
		"the loaded module pcce_sampler is too old to copy stacks, which --frames needs; load the module of this version of pcce" \
		$old=flags pcce-record-frames
	refused "a module with an old interface" \
		"the loaded module pcce_sampler has interface version 0, not 2; load the module of this version of pcce" \
		$old=version pcce-record-frames
	check "... -b auto takes another" sh -c \
		"$old=flags pcce-record-frames -F 100 --frames=all -o auto.data -- true 2>&1 | grep '(bpf)'"
	refused "too little memory for the tables" \
		"cannot allocate the rings and the tables of stacks: out of memory, or above the limit of locked memory; raise it with ulimit -l" \
		stacks 900000 pcce-record-frames
fi
