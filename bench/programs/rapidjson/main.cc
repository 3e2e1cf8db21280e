/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a document, walks it recursively, writes it; over and over. */
#include <cstdio>
#include "../generate.h"
#include "rapidjson/document.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

static long walk(const rapidjson::Value &v, int depth)
{
	long sum = depth + v["id"].GetInt() + (long)v["weight"].GetDouble();

	for (const auto &c : v["children"].GetArray())
		sum += walk(c, depth + 1);
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
		total += walk(document, 0);
		document.Accept(writer);
		total += (long)buffer.GetSize();
	}
	printf("%ld\n", total);
	return 0;
}
