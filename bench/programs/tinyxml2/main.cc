/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a document, sums its elements recursively and prints it, in several rounds. */
#include <cstdio>
#include "../generate.h"
#include "tinyxml2.h"

static long sum_elements(const tinyxml2::XMLElement *e, int depth)
{
	long sum = depth + e->IntAttribute("id");

	for (const tinyxml2::XMLElement *c = e->FirstChildElement(); c; c = c->NextSiblingElement())
		sum += sum_elements(c, depth + 1);
	return sum;
}

int main()
{
	long total = 0;
	std::string text;

	make_xml(text, 8);
	for (int round = 0; round < 60; round++) {
		tinyxml2::XMLDocument document;
		tinyxml2::XMLPrinter printer;

		if (document.Parse(text.c_str()) != tinyxml2::XML_SUCCESS)
			return 1;
		total += sum_elements(document.RootElement(), 0);
		document.Print(&printer);
		total += printer.CStrSize();
	}
	printf("%ld\n", total);
	return 0;
}
