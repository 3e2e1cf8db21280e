// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes the controls in the toolbars of the views. A control sets one part of the state, whose name
 * is its data-key.
 */

function toggle(text, key, title) {
	return el(
		'button',
		{
			'aria-pressed': state[key],
			title,
			onclick: e => {
				update({ [key]: !state[key] });
				e.currentTarget.setAttribute('aria-pressed', state[key]);
			},
			'data-key': key,
		},
		text
	);
}
const treeTools = () => [
	toggle('By line', 'lines', 'Show calls from different lines of a function separately (l)'),
	p.funcs.some(f => f.short !== f.full)
		? toggle('Full names', 'full', 'Show C++ names in full (m)')
		: null,
	toggle('Fold recursion', 'fold', 'Show a recursive function only once in each context (r)'),
];
function choice(label, key, options) {
	const s = el(
		'select',
		{
			'aria-label': label,
			onchange: e => update({ [key]: longValue(key, e.target.value) }),
		},
		...options.map(([value, text]) =>
			el('option', { value, selected: state[key] === value }, text)
		)
	);
	return el('label', {}, label, s);
}
const refreshTools = tools => {
	for (const b of tools.querySelectorAll('[data-key]'))
		b.setAttribute('aria-pressed', state[b.dataset.key]);
	for (const s of tools.querySelectorAll('select'))
		s.value = s.dataset.key ? state[s.dataset.key] : s.value;
};
const message = text => el('div', { class: 'message' }, text);
