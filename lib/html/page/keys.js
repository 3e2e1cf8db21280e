// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Handles the keys of the page, and shows the help, which lists them. */
const KEYS = {
	Everywhere: [
		['1 2 3 …', 'select a view'],
		['/', 'search'],
		['n  N', 'next, previous match'],
		['o', 'show only samples with a match'],
		['i', 'show details of the selected frame'],
		['l', 'separate calls by line'],
		['m', 'C++ names: short or in full'],
		['r', 'fold recursion'],
		['z', 'zoom to the selected time span'],
		['e', 'next event'],
		['t', 'colours: system, light, dark'],
		['Backspace', 'previous view'],
		['Escape', 'reset the zoom'],
		['?', 'this help'],
	],
	'Flame graph': [
		['arrows', 'go to the caller, a callee or a neighbour'],
		['Enter', 'zoom to the frame'],
		['x', 'follow the heaviest calls to the next branch'],
		['+  −  w  s', 'zoom in, zoom out'],
		['a  d', 'move left, right'],
		['u', 'outermost frames at the top or at the bottom'],
		['v', 'invert: start with the innermost frames'],
		['click', 'zoom to the frame'],
		['Ctrl + wheel', 'zoom in, zoom out'],
		['drag', 'move'],
	],
	'Trees and tables': [
		['↑ ↓ PgUp PgDn', 'move'],
		['→ ←', 'open, close'],
		['*', 'open all rows below'],
		['x', 'open the heaviest path'],
		['Enter', 'show in the flame graph; bottom-up: show callers and callees'],
	],
	Source: [
		['x', 'go to the line with the next smaller cost'],
		['Enter', 'show what the line calls'],
	],
	Heatmap: [
		['drag', 'select a time span'],
		['double click', 'select the whole time'],
		['arrows, Enter', 'select a cell'],
		['Shift + arrows', 'select a time span'],
	],
	'Threads and time': [
		['drag', 'select a time span'],
		['click', 'select the frame at this time'],
		['double click', 'select the whole time'],
		['Ctrl + wheel', 'zoom in, zoom out'],
		['← →', 'move the time span'],
		['Shift + ← →', 'change the length of the time span'],
	],
};

function showHelp() {
	const box = $('help-box');
	const list = ([title, keys]) =>
		el(
			'div',
			{},
			el('h3', {}, title),
			el(
				'dl',
				{},
				...keys.flatMap(([k, text]) => [
					el('dt', {}, el('kbd', {}, k)),
					el('dd', {}, text),
				])
			)
		);
	box.replaceChildren(
		el('h2', {}, 'Keys'),
		el('div', { class: 'columns' }, ...Object.entries(KEYS).map(list)),
		el(
			'p',
			{ class: 'soft' },
			'The search takes a regular expression and looks at the names of ',
			'functions, in full and in short form. It ignores case unless the ',
			'expression has a capital letter.'
		),
		el('p', {}, el('button', { onclick: () => box.close(), autofocus: true }, 'Close'))
	);
	if (!box.open) box.showModal();
	/* Focusing the button scrolls to the end. */
	box.scrollTop = 0;
}

const flip = key => update({ [key]: !state[key] });

function resetZoom() {
	if (state.zoom) update({ zoom: 0 });
	else if (view.flame) view.flame.zoomTo(0);
	else if (view.chart) view.chart.reset();
}

/* What the keys do outside the search field. The result false: the key means nothing now. */
const COMMANDS = {
	'/': () => {
		$('search').focus();
		$('search').select();
	},
	n: () => {
		if (matched) view.next(1);
	},
	N: () => {
		if (matched) view.next(-1);
	},
	o: () => {
		if (matched) flip('only');
	},
	i: () => $('details-toggle').click(),
	l: () => flip('lines'),
	m: () => flip('full'),
	r: () => flip('fold'),
	u: () => flip('up'),
	f: () => flip('up'),
	v: () => flip('invert'),
	t: () => nextTheme(),
	e: () => update({ event: (state.event + 1) % p.choices.length }),
	z: () => (tracks ? zoomTime() : false),
	'?': () => showHelp(),
	Backspace: () => {
		if (stepsBack()) history.back();
	},
	Escape: () => resetZoom(),
};

/* Handles a key in the search field. Returns whether it has a meaning there. */
function searchKey(e) {
	if (e.key === 'Escape') {
		if (state.query) update({ query: '', only: false });
		else view.focus();
	} else if (e.key === 'Enter') {
		if (matched) view.next(e.shiftKey ? -1 : 1);
	} else if (e.key === 'ArrowDown') view.focus();
	else return false;
	return true;
}

function pageKey(e) {
	const views = shownViews();
	if (e.key >= '1' && e.key <= String(views.length)) {
		update({ view: views[e.key - 1][0] });
		view.focus();
		return true;
	}
	return e.key in COMMANDS && COMMANDS[e.key]() !== false;
}

function onKey(e) {
	const typing = e.target.closest && e.target.closest('input, select, textarea');
	if (e.ctrlKey || e.metaKey || e.altKey || $('help-box').open) return;
	if (typing && e.target !== $('search')) return;
	if (typing ? searchKey(e) : pageKey(e)) e.preventDefault();
}
