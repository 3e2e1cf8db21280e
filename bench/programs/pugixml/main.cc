/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a document, walks it, selects nodes by XPath and writes it, in several rounds. */
#include <cstdio>
#include <sstream>
#include "../generate.h"
#include "pugixml.hpp"

struct depth_sum : pugi::xml_tree_walker {
	long sum = 0;
	bool for_each(pugi::xml_node &node) override
	{
		sum += depth() + node.attribute("id").as_int();
		return true;
	}
};

int main()
{
	long total = 0;
	std::string text;

	make_xml(text, 8);
	for (int round = 0; round < 150; round++) {
		pugi::xml_document document;
		depth_sum walker;
		std::ostringstream out;

		if (!document.load_string(text.c_str()))
			return 1;
		document.traverse(walker);
		for (const auto &found : document.select_nodes(
			     "//item3[item4/@id > 2500]/item5[contains(text(), '77')]"))
			total += found.node().attribute("id").as_int();
		document.save(out);
		total += walker.sum + (long)out.str().size();
	}
	printf("%ld\n", total);
	return 0;
}
