// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shows the details of the selected frame in a pane beside the view, with buttons for actions. */

/* Returns the nodes of the recording's tree that a node contains. */
function nodesWithin(tree, i) {
	if (!tree.map) return [i];
	if (!tree.members) {
		const { map, n } = tree,
			begin = new Int32Array(n + 1),
			members = new Int32Array(map.length);
		for (let k = 0; k < map.length; k++) begin[map[k] + 1]++;
		for (let m = 0; m < n; m++) begin[m + 1] += begin[m];
		const at = begin.slice();
		for (let k = 0; k < map.length; k++) members[at[map[k]]++] = k;
		tree.begin = begin;
		tree.members = members;
	}
	return tree.members.subarray(tree.begin[i], tree.begin[i + 1]);
}

/* Returns the places from which a node is called, with their weights. */
function callPlaces(tree, i) {
	const base = baseOf(tree),
		places = new Map();
	if (!base) return [];
	for (const k of nodesWithin(tree, i)) {
		const f = base.frame[k],
			full = fullPlaceOf(base.profile, f) || 'unknown place';
		const old = places.get(full) || {
			text: placeOf(base.profile, f) || 'unknown place',
			weight: 0,
			calls: new Set([full]),
		};
		old.weight += base.total[k];
		old.calls.add(callOf(base, k));
		places.set(full, old);
	}
	return [...places.values()].sort((a, b) => b.weight - a.weight);
}

/* Returns the facts about the encoding at a node: most entries on the encoding stack, and the
 * number of calls that push. */
function encodingOf(tree, i) {
	const base = baseOf(tree),
		{ frameFlags } = tree.profile,
		depths = stackDepths(tree);
	let pushes = base && frameFlags.some(callIn) ? 0 : -1;
	for (let k = i; k > 0 && pushes >= 0; k = tree.parent[k])
		if (callIn(frameFlags[tree.frame[k]]) === 'push') pushes++;
	return { most: depths ? depths[i] : -1, pushes };
}

const detail = (title, ...content) => el('section', {}, el('h3', {}, title), ...content);

/* Returns how many things are not in a list, or nothing. */
const moreText = (n, what) => (n > 0 ? el('div', { class: 'soft' }, plural(n, what)) : '');
const MOST_PLACES = 12,
	MOST_FRAMES = 200;

/* Returns the places from which a node is called, or null. */
function placesDetail(tree, i) {
	const places = callPlaces(tree, i);
	if (!places.some(p => p.text !== 'unknown place')) return null;
	const rows = places.slice(0, MOST_PLACES).map(({ text, weight, calls }) => {
		const title = [...calls].filter(Boolean).join('\n');
		return el(
			'tr',
			{},
			el('td', { title }, text),
			el('td', {}, percent(weight, tree.total[0]))
		);
	});
	return detail(
		'Called at',
		el('table', { class: 'places' }, ...rows),
		moreText(places.length - MOST_PLACES, 'more place')
	);
}

/* Returns the facts about the context of a node of a tree that is not inverted, or null. */
function contextDetail(tree, i) {
	if (!baseOf(tree)) return null;
	const path = pathOf(tree, i),
		gap = path.find(k => flagsOf(tree, k) & GAP),
		folded = path.some(k => repeatText(tree, k)),
		{ most, pushes } = encodingOf(tree, i);
	const facts = [
		['quality', gap === undefined ? 'exact' : 'not exact: ' + nameOf(tree, gap)],
		['call', callOf(tree, i)],
		['frames', count(path.length) + (folded ? ', without repetitions' : '')],
		['saved calls', pushes >= 0 ? count(pushes) : ''],
		[
			'saved at most',
			most >= 0
				? `${plural(most, 'call')}, including callees`
				: '',
		],
	].filter(([, value]) => value !== '');
	return detail(
		'Context',
		el('dl', {}, ...facts.flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]))
	);
}

/* Returns the threads of a node, or null if they say nothing. */
function threadsDetail(tree, threads) {
	if (threads.length <= 1 && !threads.some(t => t.origin)) return null;
	const rows = threads.slice(0, MOST_PLACES).map(t => {
		const origin = t.origin && el('div', { class: 'soft' }, 'created by ' + t.origin);
		return el(
			'tr',
			{},
			el('td', {}, t.label, origin || ''),
			el('td', {}, percent(t.weight, tree.total[0]))
		);
	});
	return detail(
		'Threads',
		el('table', { class: 'places' }, ...rows),
		moreText(threads.length - MOST_PLACES, 'more thread')
	);
}

/* Returns the nodes of a call chain, the innermost first, as in a debugger. */
const chainOf = (tree, i) => (tree.inverted ? pathOf(tree, i) : pathOf(tree, i).reverse());

/* Returns the call chain of a node. The middle of a very long chain is left out. */
function chainDetail(tree, i, zoom) {
	const p = tree.profile,
		chain = chainOf(tree, i),
		half = MOST_FRAMES / 2,
		more = chain.length - MOST_FRAMES;
	const item = k => {
		const frame = tree.frame[k],
			place = tree === p.tree && placeOf(p, frame),
			title = place && fullPlaceOf(p, frame);
		return el(
			'li',
			{},
			el('button', { class: 'link', onclick: () => zoom(k) }, labelOf(tree, k)),
			place ? el('span', { class: 'soft', title }, ' ' + place) : ''
		);
	};
	const items =
		more > 0
			? [
					...chain.slice(0, half).map(item),
					el(
						'li',
						{ class: 'soft' },
						plural(more, 'frame') + ' left out here'
					),
					...chain.slice(-half).map(item),
				]
			: chain.map(item);
	return detail('Call chain, innermost first', el('ol', { class: 'chain' }, ...items));
}

class Details {
	/* options: zoom(i), functions(func), source(func), search(name), threads(tree, i) */
	constructor(host, options) {
		this.host = host;
		this.options = options;
	}
	show(tree, i, hasZoom) {
		const { options } = this;
		if (!i) {
			const help =
				'Select a frame to see its callers, its call sites ' +
				'and whether its context is exact.';
			this.host.replaceChildren(
				el('h2', {}, 'All'),
				nodeNumbers(tree, 0, 0),
				el('p', { class: 'soft' }, help)
			);
			return;
		}
		const { module } = tree.profile.funcs[funcOf(tree, i)],
			marks = [module, ...marksOf(tree, i)].filter(Boolean);
		const parts = [
			el('h2', {}, fullLabelOf(tree, i)),
			el('div', { class: 'soft' }, marks.join(' · ')),
			this.buttons(tree, i, hasZoom),
			nodeNumbers(tree, i, 0),
			placesDetail(tree, i),
			contextDetail(tree, i),
			threadsDetail(tree, options.threads(tree, i)),
			chainDetail(tree, i, options.zoom),
		];
		this.host.replaceChildren(...parts.filter(Boolean));
	}
	buttons(tree, i, hasZoom) {
		const { zoom, functions, source, search } = this.options,
			button = (text, onclick) => el('button', { onclick }, text);
		return el(
			'div',
			{ class: 'buttons' },
			hasZoom ? button('Zoom here', () => zoom(i)) : null,
			button('Callers and callees', () => functions(funcOf(tree, i))),
			hasSource() ? button('Source', () => source(funcOf(tree, i))) : null,
			button('Find all', () => search(patternOf(fullNameOf(tree, i)))),
			button('Copy context', e => this.copy(tree, i, e.target))
		);
	}
	copy(tree, i, button) {
		const p = tree.profile,
			place = k => (tree === p.tree ? fullPlaceOf(p, tree.frame[k]) : ''),
			called = k => (place(k) ? '  called at ' + place(k) : ''),
			line = k => fullLabelOf(tree, k) + called(k),
			text = chainOf(tree, i).map(line).join('\n');
		const done = ok => {
			button.textContent = ok ? 'Copied' : 'Cannot copy';
			setTimeout(() => {
				button.textContent = 'Copy context';
			}, 1500);
		};
		if (navigator.clipboard) {
			navigator.clipboard.writeText(text).then(
				() => done(true),
				() => done(copyOldWay(text))
			);
		} else done(copyOldWay(text));
	}
}

/* Copies a text where the browser does not allow navigator.clipboard. */
function copyOldWay(text) {
	const area = el('textarea', { value: text });
	document.body.append(area);
	area.select();
	const ok = document.execCommand('copy');
	area.remove();
	return ok;
}
