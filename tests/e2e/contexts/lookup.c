/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lookup DICTIONARY <CHAINS: compares chains as walks.c writes them with what libpcce-decode says
 * of their names.  Lines are compared, too, except that of the call that asks, which is in pcce.h.
 * Prints the number of contexts, and the first that differ.
 */
#include <inttypes.h>
#include <pcce/decode.h>
#include <stdio.h>
#include <string.h>

static char line[1 << 18];

static int parse(const char *text, uint8_t id[16])
{
	unsigned int byte;

	for (int i = 0; i < 16; i++) {
		if (sscanf(text + 5 + 2 * i, "%2x", &byte) != 1)
			return -1;
		id[i] = (uint8_t)byte;
	}
	return 0;
}

/* Walks both chains: frames of uninstrumented code, and those that say what came between, are not
 * in the program's own. */
static int differs(const struct pcce_decode_context *c, char *chain)
{
	struct pcce_decode_frame f;
	char *word = strtok(chain, " \n"), wanted[512];
	int first = 1;

	if (pcce_decode_context_status(c) != PCCE_DECODE_EXACT)
		return 1;
	for (size_t i = 0; !pcce_decode_context_frame(c, i, &f, sizeof(f)); i++) {
		if (f.kind != PCCE_DECODE_CALL || strstr(f.module, "library"))
			continue;
		if (!word || f.address)
			return 1;
		snprintf(wanted, sizeof(wanted), "%s:%" PRIu32, f.function, f.line);
		if (first ? strncmp(word, f.function, strlen(f.function)) != 0 ||
				    word[strlen(f.function)] != ':'
			  : strcmp(word, wanted) != 0)
			return 1;
		first = 0;
		word = strtok(NULL, " \n");
	}
	return word != NULL;
}

int main(int argc, char **argv)
{
	struct pcce_decode_dictionary *d;
	const struct pcce_decode_context *c;
	struct pcce_decode_error why = {"usage"};
	uint8_t id[16];
	long n = 0, bad = 0;

	if (argc < 2 || pcce_decode_dictionary_new(PCCE_DECODE_EXPANDED, &d, &why) ||
	    pcce_decode_dictionary_read(d, argv[1], &why) != 0) {
		fprintf(stderr, "lookup: %s\n", why.text);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char name[38] = "";

		n++;
		memcpy(name, line, 37);
		if (!parse(line, id) && !pcce_decode_dictionary_context(d, id, &c, &why) &&
		    !differs(c, line + 37))
			continue;
		if (!bad++)
			fprintf(stderr, "lookup: %s differs: %s\n", name, why.text);
	}
	pcce_decode_dictionary_free(d);
	printf("%ld contexts\n", n);
	return bad != 0;
}
