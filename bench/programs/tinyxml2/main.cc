/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a document, walks it recursively, prints it; over and over. */
#include <cstdio>
#include "../generate.h"
#include "tinyxml2.h"

static long walk(const tinyxml2::XMLElement *e, int depth)
{
	long sum = depth + e->IntAttribute("id");

	for (const tinyxml2::XMLElement *c = e->FirstChildElement(); c; c = c->NextSiblingElement())
		sum += walk(c, depth + 1);
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
		total += walk(document.RootElement(), 0);
		document.Print(&printer);
		total += printer.CStrSize();
	}
	printf("%ld\n", total);
	return 0;
}
