// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Starts a session of the kernel module for a test program in the guest. */
#include "begin_session.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "guest.h"
#include "sampler/kmod_session.h"

struct kmod_session *begin_session(struct pcce_kmod_setup *c, const int64_t *offset)
{
	struct kmod_session *k;
	struct error why;
	long err = kmod_session_open(&k, &why);

	if (!err)
		err = kmod_session_setup(k, c);
	if (!err && offset)
		err = kmod_session_places(k, offset, 1);
	if (!err)
		err = kmod_session_start(k);
	if (err) {
		result(false, "a session can be started: %s", strerror((int)-err));
		exit(1);
	}
	return k;
}
