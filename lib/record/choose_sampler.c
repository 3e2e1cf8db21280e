/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See choose_sampler.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/choose_sampler.h"
#include "record/say.h"
#include "sampler/perf_event.h"

/* Cuts the advice to use bpf, which was refused before this sampler and says what it needs. */
static void cut_remedy(char *refusal)
{
	char *advice = strstr(refusal, "use -b bpf as root");

	if (!advice)
		return;
	while (advice > refusal && advice[-1] != ';' && advice[-1] != ',')
		advice--;
	advice[advice > refusal ? -1 : 0] = 0;
}

/* The sampler that takes samples. config->engine: it does so beside the counting. */
static void use_sampler(struct active_sampler *active, struct sampler_config *config,
			const struct sampler_ops *ops)
{
	active->ops = config->engine ? &sampler_beside : ops;
	config->beside = config->engine ? ops : NULL;
}

static void refuse_sampler(const char *wanted)
{
	char names[256] = "auto";

	for (size_t i = 0, at = strlen(names); samplers[i] && at < sizeof(names); i++)
		at += snprintf(names + at, sizeof(names) - at, "%s%s",
			       samplers[i + 1] ? ", " : " or ", samplers[i]->name);
	say("cannot use sampler %s: it does not exist; use %s", wanted, names);
}

int choose_sampler(const struct record_options *o, struct sampler_config *config,
		   struct active_sampler *active)
{
	bool automatic = !strcmp(o->sampler, "auto") && !o->system;
	const char *wanted = !strcmp(o->sampler, "auto") && o->system ? "bpf" : o->sampler;
	struct error why;
	char refusals[3 * sizeof(why.text)] = "";
	int err;

	for (uint32_t i = 0; i < config->n_events; i++) {
		const char *name = config->events[i].name;

		/* event_list_complete() adds events of allocations, which perf does not know. */
		err = perf_event_is_allocations(name) ? 0 : perf_event_check(config, name, &why);
		if (err) {
			say("cannot record %s: %s", name, why.text);
			return err;
		}
	}
	if (config->engine) {
		active->ops = &sampler_count;
		err = active->ops->probe(config, &why);
		if (err)
			say("cannot count calls: %s", why.text);
		if (err || !o->sampled)
			return err;
	}
	for (size_t i = 0; samplers[i]; i++) {
		if (!automatic && strcmp(wanted, samplers[i]->name))
			continue;
		err = samplers[i]->probe(config, &why);
		if (!err) {
			use_sampler(active, config, samplers[i]);
			/* Names the sampler only if a better one was refused. */
			if (refusals[0] && !o->quiet && !config->verify)
				say("using the %s sampler; not %s", samplers[i]->name, refusals);
			else if (o->verbose)
				say("using the %s sampler", samplers[i]->name);
			return 0;
		}
		if (!automatic) {
			say("cannot use the %s sampler: %s", wanted, why.text);
			return -ENOTSUP;
		}
		/* Most machines lack the kernel module, so that is not worth a message. */
		if (err == -ENODEV && !o->verbose)
			continue;
		if (refusals[0])
			strncat(refusals, "; and not ", sizeof(refusals) - strlen(refusals) - 1);
		cut_remedy(why.text);
		snprintf(refusals + strlen(refusals), sizeof(refusals) - strlen(refusals), "%s: %s",
			 samplers[i]->name, why.text);
	}
	if (automatic)
		say("cannot use any sampler: not %s", refusals);
	else
		refuse_sampler(wanted);
	return -ENOTSUP;
}
