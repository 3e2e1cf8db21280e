/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Generates the same documents for all parsers. */
#ifndef PCCE_BENCH_GENERATE_H
#define PCCE_BENCH_GENERATE_H

#include <string>

static unsigned int seed = 1;

static unsigned int next_number()
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static void make_xml(std::string &out, int depth)
{
	std::string tag = "item" + std::to_string(next_number() % 20);

	out += "<" + tag + " id=\"" + std::to_string(next_number() % 5000) + "\" kind='a&amp;b'>";
	out += "text " + std::to_string(next_number()) + " &lt; more";
	for (unsigned int i = 0; depth && i < 2 + next_number() % 4; i++)
		make_xml(out, depth - 1);
	out += "</" + tag + ">\n";
}

static void make_json(std::string &out, int depth)
{
	out += "{\"id\": " + std::to_string(next_number() % 5000) + ", \"name\": \"n\\u00e9" +
	       std::to_string(next_number()) +
	       "\\n\", \"weight\": " + std::to_string(next_number() % 100000 / 8.0) +
	       ", \"on\": true, \"children\": [";
	for (unsigned int i = 0, n = 2 + next_number() % 4; depth && i < n; i++) {
		if (i)
			out += ",\n";
		make_json(out, depth - 1);
	}
	out += "]}";
}

#endif
