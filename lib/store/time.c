/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See time.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "store/time.h"

int store_time(const char *text, uint64_t now, uint64_t *out, struct error *why)
{
	static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
					      "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"};
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
	unsigned long long n;
	char *end;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm tm = {.tm_isdst = -1};
		time_t t;
		int day;

		end = strptime(text, formats[i], &tm);
		if (!end || *end)
			continue;
		day = tm.tm_mday;
		t = mktime(&tm);
		if (tm.tm_mday != day) /* as 2026-02-30 */
			break;
		*out = t < 0 ? 0 : (uint64_t)t;
		return 0;
	}
	errno = 0;
	n = strtoull(text, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (errno || end == text || *text == '-' || *end != units[i].letter || end[1] ||
		    n > now / units[i].seconds)
			continue;
		*out = now - n * units[i].seconds;
		return 0;
	}
	return error_set(why, -EINVAL,
			 "it must be an age as 90s, 15m, 2h, 3d or 1w, or a local time as "
			 "2026-11-30 or '2026-11-30 07:45'");
}
