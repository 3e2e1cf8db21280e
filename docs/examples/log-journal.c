/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Gives entries of systemd's journal a field PCCE_CONTEXT.  To see it:
 *
 *	journalctl -o json | pcce-decode -d DICTIONARY
 */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <pcce/pcce.h>
#include <systemd/sd-journal.h>

/* A macro, so that the context is that of the function that logs. */
#define log_entry(priority, ...)                                                                 \
	do {                                                                                     \
		char text_[PCCE_TEXT_SIZE];                                                      \
                                                                                                 \
		sd_journal_send("PRIORITY=%i", priority, "PCCE_CONTEXT=%s",                      \
				pcce_context_text(pcce_context_id(), text_), __VA_ARGS__, NULL); \
	} while (0)

__attribute__((noinline)) static void mount_disk(const char *name)
{
	log_entry(4, "MESSAGE=cannot mount %s", name);
}

__attribute__((noinline)) static void start(const char *disk)
{
	mount_disk(disk);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	start(argc > 1 ? argv[1] : "data");
	return 0;
}
