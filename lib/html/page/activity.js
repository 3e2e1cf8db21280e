// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tells what a thread does in a sample: which kind of code it runs, or why it waits. Of a wait, the
 * outermost frame of the kernel tells why.
 */
const ACTIVITIES = [
	{ kind: 'code' },
	{ kind: 'foreign' },
	{ kind: 'kernel' },
	{ kind: 'gap' },
	{ name: 'waits: futex', mark: /^\[waiting: futex\]$/, colour: [342, 0, 58, 68, 58] },
	{ name: 'waits: I/O', mark: /^\[waiting: I\/O\]$/, colour: [180, 0, 60, 42, 50] },
	{ name: 'sleeps', mark: /^\[waiting: sleep\]$/, colour: [222, 0, 24, 86, 26] },
	{ name: 'waits', mark: /^\[(waiting|stopped)/, colour: [232, 0, 22, 72, 38] },
	{ name: 'has no CPU', mark: /^\[(runnable|preempted)\]$/, colour: [52, 0, 92, 48, 62] },
];
const FUTEX = 4,
	NO_CPU = ACTIVITIES.length - 1;

function activityColour({ kind, colour }) {
	if (colour) return shade(colour, 500500);
	/* Darker than frames, because there is no text on it. */
	const [hue, , saturation, light, darkLight] = KINDS[kind];
	return shade([hue, 0, saturation, light - 6, darkLight + 12], 500500);
}

function waitOf(name) {
	const at = ACTIVITIES.findIndex(({ mark }) => mark && mark.test(name));
	return at < 0 ? 2 : at;
}

/* Returns, by node of the recording's tree, the activity in its samples as an index. */
function activityOf(tree) {
	const activity = new Uint8Array(tree.n);
	for (let i = 1; i < tree.n; i++) {
		const outside = activity[tree.parent[i]],
			kind = kindOf(flagsOf(tree, i));
		activity[i] =
			outside >= 3
				? outside
				: kind === 'gap'
					? 3
					: kind === 'kernel'
						? waitOf(fullNameOf(tree, i))
						: kind === 'foreign'
							? 1
							: 0;
	}
	return activity;
}

const activityName = at => ACTIVITIES[at].name || KIND_NAMES[ACTIVITIES[at].kind];

/* Returns the colours of the waits in a tree: [colour, text], ... */
function legendOfWaits(activity) {
	const seen = new Set(activity);
	return ACTIVITIES.flatMap((a, at) =>
		a.name && seen.has(at) ? [[activityColour(a), a.name]] : []
	);
}
