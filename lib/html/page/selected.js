// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Keeps the selected frame, and shows its details in the pane if the pane is open. */
let selected = 0,
	details = null,
	detailsOpen = false;

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

function placeDetails() {
	$('details').hidden = !detailsOpen || state.view === 'recording';
	$('details-toggle').hidden = state.view === 'recording';
	$('details-toggle').setAttribute('aria-pressed', detailsOpen);
}

function makeDetails() {
	details = new Details($('details'), {
		zoom: i => {
			if (state.view === 'flame') {
				update({ zoom: i });
				select(view.flame.tree, i);
			} else if (details.tree) select(details.tree, i);
		},
		functions: func => update({ view: 'functions', func }),
		source: func => update({ view: 'source', func }),
		search: query => update({ query }),
		threads: threadsOf,
	});
	$('details-toggle').addEventListener('click', () => {
		detailsOpen = !detailsOpen;
		placeDetails();
		showDetails();
	});
}
