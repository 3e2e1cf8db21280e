/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a document, sums its values recursively and writes it, in several rounds. */
#include <cstdio>
#include "../generate.h"
#include "nlohmann/json.hpp"

static long sum_values(const nlohmann::json &v, int depth)
{
	long sum = depth + v["id"].get<int>() + (long)v["weight"].get<double>();

	for (const auto &c : v["children"])
		sum += sum_values(c, depth + 1);
	return sum;
}

int main()
{
	long total = 0;
	std::string text;

	make_json(text, 8);
	for (int round = 0; round < 6; round++) {
		nlohmann::json document = nlohmann::json::parse(text);

		total += sum_values(document, 0);
		total += (long)document.dump(1).size();
	}
	printf("%ld\n", total);
	return 0;
}
