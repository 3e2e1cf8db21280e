// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the state of the page. One state determines everything that is visible. It is in the
 * address after "#", so that Back works and a view can be bookmarked. Every change goes through
 * update().
 */
const VIEWS = [
	['flame', 'Flame graph'],
	['tree', 'Call tree'],
	['bottom', 'Bottom-up'],
	['functions', 'Functions'],
	['source', 'Source'],
	['time', 'Over time'],
	['heat', 'Heatmap'],
	['recording', 'Recording'],
];
const FIRST = {
	view: 'flame',
	event: 0,
	lines: false,
	full: false,
	fold: false,
	invert: false,
	up: false,
	zoom: 0,
	query: '',
	only: false,
	threads: null,
	range: null,
	colour: 'kind',
	width: 'both',
	func: -1,
	busy: false,
	column: 0,
	here: false,
};
/* The names of the parts of the state in the address. */
const SHORT = {
	view: 'v',
	event: 'e',
	lines: 'l',
	full: 'm',
	fold: 'f',
	invert: 'i',
	up: 'u',
	zoom: 'z',
	query: 'q',
	only: 'o',
	threads: 't',
	range: 'r',
	colour: 'c',
	width: 'w',
	func: 'fn',
	busy: 'b',
	column: 'p',
	here: 'h',
};
/* The views that show something: a comparison has no times, and not each page the source. */
const shownViews = () =>
	VIEWS.filter(
		([name]) =>
			(!['time', 'heat'].includes(name) || busyThreads(p).length) &&
			(name !== 'source' || hasSource())
	);
/* The parts of the state that determine the nodes of the shown tree, and their weights. */
const SHAPE = ['lines', 'fold', 'invert'],
	SELECTION = ['event', 'threads', 'range', 'only'];

/* The profile, the state, the visible view and the tracks of the threads (null: none). */
let p,
	state = { ...FIRST },
	view = null,
	tracks = null;
/* Shows the state. It takes the state before a change. main.js sets it. */
let showState = null;
const comparing = () => !!p.tree.before;

function shortValue(key, v) {
	if (v === true) return '1';
	if (key === 'threads') return [...v].join(' ');
	if (key === 'range') return v.map(t => t.toFixed(6)).join(' ');
	return v;
}

function longValue(key, v) {
	const first = FIRST[key];
	if (key === 'threads')
		return new Set(
			v
				.split(' ')
				.map(Number)
				.filter(n => n >= 0 && n < p.threads.length)
		);
	if (key === 'range') return v.split(' ').map(Number);
	if (typeof first === 'boolean') return v === '1';
	return typeof first === 'number' ? Number(v) || 0 : v;
}

function toHash() {
	const q = new URLSearchParams();
	for (const [key, short] of Object.entries(SHORT)) {
		const v = state[key];
		if (JSON.stringify(v) === JSON.stringify(FIRST[key]) || v === null) continue;
		q.set(short, shortValue(key, v));
	}
	return '#' + q;
}

/* Returns the state that the address describes. Values that do not fit the profile are ignored. */
function fromHash() {
	const q = new URLSearchParams(location.hash.slice(1)),
		s = {
			...FIRST,
			width: comparing() ? 'both' : 'after',
			colour: comparing() ? 'change' : 'kind',
		};
	for (const [key, short] of Object.entries(SHORT)) {
		const v = q.get(short);
		if (v !== null) s[key] = longValue(key, v);
	}
	if (!shownViews().some(([name]) => name === s.view)) s.view = 'flame';
	if (s.threads && !s.threads.size) s.threads = null;
	if (s.range && !(s.range.length === 2 && s.range[0] < s.range[1])) s.range = null;
	if (!p.choices[s.event]) s.event = 0;
	if (!(s.func >= -1 && s.func < p.funcs.length)) s.func = -1;
	return s;
}

/* Returns how many steps Back can go without leaving the page. */
const stepsBack = () => (history.state && history.state.steps) || 0;

/* Changes the state, the address and what is visible. push: Back undoes the change. */
function update(changes, push = true) {
	const before = state;
	state = { ...state, ...changes };
	const differ = keys => keys.some(k => state[k] !== before[k]);
	/* The nodes of an inverted tree depend on the selection, too. */
	if (!('zoom' in changes) && (differ(SHAPE) || (state.invert && differ(SELECTION))))
		state.zoom = 0;
	if (toHash() !== (location.hash || '#')) {
		const steps = stepsBack() + (push ? 1 : 0);
		try {
			history[push ? 'pushState' : 'replaceState']({ steps }, '', toHash());
		} catch (e) {
			/* not allowed here: continue without history */
		}
	}
	showState(before);
}
