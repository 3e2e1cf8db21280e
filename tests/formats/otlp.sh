# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# Tests OpenTelemetry profiles: protoc decodes them by the schema, and otlp.mjs checks their
# contents.

message=opentelemetry.proto.profiles.v1development.ProfilesData
if [ -n "${OTEL_PROTO-}" ]; then
	schema=("--proto_path=$OTEL_PROTO" opentelemetry/proto/profiles/v1development/profiles.proto)
else
	schema=("--proto_path=$here" otlp.proto)
fi

report otlp small.data small.otlp
report otlp huge.data huge.otlp
report otlp empty.data empty.otlp
check "otlp: equal recordings give equal files" \
	bash -c 'pcce-report -q -i huge.data --format=otlp | cmp - huge.otlp'

# Attributes of threads that are not selected are not in the file.
report otlp huge.data part.otlp --tid=101
is "otlp: nothing of threads that are not selected" \
	"$(grep -ac 'worker1' part.otlp) $(grep -ac 'worker2' part.otlp)" "1 0"

TMPDIR=$scratch/none pcce-report -q -i small.data --format=otlp -o none.otlp 2>otlp.err
is "otlp: no temporary file, exit status" $? 1
check "otlp: no temporary file is said" grep \
	-q '^pcce-report: cannot write temporary file: No such file or directory; set TMPDIR to a directory with free space$' otlp.err
check "otlp: no full disk is taken for success" \
	bash -c '! pcce-report -q -i small.data --format=otlp -o /dev/full 2>otlp.err && grep -q "No space left" otlp.err'

# A recording of a real program, for its build id.
# shellcheck disable=SC2046 # several words
if "$CC" -O2 -g $(pcce-config --cflags) "$top/tests/workloads/mutual.c" \
	$(pcce-config --ldflags) -Wl,--build-id=sha1 -pthread -o demo >build.log 2>&1 &&
	record self real.data ./demo; then
	report otlp real.data real.otlp
else
	not_ok "otlp: a real program is recorded" build.log real.data.err
fi

if ! command -v protoc >/dev/null || ! command -v node >/dev/null; then
	skip "otlp" "protobuf-compiler or nodejs is not installed"
	return
fi
for name in small huge empty real; do
	protoc "${schema[@]}" --decode=$message <$name.otlp >$name.otlp.txt 2>protoc.err ||
		not_ok "protoc decodes $name" protoc.err
done
node "$here/otlp.mjs" "$scratch" >otlp.log 2>otlp.log.err
verdicts "what is in OpenTelemetry profiles was read" otlp.log $?
