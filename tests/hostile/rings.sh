#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Attacks the recorder through the rings of the self sampler. Root records a command that becomes
# another user; that user then owns the rings, and may do to them what a user can do to files.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip_all "needs root and setpriv"

nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
other="setpriv --reuid=65533 --regid=65533 --clear-groups"
chmod 755 "$scratch"
check "a program builds" $CC -O2 -g $cflags "$w/recursion.c" $ldflags -o recursion
check "a program without pcce builds" $CC -O2 -g "$w/recursion.c" -o plain
want=$(./plain)

# ---- a command that drops its user ---------------------------------------------------------

(umask 077 && record self dropped.data $nobody ./recursion)
is "a command that becomes another user: output" "$(cat dropped.data.out)" "$want"
recording_is_exact "a command that becomes another user: all samples exact" dropped.data 30
record self dropped.data sh -c "./recursion; $nobody ./recursion; $other ./recursion & wait"
recording_is_exact "three users: all samples exact" dropped.data 100

# ---- the folder ----------------------------------------------------------------------------

cat >folder.sh <<'END_S'
rings=${PCCE_SELF%%:*}
outer=${rings%/*}
stat -c %a "$outer" "$rings"
setpriv --reuid=65533 --regid=65533 --clear-groups sh -c '
	ls "$1" "$2" 2>/dev/null
	touch "$1/x" 2>/dev/null && echo wrote
	rm -f "$2/ring-"* "$2/owner" 2>/dev/null
	: >>"$2/owner" && echo overwrote
	rmdir "$2" 2>/dev/null && echo removed
	exit 0' sh "$outer" "$rings" 2>/dev/null
[ -e "$rings/owner" ] && echo there
END_S
record self folder.data sh folder.sh
is "nobody else can list or change the folders" "$(cat folder.data.out)" "711
1733
there"
$nobody "$(command -v pcce-record)" -q -b self -o /dev/null -- sh -c 'stat -c %a "${PCCE_SELF%%:*}" "$(dirname "${PCCE_SELF%%:*}")"' >out 2>err
is "another recorder's folders are private" "$(cat out)" "700
700"

# ---- files that are not rings --------------------------------------------------------------

mkdir -m 777 prey
echo precious >prey/file
chmod 600 prey/file
cat >litter.sh <<'END_S'
rings=${PCCE_SELF%%:*}
ln -s "$1/prey/file" "$rings/ring-0000000000000001-1"
ln -s /dev/zero "$rings/ring-0000000000000002-1"
mkfifo "$rings/ring-0000000000000003-1"
mkdir -p "$rings/ring-0000000000000004-1/deep/deeper"
: >"$rings/ring-0000000000000005-1"
head -c 300000 /dev/urandom >"$rings/ring-0000000000000006-1"
truncate -s 1T "$rings/ring-0000000000000007-1"
./recursion
END_S
record self litter.data $nobody sh litter.sh "$scratch"
is "files that are not rings: status and output" "$? $(cat litter.data.out)" "0 $want"
check "files that are not rings: the recording is readable" pcce-report -i litter.data --stats
check "files that are not rings: the program has samples ($(stat_of litter.data samples))" \
	[ "$(stat_of litter.data samples)" -ge 30 ]
is "files that are not rings: no link was followed" "$(cat prey/file)" precious

# ---- rings that turn against the recorder --------------------------------------------------

cat >ring.c <<'END_C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/selfring.h>

#define DATA PCCE_SELF_DATA_MIN

static char path[4096];

static struct pcce_self_ring *make(unsigned int number, int *out)
{
	char new[4200], name[4200];
	struct pcce_self_ring *r;
	int fd;

	snprintf(new, sizeof(new), "%s/new-%016x-1", path, number);
	snprintf(name, sizeof(name), "%s/ring-%016x-1", path, number);
	fd = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, PCCE_SELF_HEADER_SIZE + DATA))
		return NULL;
	r = mmap(NULL, PCCE_SELF_HEADER_SIZE + DATA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r == MAP_FAILED)
		return NULL;
	r->version = PCCE_SELF_VERSION;
	r->header_size = PCCE_SELF_HEADER_SIZE;
	r->data_size = DATA;
	r->start_time = number;
	r->pid = (unsigned int)getpid();
	r->magic = PCCE_SELF_MAGIC;
	if (rename(new, name))
		return NULL;
	if (out)
		*out = fd;
	else
		close(fd);
	return r;
}

static void put(struct pcce_self_ring *r, const void *record, size_t size)
{
	struct pcce_self_record *at =
		(void *)((char *)r + PCCE_SELF_HEADER_SIZE + r->head % DATA);

	memcpy(at, record, size);
	at->size = (unsigned int)((size + 15) & ~15ul);
	at->stamp = r->head + 1;
	r->head += at->size;
}

/* Says that files of others are mapped, among them some that act when they are opened. */
static void lie(struct pcce_self_ring *r, const char *file)
{
	struct {
		struct pcce_self_map map;
		char path[256];
	} m = {.map = {.rec.type = PCCE_SELF_MAP, .start = 0x10000, .length = 4096,
		       .pid = 1, .path_size = 256}};

	strncpy(m.path, file, sizeof(m.path) - 1);
	put(r, &m, sizeof(m));
}

int main(int argc, char **argv)
{
	const char *what = argv[1];
	struct pcce_self_ring *r;
	int fd = -1;

	(void)argc;
	strncpy(path, getenv("PCCE_SELF"), sizeof(path) - 1);
	*strchr(path, ':') = 0;
	if (!strcmp(what, "shrinks")) {
		/* While the recorder has it mapped, and again and again. */
		for (unsigned int i = 1; i < 20; i++) {
			r = make(i, &fd);
			usleep(30000);
			r->head = 4096;
			if (ftruncate(fd, i % 2 ? 0 : 4096))
				return 1;
			usleep(30000);
		}
	} else if (!strcmp(what, "random")) {
		unsigned int seed = 1;

		for (unsigned int i = 1; i < 40; i++) {
			r = make(i, NULL);
			for (unsigned int n = 0; n < 2000; n++) {
				unsigned int *p = (unsigned int *)r + rand_r(&seed) % (DATA / 8);

				if ((char *)p >= (char *)r + 64)
					*p = (unsigned int)rand_r(&seed);
			}
			r->head = (unsigned int)rand_r(&seed) % (i % 2 ? DATA : ~0u) & ~15u;
			usleep(5000);
		}
	} else if (!strcmp(what, "lies")) {
		r = make(1, NULL);
		lie(r, argv[2]);
		lie(r, "/dev/ptmx");
		lie(r, "/dev/zero");
		lie(r, "/");
		lie(r, "/etc/shadow");
		lie(r, "relative");
		lie(r, "");
		usleep(300000);
	} else if (!strcmp(what, "many")) {
		struct rlimit all;
		unsigned int n;

		getrlimit(RLIMIT_NOFILE, &all);
		for (n = 1; n < 4000 && (r = make(n, NULL)); n++)
			munmap(r, PCCE_SELF_HEADER_SIZE + DATA);
		usleep(500000);
	}
	puts("done");
	return 0;
}
END_C
check "the attacker builds" $CC -O1 -g -I"$top/include" ring.c -o ring

mkfifo fifo && : >places && chmod 666 fifo places
for what in shrinks random lies many; do
	(ulimit -n 256 && record self $what.data \
		$nobody sh -c 'echo "${PCCE_SELF%%:*}" >>places; ./ring "$1" "$2"; ./recursion' \
		sh $what "$scratch/fifo")
	is "a ring that $what: status and output" "$? $(cat $what.data.out)" "0 done
$want"
	pcce-report -i $what.data --stats >stats 2>&1
	check "a ring that $what: the recording is readable ($?)" grep -q '^samples:' stats
	if [ $what = many ]; then
		check "a ring that $what: says so" grep -q 'rings of more processes' $what.data.err
	elif [ $what != random ]; then
		check "a ring that $what: others have samples ($(stat_of $what.data samples))" \
			[ "$(stat_of $what.data samples)" -ge 30 ]
	fi
done
is "nothing of it is left" "$(wc -l <places) $(xargs ls -d <places 2>/dev/null)" "4 "

# ---- silence is not silent -------------------------------------------------------------------

record self none.data ./plain
check "a program without instrumentation: says so" grep -q "no samples: .*plain was not built with pcce" \
	none.data.err
pcce-report -i none.data >report.out 2>report.err
is "... and pcce-report ends with 3" $? 3
check "... and says so, with what to do" grep -q 'contains no samples: .*run pcce-check' report.err
record self none.data env -i ./recursion
check "a command that clears its environment: says why nothing came" \
	grep -q 'no samples: .*no process sampled itself: .*must keep its environment' none.data.err
record self none.data true
check "a short program without pcce: says so" grep -q "no samples: .*true was not built with pcce" none.data.err
done_testing
