// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes the views. A maker fills its host and returns the view, which has these functions:
 *
 * refresh(all, changed)   shows the state. all: the data can be different. changed(key): whether
 *                         this part of the state is different. It is missing if the view is new.
 * next(step)              goes to the next match of the search (1) or to the previous one (-1)
 * focus()                 takes the keys
 * close()                 ends the view
 */
const totalsOf = tree => [tree.total[0], tree.totalBefore ? tree.totalBefore[0] : 0];
const colourOfFunc = func => {
	const kind = kindOf(p.funcs[func].flags);
	return shade(KINDS[kind], hashText(p.funcs[func].full));
};

const modulo = (i, n) => ((i % n) + n) % n;

/* Shows a message in an empty view, or removes it. */
function sayEmpty(place, empty) {
	place.querySelectorAll('.message').forEach(m => m.remove());
	if (empty) place.append(message('No sample is selected.'));
}

/* ---- flame graph ---- */

function colourChoice() {
	const colours = [
		['kind', 'kind of code'],
		['module', 'module'],
		['call', 'cost of calls to pcce'],
	];
	if (p.entries) colours.push(['depth', 'saved calls']);
	if (comparing()) colours.unshift(['change', 'change']);
	return choice('colour', 'colour', colours);
}

const widthChoice = () =>
	choice('width', 'width', [
		['both', 'mean of both'],
		['after', p.facts.after || 'after'],
		['before', p.facts.before || 'before'],
	]);

/* Returns the toolbar of the flame graph, and those of its controls that refresh() changes. */
function flameTools() {
	const control = (text, title, onclick) => el('button', { title, onclick }, text);
	const back = control('← Back', 'Back to the previous view (Backspace)', () =>
			history.back()
		),
		reset = control('Reset zoom', 'Show everything (Escape)', () =>
			update({ zoom: 0 })
		),
		icicle = control('Icicle', 'Outermost frames at the top (u)', () =>
			update({ up: false })
		),
		up = control('Flame', 'Outermost frames at the bottom (u)', () =>
			update({ up: true })
		),
		rows = el('span', { class: 'end' });
	const tools = el(
		'div',
		{ class: 'tools' },
		back,
		reset,
		el('span', { class: 'group' }, icicle, up),
		toggle(
			'Invert',
			'invert',
			'Start with the functions in which samples were taken, ' +
				'then show their callers (v)'
		),
		...treeTools(),
		colourChoice(),
		comparing() ? widthChoice() : null,
		rows
	);
	const refresh = () => {
		refreshTools(tools);
		icicle.setAttribute('aria-pressed', !state.up);
		up.setAttribute('aria-pressed', state.up);
		reset.disabled = !state.zoom;
		back.disabled = !stepsBack();
	};
	return { tools, rows, refresh };
}

function flameMaker(host) {
	const { tools, rows, refresh } = flameTools(),
		place = el('div', { class: 'fill' });
	host.append(tools, place);
	const flame = new FlameView(place, {
		label: 'Flame graph',
		measured: n => {
			rows.textContent =
				n > 60
					? plural(n, 'row') +
						'; press x to go down to the next branch'
					: '';
		},
		up: () => state.up,
		select: i => select(flame.tree, i),
		zoom: i => {
			if (i !== state.zoom) update({ zoom: i });
		},
	});
	return {
		flame,
		refresh(all, changed) {
			const tree = shownTree(state.invert),
				zoom = state.zoom < tree.n ? state.zoom : 0;
			refresh();
			flame.matched = matched;
			if (all || flame.tree !== tree) {
				flame.show(tree, painter(tree, state.colour), state.width, zoom);
				if (!changed || changed('up') || changed('invert'))
					flame.scroll.scrollTop = state.up
						? flame.scroll.scrollHeight
						: 0;
				flame.reveal(zoom, true);
			} else if (changed('zoom')) flame.zoomTo(zoom);
			else flame.surface.touch();
			sayEmpty(place, !tree.width[0]);
		},
		next: step => nextIn(flame, flame.tree, step),
		focus: () => flame.canvas.focus(),
		close: () => flame.surface.close(),
	};
}

/* Returns the next matching node in the order of the tree, or -1. */
function nextMatch(tree, from, step) {
	for (let k = 1, i = from; k <= tree.n; k++) {
		i = (i + step + tree.n) % tree.n;
		if (
			i &&
			matched[funcOf(tree, i)] &&
			(tree.total[i] || (tree.totalBefore && tree.totalBefore[i]))
		)
			return i;
	}
	return -1;
}

/* Selects the next matching node of the flame graph, and zooms where it is too narrow. */
function nextIn(flame, tree, step) {
	const i = nextMatch(tree, flame.focus, step);
	if (i < 0) return;
	flame.select(i);
	const px = (tree.width[i] / (flame.v1 - flame.v0)) * flame.surface.width,
		seen = tree.x[i] + tree.width[i] > flame.v0 && tree.x[i] < flame.v1;
	if (!seen || px < 8)
		update({ zoom: tree.parent[i] > 0 && px > 0.5 && seen ? tree.parent[i] : i });
	flame.reveal(i, false);
	flame.hover = i;
	flame.surface.touch();
}

/* ---- trees ---- */

function listOptions(inverted) {
	const enter = inverted
		? item => update({ view: 'functions', func: item.func })
		: item => update({ view: 'flame', invert: false, zoom: item.node });
	return {
		label: inverted ? 'Bottom-up: functions and their callers' : 'Call tree',
		title: inverted ? 'function, then its callers' : 'function',
		placeTitle: inverted ? 'module' : 'called at',
		placeless: inverted ? !hasModules(p) : !hasPlaces(p),
		comparing: comparing(),
		inverted,
		matched: f => matched && matched[f],
		colour: item => colourOfFunc(item.func),
		enter,
	};
}

/* Goes to the next visible row whose function matches. */
function nextRow(list, step) {
	const { rows, current: from } = list;
	for (let k = 1; k <= rows.length; k++) {
		const at = modulo(from + step * k, rows.length);
		if (matched[rows[at].func]) {
			list.go(at);
			return;
		}
	}
}

/* Goes to the next matching node, and opens the path to it. */
function nextNode(list, tree, step) {
	const row = list.list.rows[list.list.current],
		i = nextMatch(tree, row ? row.node : 0, step);
	if (i >= 0) list.reach(pathOf(tree, i).map(k => item => item.node === k));
}

function treeMaker(inverted, host) {
	const help = '→ ←: open, close; *: open all rows below; x: open the heaviest path',
		tools = el(
			'div',
			{ class: 'tools' },
			...treeTools(),
			el('span', { class: 'end' }, help)
		),
		place = el('div', { class: 'fill' });
	host.append(tools, place);
	let tree = current;
	const list = new TreeList(place, {
		...listOptions(inverted),
		select: item => select(tree, item.node),
		totals: () => totalsOf(tree),
		amount: n => amount(tree.profile, n),
	});
	return {
		list,
		refresh(all) {
			refreshTools(tools);
			tree = current;
			if (all) list.show(inverted ? bottomUp(tree) : topDown(tree));
			else list.list.paint();
			sayEmpty(place, !list.list.rows.length);
		},
		next: step => (inverted ? nextRow(list.list, step) : nextNode(list, tree, step)),
		focus: () => list.list.scroll.focus(),
		close: () => list.close(),
	};
}

/* ---- functions ---- */

/* Returns a flame graph of callers or callees. A click selects the function that was clicked. */
function relativesOf(host, label, up) {
	const flame = new FlameView(host, {
		label,
		up: () => up,
		select: () => {},
		zoom: i => {
			const f = i ? funcOf(flame.tree, i) : -1;
			if (f > 0 && f !== state.func) update({ func: f });
		},
		rootless: true,
	});
	return flame;
}

function showRelatives(flame, tree) {
	flame.matched = matched;
	flame.show(
		tree,
		painter(tree, comparing() ? 'change' : 'kind'),
		comparing() ? 'both' : 'after',
		tree.n > 1 ? 1 : 0
	);
}

/* Makes the halves for the callers and the callees of a function. */
class Relatives {
	constructor(host) {
		this.headers = [el('h3'), el('h3')];
		const halves = this.headers.map(h => el('div', { class: 'half' }, h));
		host.append(...halves);
		this.up = relativesOf(halves[0], 'Callers', true);
		this.down = relativesOf(halves[1], 'Callees', false);
	}
	/* Returns the nodes of the function. */
	show(tree, func) {
		const nodes = func > 0 ? nodesOf(tree, func) : [],
			name = func > 0 ? p.funcs[func].name : '';
		this.headers[0].textContent = 'Callers of ' + name;
		this.headers[1].textContent = 'Callees of ' + name;
		showRelatives(this.up, invertAt(tree, nodes));
		showRelatives(this.down, calleesAt(tree, nodes));
		this.up.scroll.scrollTop = this.up.scroll.scrollHeight;
		return nodes;
	}
	mark() {
		this.up.mark(matched);
		this.down.mark(matched);
	}
	close() {
		this.up.surface.close();
		this.down.surface.close();
	}
}

function functionsMaker(host) {
	const left = el('div', { class: 'fill' }),
		right = el('div', { class: 'fill' });
	host.append(el('div', { class: 'sandwich' }, left, right));
	let tree = current,
		sums = null,
		shownFor = null;
	const table = new FunctionTable(left, {
		label: 'Functions',
		comparing: comparing(),
		matched: f => matched && matched[f],
		colour: colourOfFunc,
		totals: () => totalsOf(tree),
		select: func => {
			if (func !== state.func) update({ func }, false);
		},
		enter: func =>
			update({ func, query: patternOf(p.funcs[func].full), view: 'flame' }),
	});
	const relatives = new Relatives(right);
	return {
		table,
		refresh(all, changed) {
			tree = current;
			if (all || !sums) {
				sums = sumFunctions(tree);
				shownFor = null;
			}
			if (all || changed('query'))
				table.show(tree, sums, state.query ? matched || undefined : null);
			if (state.func <= 0 && table.rows.length) state.func = table.rows[0].func;
			if (!all && changed('full')) table.list.paint();
			table.reach(state.func);
			if (shownFor === state.func && !all && !changed('full')) {
				relatives.mark();
				return;
			}
			shownFor = state.func;
			const nodes = relatives.show(tree, state.func);
			if (nodes.length) select(tree, nodes[0]);
		},
		next(step) {
			const { rows, current: at } = table.list;
			if (rows.length) table.list.go(modulo(at + step, rows.length));
		},
		focus: () => table.list.scroll.focus(),
		close: () => {
			table.close();
			relatives.close();
		},
	};
}

/* ---- source ---- */

/* Returns the controls above the source: the function, a choice of its files, and whether only the
 * zoomed frame counts. */
function sourceTools(choose) {
	const name = el('h3', { class: 'subject' }),
		onchange = e => choose(+e.target.value),
		files = el('select', { 'aria-label': 'file', onchange }),
		here = toggle(
			'Only in the zoomed frame',
			'here',
			'Count only samples below the frame to which the flame graph is zoomed'
		),
		estimated = p.facts.thinned
			? el(
					'span',
					{ class: 'soft' },
					`self is of every ${count(p.facts.thinned)}th sample`
				)
			: null,
		tools = el(
			'div',
			{ class: 'tools' },
			name,
			here,
			el('label', {}, 'file', files),
			estimated
		);
	const refresh = (func, list, file) => {
		name.textContent = name.title = func > 0 ? p.funcs[func].name : '';
		here.disabled = !state.zoom || state.invert;
		here.setAttribute('aria-pressed', state.here);
		files.replaceChildren(
			...list.map(f =>
				el(
					'option',
					{ value: f, selected: f === file, title: p.strings[f] },
					p.strings[f].split('/').slice(-2).join('/')
				)
			)
		);
		files.parentNode.hidden = !list.length;
	};
	return { tools, refresh };
}

function sourceMaker(host) {
	const left = el('div', { class: 'fill narrow' }),
		right = el('div', { class: 'fill' }),
		place = el('div', { class: 'fill' });
	host.append(el('div', { class: 'sandwich' }, left, right));
	let lines = new Map(),
		list = [],
		file = 0;
	const show = () => {
		refresh(state.func, list, file);
		source.show(file ? sourceRows(file, lines.get(file)) : []);
		place.querySelectorAll('.message').forEach(m => m.remove());
		if (!file) place.append(message('No line of this function is known.'));
		else if (!p.sources.has(file))
			place.append(message(`The page lacks the text of ${p.strings[file]}.`));
	};
	const { tools, refresh } = sourceTools(chosen => {
		file = chosen;
		show();
	});
	right.append(tools, place);
	const table = new FunctionTable(left, {
		label: 'Functions',
		comparing: false,
		matched: f => matched && matched[f],
		colour: colourOfFunc,
		totals: () => totalsOf(current),
		select: func => {
			if (func !== state.func) update({ func }, false);
		},
		enter: () => source.list.scroll.focus(),
	});
	const source = new SourceList(place, row => {
		const [callee] = [...row.callees].sort(([, a], [, b]) => b - a)[0] || [];
		if (callee) update({ func: callee });
	});
	let shownFor = null;
	return {
		table,
		refresh(all, changed) {
			if (all || changed('query'))
				table.show(
					current,
					sumFunctions(current),
					state.query ? matched || undefined : null
				);
			if (state.func <= 0 && table.rows.length) state.func = table.rows[0].func;
			if (!all && changed('full')) table.list.paint();
			table.reach(state.func);
			if (shownFor === state.func && !all) return;
			shownFor = state.func;
			const inside =
				state.here && state.zoom && !state.invert
					? [state.zoom, current.end[state.zoom]]
					: null;
			lines = linesOf(state.func, inside);
			list = filesOf(lines);
			file = list[0] || 0;
			show();
		},
		next(step) {
			const { rows, current: at } = table.list;
			if (rows.length) table.list.go(modulo(at + step, rows.length));
		},
		focus: () => source.list.scroll.focus(),
		close: () => {
			table.close();
			source.list.close();
		},
	};
}

/* ---- time ---- */

function threadChoice(threads) {
	const select = el('select', {
		'aria-label': 'thread',
		onchange: e => update({ threads: new Set([Number(e.target.value)]) }),
	});
	for (const t of threads.slice(0, 1000)) {
		const text = `${t.label} (${plural(t.samples, 'sample')})`;
		select.append(el('option', { value: t.number }, text));
	}
	return select;
}

function timeTools(which, reset) {
	const title = 'Show the whole time (Escape)',
		help = 'Ctrl + wheel: zoom; drag: move; click: zoom to the frame';
	return el(
		'div',
		{ class: 'tools' },
		el('label', {}, 'thread', which),
		toggle('Without gaps', 'busy', 'Leave out the time when the thread did not run'),
		...treeTools(),
		el('button', { title, onclick: reset }, 'Reset zoom'),
		el('span', { class: 'end' }, help)
	);
}

function timeMaker(host) {
	const threads = busyThreads(p).sort((a, b) => b.samples - a.samples),
		which = threadChoice(threads),
		tools = timeTools(which, () => chart.reset()),
		origin = el('div', { class: 'origin soft' }),
		place = el('div', { class: 'fill' });
	host.append(tools, origin, place);
	const chart = new ChartView(place, { select: i => select(chart.tree, i) });
	return {
		chart,
		refresh(all) {
			refreshTools(tools);
			const chosen =
					state.threads &&
					threads.find(t => state.threads.has(t.number)),
				thread = chosen || threads[0];
			which.value = thread.number;
			origin.textContent = origin.title = thread.origin
				? 'created by ' + thread.origin
				: '';
			chart.matched = matched;
			if (all) {
				const colours = painter(
					current,
					comparing() ? 'kind' : state.colour
				);
				chart.show(current, thread, state.range, state.busy, colours);
			} else chart.surface.touch();
		},
		next() {},
		focus: () => chart.canvas.focus(),
		close: () => chart.close(),
	};
}

/* ---- heatmap ---- */

/* Returns the choice of the length of columns. */
function columnChoice() {
	const lengths = HEAT_LENGTHS.filter(l => heatLengths(p, innerWidth).includes(l)).slice(
		0,
		6
	);
	return choice('column', 'column', [[0, 'automatic'], ...lengths.map(l => [l, seconds(l)])]);
}

function heatMaker(host) {
	const about = el('span', { class: 'end' }),
		column = columnChoice(),
		tools = el('div', { class: 'tools' }, column, ...treeTools(), about),
		top = el('div', { class: 'heat-part' }),
		place = el('div', { class: 'fill' });
	host.append(tools, top, place);
	const heat = new Heatmap(top, {
			range: range => update({ range }),
			measured: text => {
				about.textContent = text;
			},
		}),
		flame = new FlameView(place, {
			label: 'Flame graph of the selected time',
			up: () => false,
			select: i => select(flame.tree, i),
			zoom: i => flame.zoomTo(i),
		});
	return {
		flame,
		refresh(all) {
			refreshTools(tools);
			column.querySelector('select').value = state.column;
			heat.show(p, state.threads, keptNodes(null), state.column, state.range);
			flame.matched = matched;
			if (all)
				flame.show(current, painter(current, state.colour), state.width, 0);
			else flame.surface.touch();
			sayEmpty(place, !current.total[0]);
		},
		next: step => {
			const i = nextMatch(current, flame.focus, step);
			if (i < 0) return;
			flame.select(i);
			flame.reveal(i, false);
		},
		focus: () => heat.canvas.focus(),
		close: () => {
			heat.close();
			flame.surface.close();
		},
	};
}

/* ---- recording ---- */

function recordingMaker(host) {
	const flame = changes => update({ view: 'flame', zoom: 0, ...changes });
	return {
		refresh(all) {
			if (all)
				showRecording(host, p, {
					search: query => flame({ invert: false, query }),
					thread: t => flame({ threads: new Set([t.number]) }),
				});
		},
		next() {},
		focus: () => host.firstChild.focus(),
	};
}

const VIEW_MAKERS = {
	flame: flameMaker,
	tree: host => treeMaker(false, host),
	bottom: host => treeMaker(true, host),
	functions: functionsMaker,
	source: sourceMaker,
	time: timeMaker,
	heat: heatMaker,
	recording: recordingMaker,
};
