// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Makes what all views use: elements, numbers as text, tooltips, canvases. */
const $ = id => document.getElementById(id);

function el(tag, properties = {}, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(properties)) {
		if (key === 'class') e.className = value;
		else if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
		else if (key in e && key !== 'role') e[key] = value;
		else e.setAttribute(key, value);
	}
	e.append(...children.filter(c => c !== null && c !== undefined && c !== ''));
	return e;
}

/* Names come from a program and can contain anything, so they are only ever set as text. */
const count = v =>
	Number.isInteger(v)
		? v.toLocaleString('en')
		: v.toLocaleString('en', { maximumFractionDigits: 1 });
const share = (part, whole) => (whole ? (100 * part) / whole : 0);
function percent(part, whole) {
	const v = share(part, whole);
	return (
		(v >= 99.95 || v === 0
			? v.toFixed(0)
			: v >= 9.995
				? v.toFixed(1)
				: v >= 0.0095
					? v.toFixed(2)
					: '<0.01') + '%'
	);
}
function points(change) {
	const v = 100 * change;
	return (v > 0 ? '+' : v < 0 ? '−' : '') + Math.abs(v).toFixed(2);
}
function seconds(s) {
	const a = Math.abs(s);
	return a >= 100
		? s.toFixed(0) + ' s'
		: a >= 1
			? s.toFixed(2) + ' s'
			: a >= 1e-3
				? (s * 1e3).toFixed(a >= 0.1 ? 0 : 2) + ' ms'
				: a >= 1e-6
					? (s * 1e6).toFixed(a >= 1e-4 ? 0 : 1) + ' µs'
					: a
						? (s * 1e9).toFixed(0) + ' ns'
						: '0 s';
}
function bytes(n) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
	let unit = 0;
	for (; Math.abs(n) >= 1023.95 && unit < 6; unit++) n /= 1024;
	return n.toFixed(unit ? 1 : 0) + ' ' + units[unit];
}

/* Returns a weight of a profile with its unit, if it has one. */
function amount({ chosen }, n) {
	return chosen.bytes ? bytes(n) : chosen.timed ? seconds(n * chosen.seconds) : count(n);
}
const amountInWords = (p, n) =>
	p.chosen.bytes || p.chosen.timed
		? amount(p, n)
		: plural(n, p.choices.length > 1 ? 'event' : 'sample');

const plural = (n, one, many = one + 's') => count(n) + ' ' + (n === 1 ? one : many);

/* Returns a search for the functions with exactly this name. */
const patternOf = name => '^' + name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') + '$';

/* The description of a node besides its numbers. */
function repeatText(tree, i) {
	const r = tree.repeatOf && tree.repeatOf.get(i);
	return !r
		? ''
		: ' × ' +
				(r[0] === r[1]
					? count(r[1] + 1)
					: count(r[0] + 1) + '–' + count(r[1] + 1));
}
const labelOf = (tree, i) => nameOf(tree, i) + repeatText(tree, i);
const fullNameOf = (tree, i) => tree.profile.funcs[funcOf(tree, i)].full;
const fullLabelOf = (tree, i) => fullNameOf(tree, i) + repeatText(tree, i);
const shortLabelOf = (tree, i) => tree.profile.funcs[funcOf(tree, i)].short + repeatText(tree, i);

function marksOf(tree, i) {
	const f = flagsOf(tree, i),
		r = tree.repeatOf && tree.repeatOf.get(i),
		marks = [];
	if (f & INLINED) marks.push('inlined into its caller');
	if (f & TAIL) marks.push('left by a tail call');
	if (f & KERNEL) marks.push('in the kernel');
	else if (f & RESTORED) marks.push('not instrumented, restored');
	else if (f & FOREIGN) marks.push('not instrumented');
	if (f & GAP) marks.push('frames are missing here');
	if (f & SIGNAL) marks.push('a signal interrupted the caller here');
	if (f & ORIGIN) marks.push('the caller created a thread here');
	if (f & LEFT_OUT) marks.push('too light or too deep for this page');
	if (r)
		marks.push(
			r[2] > 1
				? 'recursion: this frame and the ' +
						(r[2] - 1) +
						' inside it repeat'
				: 'recursion'
		);
	return marks;
}
const CALL_TEXTS = {
	none: 'this call costs pcce nothing',
	add: 'this call costs pcce an addition',
	push: 'pcce saves this call, which costs more than other calls',
	ext: 'this call costs pcce two stores',
	tail: 'tail call',
};
const callOf = (tree, i) => CALL_TEXTS[callIn(tree.profile.frameFlags[tree.frame[i]])] || '';

/* Returns the path from the outermost frame to this one, without the root. */
function pathOf(tree, i) {
	const path = [];
	for (; i > 0; i = tree.parent[i]) path.push(i);
	return path.reverse();
}

/* ---- tooltip ---- */

function hideTip() {
	$('tip').style.visibility = 'hidden';
}

function showTip(x, y, ...content) {
	const tip = $('tip');
	tip.replaceChildren(...content);
	const r = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - r.width - 8)) + 'px';
	tip.style.top =
		(y + 20 + r.height > innerHeight ? Math.max(4, y - r.height - 10) : y + 18) + 'px';
	tip.style.visibility = 'visible';
}

function nodeNumbers(tree, i, view) {
	const [all, allBefore] = wholeOf(tree),
		table = el('table');
	const row = (...cells) => table.append(el('tr', {}, ...cells.map(c => el('td', {}, c))));
	if (tree.totalBefore) {
		const d = deltaOf(tree, i);
		row('', 'before', 'after', 'points');
		row(
			'total',
			percent(tree.totalBefore[i], allBefore),
			percent(tree.total[i], all),
			points(d.change)
		);
		row(
			'self',
			percent(tree.before[i], allBefore),
			percent(tree.self[i], all),
			points(
				share(tree.self[i], all) / 100 -
					share(tree.before[i], allBefore) / 100
			)
		);
		row(
			tree.profile.chosen.bytes ? 'bytes' : 'samples',
			amount(tree.profile, tree.totalBefore[i]),
			amount(tree.profile, tree.total[i]),
			'z ' + d.z.toFixed(1)
		);
		const { sampleSeconds: is, sampleSecondsBefore: was } = tree.profile,
			before = tree.totalBefore[i] * was,
			after = tree.total[i] * is;
		if (is && was)
			row(
				'time',
				seconds(before),
				seconds(after),
				(after < before ? '−' : '+') + seconds(Math.abs(after - before))
			);
		return table;
	}
	const times = w =>
		tree.profile.sampleSeconds && !tree.profile.chosen.timed
			? [seconds(w * tree.profile.sampleSeconds)]
			: [];
	if (tree.inverted) {
		row(
			'on this path',
			percent(tree.total[i], all),
			amount(tree.profile, tree.total[i]),
			...times(tree.total[i])
		);
		if (i && tree.depth[i] > 1)
			row(
				'share of its callee',
				percent(tree.total[i], tree.total[tree.parent[i]])
			);
		return table;
	}
	for (const [name, w] of [
		['total', tree.total[i]],
		['self', tree.self[i]],
	])
		row(name, percent(w, all), amount(tree.profile, w), ...times(w));
	if (i) row('share of its caller', percent(tree.total[i], tree.total[tree.parent[i]]));
	if (view && i > view) row('share of this view', percent(tree.total[i], tree.total[view]));
	return table;
}

function nodeTip(tree, i, view, x, y) {
	const p = tree.profile,
		place = i && placeOf(p, tree.frame[i]),
		module = i && p.funcs[funcOf(tree, i)].module;
	showTip(
		x,
		y,
		el('b', {}, fullLabelOf(tree, i)),
		...[tree === p.tree && place && 'called at ' + place, module, ...marksOf(tree, i)]
			.filter(Boolean)
			.map(t => el('div', {}, t)),
		nodeNumbers(tree, i, view)
	);
}

function describe(tree, i) {
	const p = tree.profile,
		[all] = wholeOf(tree),
		place = i && tree === p.tree && placeOf(p, tree.frame[i]);
	const change = tree.totalBefore ? points(deltaOf(tree, i).change) + ' points' : '';
	return [
		labelOf(tree, i),
		place,
		amount(tree.profile, tree.total[i]) + ' (' + percent(tree.total[i], all) + ')',
		tree.inverted ? '' : 'self ' + percent(tree.self[i], all),
		change,
		...marksOf(tree, i),
	]
		.filter(Boolean)
		.join(' · ');
}

/* ---- drawing surfaces ---- */

/* A canvas with the size of its place. It calls draw(context, width, height) in the next frame
 * after touch(). */
class Surface {
	constructor(canvas, place, draw, resized = () => {}) {
		this.resized = resized;
		this.canvas = canvas;
		this.context = canvas.getContext('2d');
		this.draw = draw;
		this.pending = false;
		this.observer = new ResizeObserver(() =>
			this.resize(place.clientWidth, place.clientHeight)
		);
		this.observer.observe(place);
	}
	resize(width, height) {
		const ratio = window.devicePixelRatio || 1;
		this.width = width;
		this.height = height;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.width = width + 'px';
		this.canvas.style.height = height + 'px';
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.resized();
		this.paint();
	}
	touch() {
		if (this.pending) return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.paint();
		});
	}
	paint() {
		if (!this.width || !this.height) return;
		this.context.clearRect(0, 0, this.width, this.height);
		this.draw(this.context, this.width, this.height);
	}
	close() {
		this.observer.disconnect();
	}
}

/* Caches the widths of texts in the graphs' font. */
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const textWidths = new Map();
function textWidth(ctx, text) {
	let w = textWidths.get(text);
	if (w === undefined) textWidths.set(text, (w = ctx.measureText(text).width));
	return w;
}
function fitText(ctx, text, room, short) {
	if (textWidth(ctx, text) <= room) return text;
	if (short && short !== text) {
		text = short;
		if (textWidth(ctx, text) <= room) return text;
	}
	let n = Math.floor((text.length * (room - 4)) / textWidth(ctx, text));
	while (n >= 2 && ctx.measureText(text.slice(0, n) + '…').width > room) n--;
	return n >= 2 ? text.slice(0, n) + '…' : '';
}
