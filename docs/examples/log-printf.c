/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names the calling context in each line of a log. pcce-decode shows it. */
#include <pcce/pcce.h>
#include <stdarg.h>
#include <stdio.h>

/* A macro, so that the context is that of the function that logs. */
#define log_line(...) write_line(pcce_context_id(), __VA_ARGS__)

__attribute__((format(printf, 2, 3))) static void write_line(struct pcce_id context,
							     const char *format, ...)
{
	char text[PCCE_TEXT_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf(" [%s]\n", pcce_context_text(context, text));
}

__attribute__((noinline)) static void open_file(const char *path)
{
	log_line("cannot open %s", path);
}

__attribute__((noinline)) static void load(void)
{
	open_file("settings");
	log_line("no settings");
}

__attribute__((noinline)) static void save(void)
{
	open_file("output");
	log_line("nothing was saved");
}

int main(void)
{
	load();
	save();
	return 0;
}
