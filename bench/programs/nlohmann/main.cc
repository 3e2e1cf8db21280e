/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a document, walks it recursively, writes it; over and over. */
#include <cstdio>
#include "../generate.h"
#include "nlohmann/json.hpp"

static long walk(const nlohmann::json &v, int depth)
{
	long sum = depth + v["id"].get<int>() + (long)v["weight"].get<double>();

	for (const auto &c : v["children"])
		sum += walk(c, depth + 1);
	return sum;
}

int main()
{
	long total = 0;
	std::string text;

	make_json(text, 8);
	for (int round = 0; round < 6; round++) {
		nlohmann::json document = nlohmann::json::parse(text);

		total += walk(document, 0);
		total += (long)document.dump(1).size();
	}
	printf("%ld\n", total);
	return 0;
}
