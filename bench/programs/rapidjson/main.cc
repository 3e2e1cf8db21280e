/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a document, sums its values recursively and writes it, in several rounds. */
#include <cstdio>
#include "../generate.h"
#include "rapidjson/document.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

static long sum_values(const rapidjson::Value &v, int depth)
{
	long sum = depth + v["id"].GetInt() + (long)v["weight"].GetDouble();

	for (const auto &c : v["children"].GetArray())
		sum += sum_values(c, depth + 1);
	return sum;
}

int main()
{
	long total = 0;
	std::string text;

	make_json(text, 8);
	for (int round = 0; round < 24; round++) {
		rapidjson::Document document;
		rapidjson::StringBuffer buffer;
		rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);

		if (document.Parse(text.c_str()).HasParseError())
			return 1;
		total += sum_values(document, 0);
		document.Accept(writer);
		total += (long)buffer.GetSize();
	}
	printf("%ld\n", total);
	return 0;
}
