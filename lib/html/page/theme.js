// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sets the theme of the page: the system's, light or dark. The browser stores the choice. */
const THEMES = [
	['system', '◐'],
	['light', '☀'],
	['dark', '☾'],
];

function setTheme(name, keep) {
	theme = name;
	document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
	$('theme').textContent = THEMES.find(t => t[0] === name)[1];
	$('theme').setAttribute('aria-label', 'Colours: ' + name);
	if (keep)
		try {
			localStorage.setItem('pcce-theme', name);
		} catch (e) {
			/* the theme then lasts for this visit only */
		}
	repaint();
}

/* Draws with the colours of the theme what is drawn on canvases. */
function repaint() {
	if (!view) return;
	if (view.flame) view.flame.recolour(painter(view.flame.tree, state.colour));
	view.refresh(true, () => false);
	if (tracks) {
		tracks.surface.touch();
		tracks.scale.touch();
	}
	paintLegend();
}

function nextTheme() {
	const at = THEMES.findIndex(t => t[0] === theme);
	setTheme(THEMES[(at + 1) % THEMES.length][0], true);
}

function storedTheme() {
	let name = 'system';
	try {
		name = localStorage.getItem('pcce-theme');
	} catch (e) {
		/* storage is not available */
	}
	return THEMES.some(t => t[0] === name) ? name : 'system';
}
