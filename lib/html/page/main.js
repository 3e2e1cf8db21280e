// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connects the parts of the page. One state determines everything that is visible. It is in the
 * address after "#", so that Back works and a view can be bookmarked. Every change goes through
 * update().
 */
const VIEWS = [['flame', 'Flame graph'], ['tree', 'Call tree'], ['bottom', 'Bottom-up'], ['functions', 'Functions'], ['time', 'Over time'], ['recording', 'Recording']];
const FIRST = { view: 'flame', lines: false, fold: false, invert: false, up: false, zoom: 0, query: '', only: false, threads: null, range: null, colour: 'kind', width: 'both', func: -1, busy: false };
const SHORT = { view: 'v', lines: 'l', fold: 'f', invert: 'i', up: 'u', zoom: 'z', query: 'q', only: 'o', threads: 't', range: 'r', colour: 'c', width: 'w', func: 'fn', busy: 'b' };

let p, state = { ...FIRST }, full, fullBefore, matched = null, view = null, tracks = null, details = null, selected = 0, current = null, detailsOpen = false;
const trees = new Map();
const comparing = () => !!p.tree.before;

/* ---- the state and the address ---- */

function toHash() {
	const q = new URLSearchParams();
	for (const [key, short] of Object.entries(SHORT)) {
		const v = state[key];
		if (JSON.stringify(v) === JSON.stringify(FIRST[key]) || v === null) continue;
		q.set(short, v === true ? '1' : key === 'threads' ? [...v].join(' ') : key === 'range' ? v.map(t => t.toFixed(6)).join(' ') : v);
	}
	return '#' + q;
}

function fromHash() {
	const q = new URLSearchParams(location.hash.slice(1)), s = { ...FIRST, width: comparing() ? 'both' : 'after', colour: comparing() ? 'change' : 'kind' };
	for (const [key, short] of Object.entries(SHORT)) {
		const v = q.get(short);
		if (v === null) continue;
		if (key === 'threads') s.threads = new Set(v.split(' ').map(Number).filter(n => n >= 0 && n < p.threads.length));
		else if (key === 'range') s.range = v.split(' ').map(Number);
		else if (typeof FIRST[key] === 'boolean') s[key] = v === '1';
		else s[key] = typeof FIRST[key] === 'number' ? Number(v) || 0 : v;
	}
	if (!VIEWS.some(([name]) => name === s.view)) s.view = 'flame';
	if (s.threads && !s.threads.size) s.threads = null;
	if (s.range && !(s.range.length === 2 && s.range[0] < s.range[1])) s.range = null;
	if (!(s.func >= -1 && s.func < p.funcs.length)) s.func = -1;
	return s;
}

function update(changes, push = true) {
	const before = state;
	state = { ...state, ...changes };
	if (['lines', 'fold', 'invert', 'threads', 'range', 'only'].some(k => state[k] !== before[k]) && !('zoom' in changes) && (state.invert || ['lines', 'fold', 'invert'].some(k => state[k] !== before[k]))) state.zoom = 0;
	if (toHash() !== (location.hash || '#')) {
		try { history[push ? 'pushState' : 'replaceState']({ steps: push ? (history.state && history.state.steps || 0) + 1 : history.state && history.state.steps || 0 }, '', toHash()); } catch (e) { /* not allowed here: continue without history */ }
	}
	render(before);
}

/* ---- trees ---- */

/* Returns the tree that views show: with calls merged or separate, recursion folded or not,
 * inverted or not. */
function shownTree(inverted) {
	const key = `${state.lines} ${state.fold}`;
	let tree = p.tree;
	if (!state.lines || state.fold) {
		tree = trees.get(key);
		if (!tree) trees.set(key, tree = mergeCalls(p.tree, state.fold));
		else if (tree.stale) refresh(tree);
		tree.stale = false;
	}
	if (!inverted) return tree;
	let turned = trees.get('inverted ' + key);
	if (!turned) trees.set('inverted ' + key, turned = invertAll(tree));
	return turned;
}

function weigh() {
	let self = state.threads || state.range ? weightsOf(p, state.threads, state.range) : full, before = fullBefore;
	if (state.only && matched) {
		self = keepMatches(p.tree, self, matched);
		if (before) before = keepMatches(p.tree, before, matched);
	}
	if (self === p.tree.self && before === p.tree.before) return;
	p.tree.self = self;
	p.tree.before = before;
	sumUp(p.tree);
	for (const [key, tree] of trees) if (key.startsWith('inverted')) trees.delete(key); else tree.stale = true;
}

function searchFor(query) {
	const field = $('search');
	field.removeAttribute('aria-invalid');
	matched = null;
	if (!query) return;
	try {
		/* The search ignores case unless the expression has a capital letter, as in less
		 * and ripgrep. */
		const pattern = new RegExp(query, /[A-Z]/.test(query.replace(/\\[A-Z]/g, '')) ? '' : 'i');
		matched = Uint8Array.from(p.funcs, (f, i) => i && pattern.test(f.name) ? 1 : 0);
	} catch (e) {
		field.setAttribute('aria-invalid', 'true');
	}
}

function sayMatches() {
	const out = $('matched');
	out.className = '';
	$('only').hidden = !state.query;
	$('only').setAttribute('aria-pressed', state.only);
	if (!state.query) out.textContent = '';
	else if (!matched) { out.textContent = 'not a regular expression'; out.className = 'bad'; } else {
		const { frames, weight } = countMatches(current, matched);
		out.textContent = frames ? percent(weight, current.total[0]) + ' in ' + plural(frames, 'frame') : 'nothing matches';
	}
}

/* ---- rendering ---- */

function render(before) {
	const first = !before, changed = k => first || state[k] !== before[k];
	if (changed('query')) { searchFor(state.query); if ($('search').value !== state.query) $('search').value = state.query; }
	if (changed('query') || changed('only') || changed('threads') || changed('range')) weigh();
	current = shownTree(false);
	if (tracks && (changed('threads') || changed('range'))) tracks.set(state.threads, state.range);
	for (const b of $('tabs').children) {
		b.setAttribute('aria-selected', b.dataset.view === state.view);
		b.tabIndex = b.dataset.view === state.view ? 0 : -1;
	}
	sayMatches();
	if (first || ['threads', 'range', 'only', 'query'].some(changed)) chips();
	if (changed('view') || !view) {
		if (view && view.close) view.close();
		$('view').replaceChildren();
		hideTip();
		selected = 0;
		view = VIEW_MAKERS[state.view]($('view'));
		view.refresh(true);
	} else {
		view.refresh(['lines', 'fold', 'invert', 'up', 'threads', 'range', 'only', 'colour', 'width', 'busy'].some(changed) || state.only && changed('query'), changed);
	}
	if (['lines', 'fold', 'invert', 'threads', 'range', 'only', 'view'].some(changed)) showDetails();
	paintLegend();
	placeDetails();
}

function placeDetails() {
	$('details').hidden = !detailsOpen || state.view === 'recording';
	$('details-toggle').hidden = state.view === 'recording';
	$('details-toggle').setAttribute('aria-pressed', detailsOpen);
}

function chips() {
	const out = [], tag = (text, ...buttons) => out.push(el('span', { class: 'tag' }, text, ...buttons));
	const close = (label, changes) => el('button', { title: label, 'aria-label': label, onclick: () => update(changes) }, '✕');
	if (state.threads) tag(state.threads.size === 1 ? p.threads[[...state.threads][0]].label : plural(state.threads.size, 'thread'), close('Select all threads', { threads: null }));
	if (state.range) tag(`${seconds(state.range[0])} to ${seconds(state.range[1])}`, tracks && el('button', { title: 'Zoom to this time span (z)', onclick: zoomTime }, 'zoom'), close('Select the whole time', { range: null }));
	if (state.only && matched) tag('only contexts with ' + state.query, close('Show samples without a match too', { only: false }));
	if (out.length) out.push(el('span', { class: 'soft' }, `${plural(p.tree.total[0], 'sample')} selected, ${percent(p.tree.total[0], sumOf(full))} of all`));
	if (out.length && p.facts.thinned && (state.threads || state.range)) out.push(el('span', { class: 'soft' }, `(estimated from every ${count(p.facts.thinned)}th sample)`));
	$('chips').replaceChildren(...out);
}
const sums_ = new Map();
const sumOf = weights => { if (!sums_.has(weights)) sums_.set(weights, weights.reduce((a, b) => a + b, 0)); return sums_.get(weights); };

function zoomTime() {
	const zoomed = tracks.view[0] > p.firstTime || tracks.view[1] < p.lastTime;
	if (state.range && !(zoomed && tracks.view[0] === state.range[0])) tracks.look(state.range);
	else tracks.look([p.firstTime, Math.max(p.lastTime, p.firstTime + 1e-6)]);
}

function paintLegend() {
	$('legend').replaceChildren(...state.view === 'recording' ? [] : legendOf(p, comparing() && state.view !== 'flame' && state.view !== 'time' ? 'change' : state.colour).map(([colour, text]) => {
		const box = el('i');
		box.style.background = colour;
		return el('span', {}, box, text);
	}));
}

/* ---- details ---- */

function select(tree, i) {
	selected = i;
	details.tree = tree;
	showDetails();
}

function showDetails() {
	if (!detailsOpen || state.view === 'recording') return;
	const tree = details.tree && details.tree.n > selected && selected ? details.tree : current;
	details.show(tree, selected < tree.n ? selected : 0, state.view === 'flame');
}

/* Returns the threads in which the samples below a node were taken. */
function threadsOf(tree, i) {
	const base = tree.source || tree, out = [];
	if (base !== p.tree || p.threads.length < 2 && !p.threads.some(t => t.origin)) return out;
	const end = tree.end[i], inside = tree.map ? k => tree.map[k] >= i && tree.map[k] < end : k => k >= i && k < end;
	for (const t of p.threads) {
		if (state.threads && !state.threads.has(t.number)) continue;
		let a = t.first, b = t.last, weight = 0;
		if (state.range) { a = lowerBound(p.sampleTime, state.range[0], a, b); b = lowerBound(p.sampleTime, state.range[1], a, b); }
		for (; a < b; a++) if (inside(p.sampleNode[a])) weight += p.sampleWeight ? p.sampleWeight[a] : 1;
		if (weight) out.push({ label: t.label, weight, origin: t.origin });
	}
	return out.sort((x, y) => y.weight - x.weight);
}

/* ---- views ---- */

function toggle(text, key, title) {
	return el('button', { 'aria-pressed': state[key], title, onclick: e => { update({ [key]: !state[key] }); e.currentTarget.setAttribute('aria-pressed', state[key]); }, 'data-key': key }, text);
}
const treeTools = () => [toggle('By line', 'lines', 'Show calls from different lines of a function separately (l)'), toggle('Fold recursion', 'fold', 'Show a recursive function only once in each context (r)')];
function choice(label, key, options) {
	const s = el('select', { 'aria-label': label, onchange: e => update({ [key]: e.target.value }) }, ...options.map(([value, text]) => el('option', { value, selected: state[key] === value }, text)));
	return el('label', {}, label, s);
}
const refreshTools = tools => {
	for (const b of tools.querySelectorAll('[data-key]')) b.setAttribute('aria-pressed', state[b.dataset.key]);
	for (const s of tools.querySelectorAll('select')) s.value = s.dataset.key ? state[s.dataset.key] : s.value;
};
const message = text => el('div', { class: 'message' }, text);
const totalsOf = tree => () => [tree.total[0], tree.totalBefore ? tree.totalBefore[0] : 0];
const colourOfFunc = func => { const kind = kindOf(p.funcs[func].flags); return shade(KINDS[kind], hashText(p.funcs[func].name)); };

function flameMaker(host) {
	const colours = [['kind', 'kind of code'], ['module', 'module'], ['call', 'encoding of calls']];
	if (p.entries) colours.push(['depth', 'encoding stack']);
	if (comparing()) colours.unshift(['change', 'change']);
	const back = el('button', { title: 'Back to the previous view (Backspace)', onclick: () => history.back() }, '← Back');
	const reset = el('button', { title: 'Show everything (Escape)', onclick: () => update({ zoom: 0 }) }, 'Reset zoom');
	const tools = el('div', { class: 'tools' }, back, reset,
		el('span', { class: 'group' }, el('button', { title: 'Outermost frames at the top (u)', onclick: () => update({ up: false }) }, 'Icicle'), el('button', { title: 'Outermost frames at the bottom (u)', onclick: () => update({ up: true }) }, 'Flame')),
		toggle('Invert', 'invert', 'Start with the functions in which samples were taken, then show their callers (v)'), ...treeTools(),
		choice('colour', 'colour', colours), comparing() ? choice('width', 'width', [['both', 'mean of both'], ['after', p.facts.after || 'after'], ['before', p.facts.before || 'before']]) : null);
	const place = el('div', { class: 'fill' }), rows = el('span', { class: 'end' });
	tools.append(rows);
	host.append(tools, place);
	const flame = new FlameView(place, { label: 'Flame graph', measured: n => { rows.textContent = n > 60 ? plural(n, 'row') + '; press x to go down to the next branch' : ''; }, up: () => state.up, select: i => select(flame.tree, i), zoom: i => { if (i !== state.zoom) update({ zoom: i }); } });
	return {
		flame,
		refresh(all, changed) {
			const [icicle, up] = tools.querySelectorAll('.group button');
			refreshTools(tools);
			icicle.setAttribute('aria-pressed', !state.up);
			up.setAttribute('aria-pressed', state.up);
			const tree = shownTree(state.invert), zoom = state.zoom < tree.n ? state.zoom : 0;
			flame.matched = matched;
			if (all || flame.tree !== tree) {
				flame.show(tree, painter(tree, state.colour), state.width, zoom);
				if (!changed || changed('up') || changed('invert')) flame.scroll.scrollTop = state.up ? flame.scroll.scrollHeight : 0;
				flame.reveal(zoom, true);
			} else if (changed('zoom')) flame.zoomTo(zoom);
			else flame.surface.touch();
			reset.disabled = !state.zoom;
			back.disabled = !(history.state && history.state.steps);
			place.querySelectorAll('.message').forEach(m => m.remove());
			if (!tree.width[0]) place.append(message('No sample is selected.'));
		},
		next(step) { return nextIn(flame, flame.tree, step); },
		focus: () => flame.canvas.focus(),
		close: () => flame.surface.close(),
	};
}

/* Returns the next matching node in the order of the tree, or -1. */
function nextMatch(tree, from, step) {
	for (let k = 1, i = from; k <= tree.n; k++) {
		i = (i + step + tree.n) % tree.n;
		if (i && matched[funcOf(tree, i)] && (tree.total[i] || tree.totalBefore && tree.totalBefore[i])) return i;
	}
	return -1;
}
function nextIn(flame, tree, step) {
	const i = nextMatch(tree, flame.focus, step);
	if (i < 0) return;
	flame.select(i);
	const px = tree.width[i] / (flame.v1 - flame.v0) * flame.surface.width, seen = tree.x[i] + tree.width[i] > flame.v0 && tree.x[i] < flame.v1;
	if (!seen || px < 8) update({ zoom: tree.parent[i] > 0 && px > 0.5 && seen ? tree.parent[i] : i });
	flame.reveal(i, false);
	flame.hover = i;
	flame.surface.touch();
}

function treeMaker(inverted) {
	return host => {
		const tools = el('div', { class: 'tools' }, ...treeTools(), el('span', { class: 'end' }, '→ ←: open, close; *: open all rows below; x: open the heaviest path'));
		const place = el('div', { class: 'fill' });
		host.append(tools, place);
		let tree = current;
		const list = new TreeList(place, {
			label: inverted ? 'Bottom-up: functions and their callers' : 'Call tree', title: inverted ? 'function, then its callers' : 'function', placeTitle: inverted ? 'module' : 'called at',
			comparing: comparing(), inverted, select: item => select(tree, item.node), matched: f => matched && matched[f], colour: item => colourOfFunc(item.func), totals: () => totalsOf(tree)(),
			enter: item => inverted ? update({ view: 'functions', func: item.func }) : update({ view: 'flame', invert: false, zoom: item.node }),
		});
		return {
			list,
			refresh(all) {
				refreshTools(tools);
				tree = current;
				if (all) list.show(inverted ? bottomUp(tree) : topDown(tree)); else list.list.paint();
				place.querySelectorAll('.message').forEach(m => m.remove());
				if (!list.list.rows.length) place.append(message('No sample is selected.'));
			},
			next(step) {
				const row = list.list.rows[list.list.current];
				if (!inverted) {
					const i = nextMatch(tree, row ? row.node : 0, step);
					if (i >= 0) list.reach(pathOf(tree, i).map(k => item => item.node === k));
					return;
				}
				const { rows } = list.list;
				for (let k = 1; k <= rows.length; k++) {
					const at = ((list.list.current + step * k) % rows.length + rows.length) % rows.length;
					if (matched[rows[at].func]) { list.list.go(at); return; }
				}
			},
			focus: () => list.list.scroll.focus(),
			close: () => list.close(),
		};
	};
}

function functionsMaker(host) {
	const left = el('div', { class: 'fill' }), right = el('div', { class: 'fill' }), callers = el('div', { class: 'half' }), callees = el('div', { class: 'half' });
	host.append(el('div', { class: 'sandwich' }, left, right));
	right.append(callers, callees);
	const headers = [el('h3'), el('h3')];
	callers.append(headers[0]);
	callees.append(headers[1]);
	let tree = current, sums = null, shownFor = null;
	const table = new FunctionTable(left, {
		label: 'Functions', comparing: comparing(), matched: f => matched && matched[f], colour: colourOfFunc, totals: () => totalsOf(tree)(),
		select: func => { if (func !== state.func) update({ func }, false); }, enter: func => update({ func, query: '^' + p.funcs[func].name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') + '$', view: 'flame' }),
	});
	/* A click selects the function that was clicked. */
	const lead = flame => i => { const f = i ? funcOf(flame.tree, i) : -1; if (f > 0 && f !== state.func) update({ func: f }); };
	const up = new FlameView(callers, { label: 'Callers', up: () => true, select: () => {}, zoom: i => lead(up)(i), rootless: true });
	const down = new FlameView(callees, { label: 'Callees', up: () => false, select: () => {}, zoom: i => lead(down)(i), rootless: true });
	return {
		table,
		refresh(all, changed) {
			tree = current;
			if (all || !sums) { sums = sumFunctions(tree); shownFor = null; }
			if (all || changed('query')) table.show(tree, sums, state.query ? matched || undefined : null);
			if (state.func <= 0 && table.rows.length) state.func = table.rows[0].func;
			table.reach(state.func);
			if (shownFor === state.func && !all) { up.mark(matched); down.mark(matched); return; }
			shownFor = state.func;
			const nodes = state.func > 0 ? nodesOf(tree, state.func) : [], name = state.func > 0 ? p.funcs[state.func].name : '';
			headers[0].textContent = 'Callers of ' + name;
			headers[1].textContent = 'Callees of ' + name;
			for (const [flame, made] of [[up, invertAt(tree, nodes)], [down, calleesAt(tree, nodes)]]) {
				flame.matched = matched;
				flame.show(made, painter(made, comparing() ? 'change' : 'kind'), comparing() ? 'both' : 'after', made.n > 1 ? 1 : 0);
			}
			up.scroll.scrollTop = up.scroll.scrollHeight;
			if (nodes.length) select(tree, nodes[0]);
		},
		next(step) {
			const { rows, current: at } = table.list;
			if (rows.length) table.list.go(((at + step) % rows.length + rows.length) % rows.length);
		},
		focus: () => table.list.scroll.focus(),
		close: () => { table.close(); up.surface.close(); down.surface.close(); },
	};
}

function timeMaker(host) {
	const which = el('select', { 'aria-label': 'thread', onchange: e => update({ threads: new Set([Number(e.target.value)]) }) }), place = el('div', { class: 'fill' });
	const busy = p.threads.filter(t => t.samples).sort((a, b) => b.samples - a.samples || a.number - b.number);
	which.append(...busy.slice(0, 1000).map(t => el('option', { value: t.number }, `${t.label} (${plural(t.samples, 'sample')})`)));
	if (!busy.length) {
		host.append(message(comparing() ? 'A comparison has no time data.' : 'The recording has no samples.'));
		return { refresh() {}, next() {}, focus() {} };
	}
	const tools = el('div', { class: 'tools' }, el('label', {}, 'thread', which), toggle('Without gaps', 'busy', 'Leave out the time when the thread did not run'), ...treeTools(), el('button', { title: 'Show the whole time (Escape)', onclick: () => chart.reset() }, 'Reset zoom'),
		el('span', { class: 'end' }, 'Ctrl + wheel: zoom; drag: move; click: zoom to the frame'));
	const origin = el('div', { class: 'origin soft' });
	host.append(tools, origin, place);
	const chart = new ChartView(place, { select: i => select(chart.tree, i) });
	return {
		chart,
		refresh(all) {
			refreshTools(tools);
			const thread = (state.threads && busy.find(t => state.threads.has(t.number))) || busy[0];
			which.value = thread.number;
			origin.textContent = origin.title = thread.origin ? 'created by ' + thread.origin : '';
			chart.matched = matched;
			if (all) chart.show(current, thread, state.range, state.busy, painter(current, comparing() ? 'kind' : state.colour)); else chart.surface.touch();
		},
		next() {},
		focus: () => chart.canvas.focus(),
		close: () => chart.close(),
	};
}

const VIEW_MAKERS = {
	flame: flameMaker, tree: treeMaker(false), bottom: treeMaker(true), functions: functionsMaker, time: timeMaker,
	recording: host => ({
		refresh(all) { if (all) showRecording(host, p, { search: query => update({ view: 'flame', invert: false, query, zoom: 0 }), thread: t => update({ view: 'flame', threads: new Set([t.number]), zoom: 0 }) }); },
		next() {}, focus() { host.firstChild.focus(); },
	}),
};

/* ---- keys ---- */

const KEYS = {
	'Everywhere': [['1 – 6', 'select a view'], ['/', 'search'], ['n  N', 'next, previous match'], ['o', 'show only samples with a match'], ['i', 'show details of the selected frame'], ['l', 'separate calls by line'], ['r', 'fold recursion'],
		['z', 'zoom to the selected time span'], ['t', 'colours: system, light, dark'], ['Backspace', 'previous view'], ['Escape', 'reset the zoom'], ['?', 'this help']],
	'Flame graph': [['arrows', 'go to the caller, a callee or a neighbour'], ['Enter', 'zoom to the frame'], ['x', 'follow the heaviest calls to the next branch'], ['+  −  w  s', 'zoom in, zoom out'], ['a  d', 'move left, right'], ['u', 'outermost frames at the top or at the bottom'], ['v', 'invert: start with the innermost frames'], ['click', 'zoom to the frame'],
		['Ctrl + wheel', 'zoom in, zoom out'], ['drag', 'move']],
	'Trees and tables': [['↑ ↓ PgUp PgDn', 'move'], ['→ ←', 'open, close'], ['*', 'open all rows below'], ['x', 'open the heaviest path'], ['Enter', 'show in the flame graph; bottom-up: show callers and callees']],
	'Threads and time': [['drag', 'select a time span'], ['click', 'select the frame at this time'], ['double click', 'select the whole time'], ['Ctrl + wheel', 'zoom in, zoom out'], ['← →', 'move the time span'], ['Shift + ← →', 'change the length of the time span']],
};
function showHelp() {
	const box = $('help-box');
	box.replaceChildren(el('h2', {}, 'Keys'), el('div', { class: 'columns' }, ...Object.entries(KEYS).map(([title, keys]) => el('div', {}, el('h3', {}, title), el('dl', {}, ...keys.flatMap(([k, text]) => [el('dt', {}, el('kbd', {}, k)), el('dd', {}, text)]))))),
		el('p', { class: 'soft' }, 'The search takes a regular expression and looks at the names of functions. It ignores case unless the expression has a capital letter.'),
		el('p', {}, el('button', { onclick: () => box.close(), autofocus: true }, 'Close')));
	if (!box.open) box.showModal();
	/* Focusing the button scrolls to the end. */
	box.scrollTop = 0;
}

const THEMES = [['system', '◐', 'system'], ['light', '☀', 'light'], ['dark', '☾', 'dark']];
function setTheme(name, keep) {
	theme = name;
	document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
	const [, sign, text] = THEMES.find(t => t[0] === name);
	$('theme').textContent = sign;
	$('theme').setAttribute('aria-label', 'Colours: ' + text);
	if (keep) try { localStorage.setItem('pcce-theme', name); } catch (e) { /* the theme then lasts for this visit only */ }
	if (!view) return;
	if (view.flame) view.flame.recolour(painter(view.flame.tree, state.colour));
	view.refresh(true, () => false);
	if (tracks) { tracks.surface.touch(); tracks.scale.touch(); }
	paintLegend();
}
const nextTheme = () => setTheme(THEMES[(THEMES.findIndex(t => t[0] === theme) + 1) % 3][0], true);

function onKey(e) {
	const typing = e.target.closest && e.target.closest('input, select, textarea'), field = $('search');
	if (e.ctrlKey || e.metaKey || e.altKey || $('help-box').open) return;
	if (typing) {
		if (e.target !== field) return;
		if (e.key === 'Escape') { if (state.query) update({ query: '', only: false }); else view.focus(); } else if (e.key === 'Enter') { if (matched) view.next(e.shiftKey ? -1 : 1); } else if (e.key === 'ArrowDown') view.focus();
		else return;
		e.preventDefault();
		return;
	}
	const flip = key => update({ [key]: !state[key] });
	if (e.key >= '1' && e.key <= String(VIEWS.length)) { update({ view: VIEWS[e.key - 1][0] }); view.focus(); } else if (e.key === '/') { field.focus(); field.select(); } else if (e.key === 'n' || e.key === 'N') { if (matched) view.next(e.key === 'n' ? 1 : -1); } else if (e.key === 'o') { if (matched) flip('only'); } else if (e.key === 'i') $('details-toggle').click();
	else if (e.key === 'l') flip('lines');
	else if (e.key === 'r') flip('fold');
	else if (e.key === 'u' || e.key === 'f') flip('up');
	else if (e.key === 'v') flip('invert');
	else if (e.key === 't') nextTheme();
	else if (e.key === 'z' && tracks) zoomTime();
	else if (e.key === '?') showHelp();
	else if (e.key === 'Backspace') { if (history.state && history.state.steps) history.back(); } else if (e.key === 'Escape') {
		if (state.zoom) update({ zoom: 0 });
		else if (view.flame) view.flame.zoomTo(0);
		else if (view.chart) view.chart.reset();
	} else return;
	e.preventDefault();
}

/* ---- start ---- */

function start(profile) {
	p = profile;
	full = p.tree.self;
	fullBefore = p.tree.before;
	const f = p.facts, title = p.title || 'profile', lasted = p.lastTime - p.firstTime;
	$('title').textContent = $('title').title = title;
	document.title = title + ' – pcce';
	$('facts').textContent = [comparing() ? `${f.before || 'before'} → ${f.after || 'after'}` : '', f.samples !== undefined ? (f.was ? count(f.was.samples) + ' → ' : '') + plural(f.samples, 'sample') + (f.event ? ' of ' + f.event : '') : '', lasted > 0 ? seconds(lasted) : '',
		p.threads.length > 1 ? plural(p.threads.filter(t => t.samples).length, 'thread') : '', f.unique_contexts !== undefined && !f.was ? plural(f.unique_contexts, 'different context') : '', f.max_depth && !f.was ? 'up to ' + plural(f.max_depth, 'frame') + ' deep' : ''].filter(Boolean).join(' · ');
	if (f.samples && f.exact !== undefined) {
		const all = f.was ? joint(f, f.was) : f, sure = all.exact / all.samples;
		$('quality').replaceChildren(qualityBar(all), el('span', {}, (all.exact === all.samples ? '100' : Math.min(99.99, Math.floor(sure * 10000) / 100).toFixed(2)) + '% exact'));
	} else $('quality').hidden = true;
	$('quality').addEventListener('click', () => update({ view: 'recording' }));
	$('tabs').append(...VIEWS.map(([name, text], i) => {
		const b = el('button', { role: 'tab', title: `${text} (${i + 1})`, onclick: () => update({ view: name }) }, text);
		b.dataset.view = name;
		return b;
	}));
	$('tabs').addEventListener('keydown', e => {
		const d = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
		if (!d) return;
		const at = (VIEWS.findIndex(([name]) => name === state.view) + d + VIEWS.length) % VIEWS.length;
		update({ view: VIEWS[at][0] });
		$('tabs').children[at].focus();
		e.preventDefault();
		e.stopPropagation();
	});
	details = new Details($('details'), { zoom: i => { if (state.view === 'flame') { update({ zoom: i }); select(view.flame.tree, i); } else if (details.tree) select(details.tree, i); },
		functions: func => update({ view: 'functions', func }), search: query => update({ query }), threads: threadsOf });
	let timer = 0;
	$('search').addEventListener('input', e => { clearTimeout(timer); timer = setTimeout(() => update({ query: e.target.value, only: state.only && !!e.target.value }, false), p.tree.n > 200000 ? 150 : 0); });
	$('only').addEventListener('click', () => update({ only: !state.only }));
	$('details-toggle').addEventListener('click', () => { detailsOpen = !detailsOpen; placeDetails(); showDetails(); });
	$('theme').addEventListener('click', nextTheme);
	$('help').addEventListener('click', showHelp);
	addEventListener('keydown', onKey);
	addEventListener('popstate', () => { const before = state; state = fromHash(); render(before); });
	systemDark.addEventListener('change', () => setTheme(theme));
	if (p.sampleTime.length > 1) {
		$('tracks').hidden = false;
		tracks = new Tracks($('tracks'), p, { threads: threads => update({ threads }), range: range => update({ range }), pick: i => {
			const node = current.map ? current.map[i] : i;
			if (state.view === 'flame' && !state.invert) { view.flame.select(node); view.flame.hover = node; if (!view.flame.tree.width[node]) return; update({ zoom: 0 }); view.flame.reveal(node, false); } else if (state.view === 'tree') view.list.reach(pathOf(current, node).map(k => item => item.node === k));
			else if (state.view === 'functions') update({ func: p.func[p.tree.frame[i]] });
			else select(current, node);
		} });
		tracks.set(null, null);
	}
	state = fromHash();
	if (!f.samples && f.samples !== undefined && state.view !== 'recording') {
		$('view').append(message('The recording has no samples.'));
		$('tabs').hidden = $('find').hidden = $('details-toggle').hidden = true;
		return;
	}
	render(null);
}

let kept = 'system';
try { kept = localStorage.getItem('pcce-theme') || 'system'; } catch (e) { /* storage is not available */ }
setTheme(THEMES.some(t => t[0] === kept) ? kept : 'system');
readProfile($('data').textContent.trim()).then(profile => {
	$('data').textContent = '';
	start(profile);
	document.documentElement.dataset.ready = '1';
	performance.mark('pcce-ready');
	/* The sizes are known and the first drawing is visible in the second frame from here. */
	requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('pcce-drawn')));
}).catch(e => {
	$('view').append(message('Cannot show this page: ' + (typeof DecompressionStream === 'undefined' ? 'the browser cannot decompress it; use a browser of 2023 or later.' : e.message)));
	document.documentElement.dataset.ready = 'failed';
	throw e;
});
