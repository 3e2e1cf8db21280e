// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reads the profile, starts the page, and shows each state. */

/* Shows the state, after the state before. null: nothing is visible yet. */
function render(before) {
	const changed = k => !before || state[k] !== before[k];
	if (changed('full')) showNames(state.full);
	if (changed('event')) showEvent();
	if (changed('query')) {
		searchFor(state.query);
		if ($('search').value !== state.query) $('search').value = state.query;
	}
	if (['query', ...SELECTION].some(changed)) weigh();
	current = shownTree(false);
	if (tracks && (changed('threads') || changed('range')))
		tracks.set(state.threads, state.range);
	markTab();
	sayMatches();
	if (['query', ...SELECTION].some(changed)) showTags();
	if (changed('view') || !view) openView();
	else {
		const shape = ['up', 'colour', 'width', 'busy', 'column', 'here'],
			redraw =
				[...SHAPE, ...SELECTION, ...shape].some(changed) ||
				(state.only && changed('query')) ||
				(state.view === 'source' && changed('zoom'));
		view.refresh(redraw, changed);
	}
	if ([...SHAPE, ...SELECTION, 'view', 'full'].some(changed)) showDetails();
	paintLegend();
	placeDetails();
}

function showNames(full) {
	for (const f of p.funcs) f.name = full ? f.full : f.short;
}

function openView() {
	if (view && view.close) view.close();
	$('view').replaceChildren();
	hideTip();
	selected = 0;
	view = VIEW_MAKERS[state.view]($('view'));
	view.refresh(true);
}

function makeTracks() {
	$('tracks').hidden = false;
	tracks = new Tracks($('tracks'), p, {
		threads: threads => update({ threads }),
		range: range => update({ range }),
		pick: i => pickNode(i),
	});
	tracks.set(null, null);
}

/* Selects a node of the recording's tree in the visible view. */
function pickNode(i) {
	const node = current.map ? current.map[i] : i;
	if (state.view === 'flame' && !state.invert) {
		view.flame.select(node);
		view.flame.hover = node;
		if (!view.flame.tree.width[node]) return;
		update({ zoom: 0 });
		view.flame.reveal(node, false);
	} else if (state.view === 'tree')
		view.list.reach(pathOf(current, node).map(k => item => item.node === k));
	else if (state.view === 'functions') update({ func: p.func[p.tree.frame[i]] });
	else select(current, node);
}

function start(profile) {
	p = profile;
	fullBefore = p.tree.before;
	showState = render;
	fillTitle();
	makeTabs();
	makeEvents();
	makeDetails();
	listenToSearch();
	$('theme').addEventListener('click', nextTheme);
	$('help').addEventListener('click', showHelp);
	addEventListener('keydown', onKey);
	addEventListener('popstate', () => {
		const before = state;
		state = fromHash();
		render(before);
	});
	systemDark.addEventListener('change', () => setTheme(theme));
	if (p.series.time.length > 1) makeTracks();
	FIRST.full = p.fullNames;
	state = fromHash();
	if (p.facts.samples === 0 && state.view !== 'recording') {
		$('view').append(message('The recording has no samples.'));
		$('tabs').hidden = $('find').hidden = $('details-toggle').hidden = true;
		return;
	}
	render(null);
}

/* Tells tests/html and bench/html-open.mjs that the page is ready, and when it is visible. */
function markReady() {
	document.documentElement.dataset.ready = '1';
	performance.mark('pcce-ready');
	/* The sizes are known, and the drawing is visible, in the second frame from here. */
	requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('pcce-drawn')));
}

function sayFailure(e) {
	const reason =
		typeof DecompressionStream === 'undefined'
			? 'the browser cannot decompress it; use a browser of 2023 or later.'
			: e.message;
	$('view').append(message('Cannot show this page: ' + reason));
	document.documentElement.dataset.ready = 'failed';
}

setTheme(storedTheme());
readProfile($('data').textContent.trim())
	.then(profile => {
		$('data').textContent = '';
		start(profile);
		markReady();
	})
	.catch(e => {
		sayFailure(e);
		throw e;
	});
