// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shows the details of the selected frame in a pane beside the view, with buttons for actions. */

/* Returns the nodes of the recording's tree that a node contains. */
function nodesWithin(tree, i) {
	if (!tree.map) return [i];
	if (!tree.members) {
		const { map, n } = tree, begin = new Int32Array(n + 1), members = new Int32Array(map.length);
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
	const base = baseOf(tree), places = new Map();
	if (!base) return [];
	for (const k of nodesWithin(tree, i)) {
		const f = base.frame[k], full = fullPlaceOf(base.profile, f) || 'unknown place';
		const old = places.get(full) || { text: placeOf(base.profile, f) || 'unknown place', weight: 0, calls: new Set([full]) };
		old.weight += base.total[k];
		old.calls.add(callOf(base, k));
		places.set(full, old);
	}
	return [...places.values()].sort((a, b) => b.weight - a.weight);
}

/* Returns the facts about the encoding at a node: most entries on the encoding stack, and the
 * number of calls that push. */
function encodingOf(tree, i) {
	const base = baseOf(tree), { frameFlags } = tree.profile, depths = stackDepths(tree);
	let pushes = base && frameFlags.some(f => f >> 8) ? 0 : -1;
	for (let k = i; k > 0 && pushes >= 0; k = tree.parent[k]) if (CALLS[frameFlags[tree.frame[k]] >> 8] === 'push') pushes++;
	return { most: depths ? depths[i] : -1, pushes };
}

class Details {
	/* options: zoom(i), functions(func), search(name), status */
	constructor(host, options) {
		this.host = host;
		this.options = options;
	}
	show(tree, i, hasZoom) {
		const p = tree.profile, { options } = this, func = funcOf(tree, i), out = [], all = tree.total[0];
		const block = (title, ...content) => out.push(el('section', {}, el('h3', {}, title), ...content));
		const facts = rows => el('dl', {}, ...rows.filter(r => r[1] !== '' && r[1] !== null).flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));
		if (!i) {
			this.host.replaceChildren(el('h2', {}, 'All'), nodeNumbers(tree, 0, 0), el('p', { class: 'soft' }, 'Select a frame to see its callers, its call sites and whether its context is exact.'));
			return;
		}
		out.push(el('h2', {}, labelOf(tree, i)), el('div', { class: 'soft' }, [p.funcs[func].module, ...marksOf(tree, i)].filter(Boolean).join(' · ')));
		out.push(el('div', { class: 'buttons' },
			hasZoom ? el('button', { onclick: () => options.zoom(i) }, 'Zoom here') : null,
			el('button', { onclick: () => options.functions(func) }, 'Callers and callees'),
			el('button', { onclick: () => options.search('^' + nameOf(tree, i).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') + '$') }, 'Find all'),
			el('button', { onclick: e => this.copy(tree, i, e.target) }, 'Copy context')));
		out.push(nodeNumbers(tree, i, 0));
		const places = callPlaces(tree, i), { most, pushes } = encodingOf(tree, i);
		if (places.some(p => p.text !== 'unknown place')) {
			block('Called at', el('table', { class: 'places' }, ...places.slice(0, 12).map(({ text, weight, calls }) => el('tr', {},
				el('td', { title: [...calls].filter(Boolean).join('\n') }, text), el('td', {}, percent(weight, all))))),
			places.length > 12 ? el('div', { class: 'soft' }, plural(places.length - 12, 'more place')) : '');
		}
		const path = pathOf(tree, i), marked = path.filter(k => flagsOf(tree, k) & GAP), call = baseOf(tree) ? callOf(tree, i) : '';
		if (baseOf(tree)) block('Context', facts([
			['quality', marked.length ? 'not exact: ' + nameOf(tree, marked[0]) : 'exact'],
			['call', call],
			['frames', count(path.length) + (path.some(k => repeatText(tree, k)) ? ', without repetitions' : '')],
			['calls that push', pushes >= 0 ? count(pushes) : ''],
			['encoding stack', most >= 0 ? 'up to ' + plural(most, 'entry', 'entries') + ', including callees' : ''],
		]));
		const threads = options.threads(tree, i);
		if (threads.length > 1 || threads.some(t => t.origin)) {
			block('Threads', el('table', { class: 'places' }, ...threads.slice(0, 12).map(t => el('tr', {}, el('td', {}, t.label,
				t.origin ? el('div', { class: 'soft' }, 'created by ' + t.origin) : ''), el('td', {}, percent(t.weight, all))))),
			threads.length > 12 ? el('div', { class: 'soft' }, plural(threads.length - 12, 'more thread')) : '');
		}
		/* Innermost first, as in a debugger. The middle of a very long chain is left out.
		 */
		const chain = tree.inverted ? path : path.slice().reverse(), cut = chain.length > 200 ? [...chain.slice(0, 100), -1, ...chain.slice(-100)] : chain;
		block('Call chain, innermost first', el('ol', { class: 'chain' }, ...cut.map(k => k < 0 ? el('li', { class: 'soft' }, plural(chain.length - 200, 'frame') + ' left out here') :
			el('li', {}, el('button', { class: 'link', onclick: () => options.zoom(k) }, labelOf(tree, k)), tree === p.tree && placeOf(p, tree.frame[k]) ? el('span', { class: 'soft', title: fullPlaceOf(p, tree.frame[k]) }, ' ' + placeOf(p, tree.frame[k])) : ''))));
		this.host.replaceChildren(...out);
	}
	copy(tree, i, button) {
		const path = tree.inverted ? pathOf(tree, i) : pathOf(tree, i).reverse();
		const text = path.map(k => labelOf(tree, k) + (tree === tree.profile.tree && fullPlaceOf(tree.profile, tree.frame[k]) ? '  called at ' + fullPlaceOf(tree.profile, tree.frame[k]) : '')).join('\n');
		const done = ok => { button.textContent = ok ? 'Copied' : 'Cannot copy'; setTimeout(() => { button.textContent = 'Copy context'; }, 1500); };
		if (navigator.clipboard) { navigator.clipboard.writeText(text).then(() => done(true), () => done(copyOldWay(text))); } else done(copyOldWay(text));
	}
}

function copyOldWay(text) {
	const area = el('textarea', { value: text });
	document.body.append(area);
	area.select();
	const ok = document.execCommand('copy');
	area.remove();
	return ok;
}
