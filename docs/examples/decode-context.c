/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* decode-context MAPS <STATE: prints a context, innermost frame first. MAPS is of /proc/PID/maps;
 * STATE holds ip, r11, the number of segments, the thread page, the segments. */
#include <inttypes.h>
#include <pcce/abi.h>
#include <pcce/decode.h>
#include <stdio.h>

static struct pcce_segment area[PCCE_AREA_SEGMENTS];

int main(int argc, char **argv)
{
	FILE *maps = fopen(argc > 1 ? argv[1] : "/proc/self/maps", "r");
	struct pcce_decode_process *process;
	const struct pcce_decode_context *c;
	struct pcce_decode_error why = {"cannot read the files"};
	struct pcce_decode_frame f;
	struct pcce_page page;
	uint64_t head[3];
	char line[4096], path[4096];
	int r = pcce_decode_process_new(PCCE_DECODE_EXPANDED, &process, &why);

	while (maps && !r && fgets(line, sizeof(line), maps)) {
		struct pcce_decode_module m = {.path = path};

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*2cx%*c %" SCNx64 " %*s %*s %4095[^\n]",
			   &m.start, &m.end, &m.offset, path) == 4)
			pcce_decode_process_add(process, &m, sizeof(m), NULL);
	}
	r = r || !maps || fclose(maps) || fread(head, 8, 3, stdin) != 3 ||
	    fread(&page, sizeof(page), 1, stdin) != 1 ||
	    fread(area, sizeof(*area), PCCE_AREA_SEGMENTS, stdin) != head[2] ||
	    pcce_decode_process_page(process, &page, area, head[2], head[0], head[1], &c, &why);
	for (size_t i = 0; !r && !pcce_decode_context_frame(c, i, &f, sizeof(f)); i++)
		printf("%s\t%#" PRIx64 "\t%s\n", f.function, f.vaddr, f.module);
	if (r)
		fprintf(stderr, "decode-context: %s\n", why.text);
	pcce_decode_process_free(process);
	return r != 0;
}
