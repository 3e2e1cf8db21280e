/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* decode-recording FILE: prints the samples of a recording, one a line: weight, status, thread, then
 * the functions, outermost first, between tabs. */
#include <inttypes.h>
#include <pcce/decode.h>
#include <stdio.h>

static void print_sample(const struct pcce_decode_sample *s)
{
	const struct pcce_decode_context *c = pcce_decode_sample_context(s);
	size_t i = pcce_decode_context_frames(c);
	struct pcce_decode_frame f;

	printf("%" PRIu64 "\t%s\t%s", pcce_decode_sample_weight(s),
	       pcce_decode_status_name(pcce_decode_context_status(c)),
	       pcce_decode_sample_thread(s));
	while (i-- && !pcce_decode_context_frame(c, i, &f, sizeof(f)))
		printf("\t%s", f.function);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct pcce_decode_recording *recording;
	const struct pcce_decode_sample *sample;
	struct pcce_decode_error why = {""};
	int r = pcce_decode_recording_open(argc > 1 ? argv[1] : "pcce.data",
					   PCCE_DECODE_INLINED | PCCE_DECODE_EXPANDED, &recording,
					   &why);

	while (!r && (r = pcce_decode_recording_next(recording, &sample, &why)) > 0) {
		print_sample(sample);
		r = 0;
	}
	if (r < 0)
		fprintf(stderr, "decode-recording: %s\n", why.text);
	pcce_decode_recording_close(recording);
	return r < 0;
}
