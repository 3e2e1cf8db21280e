// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fills the page around the view: the title, the facts and the tabs above it, the matches of the
 * search, the tags that describe the selection, and the legend.
 */

/* Returns how the time, or else the number of samples, changed. */
function totalChange() {
	const { sampleSeconds: is, sampleSecondsBefore: was, tree } = p,
		timed = is && was,
		before = tree.totalBefore[0] * (timed ? was : 1),
		after = tree.total[0] * (timed ? is : 1);
	if (!before) return '';
	const change = (100 * (after - before)) / before;
	return (
		(timed ? `time ${seconds(before)} → ${seconds(after)}, ` : 'samples ') +
		(change < 0 ? '−' : '+') +
		Math.abs(change).toFixed(1) +
		'%'
	);
}

/* Returns the facts in the title line: samples, duration, threads and contexts. */
function factsLine(f) {
	const lasted = p.lastTime - p.firstTime,
		{ chosen } = p,
		several = p.choices.length > 1,
		busy = p.threads.filter(t => t.all).length,
		facts = [];
	if (comparing()) facts.push(`${f.before || 'before'} → ${f.after || 'after'}`);
	if (f.samples !== undefined)
		facts.push(
			(f.was ? count(f.was.samples) + ' → ' : '') +
				plural(several ? chosen.samples : f.samples, 'sample') +
				(chosen.bytes || chosen.timed || several
					? ', ' + amountInWords(p, sumOf(chosen.self))
					: '') +
				(chosen.name ? ' of ' + chosen.name : '')
		);
	if (comparing() && totalChange()) facts.push(totalChange());
	if (lasted > 0) facts.push(seconds(lasted));
	if (p.threads.length > 1) facts.push(plural(busy, 'thread'));
	if (f.unique_contexts !== undefined && !f.was)
		facts.push(plural(f.unique_contexts, 'different context'));
	if (f.max_depth && !f.was) facts.push('up to ' + plural(f.max_depth, 'frame') + ' deep');
	return facts.join(' · ');
}

/* Returns the part of exact samples. It is 100 only if all are exact. */
function exactText(f) {
	if (f.exact === f.samples) return '100% exact';
	const part = Math.floor((f.exact / f.samples) * 10000) / 100;
	return Math.min(99.99, part).toFixed(2) + '% exact';
}

function fillTitle() {
	const f = p.facts,
		title = p.title || 'profile',
		quality = $('quality');
	$('title').textContent = $('title').title = title;
	document.title = title + ' – pcce';
	if (f.samples && f.exact !== undefined) {
		const all = f.was ? joint(f, f.was) : f;
		quality.replaceChildren(qualityBar(all), el('span', {}, exactText(all)));
	} else quality.hidden = true;
	quality.addEventListener('click', () => update({ view: 'recording' }));
}

/* Makes the choice of an event. */
function makeEvents() {
	$('events').hidden = p.choices.length < 2;
	$('event').append(...p.choices.map(({ name }, value) => el('option', { value }, name)));
	$('event').addEventListener('change', e => update({ event: Number(e.target.value) }));
}

function showEvent() {
	choose(p, state.event);
	$('event').value = state.event;
	$('facts').textContent = factsLine(p.facts);
	if (tracks) tracks.showEvent();
}

function makeTabs() {
	const tabs = $('tabs');
	const views = shownViews();
	views.forEach(([name, text], i) => {
		const title = `${text} (${i + 1})`,
			b = el(
				'button',
				{ role: 'tab', title, onclick: () => update({ view: name }) },
				text
			);
		b.dataset.view = name;
		tabs.append(b);
	});
	tabs.addEventListener('keydown', e => {
		const d = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
		if (!d) return;
		const old = views.findIndex(([name]) => name === state.view),
			at = (old + d + views.length) % views.length;
		update({ view: views[at][0] });
		tabs.children[at].focus();
		e.preventDefault();
		e.stopPropagation();
	});
}

function markTab() {
	for (const b of $('tabs').children) {
		b.setAttribute('aria-selected', b.dataset.view === state.view);
		b.tabIndex = b.dataset.view === state.view ? 0 : -1;
	}
}

function listenToSearch() {
	const delay = p.tree.n > 200000 ? 150 : 0;
	let timer = 0;
	$('search').addEventListener('input', e => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			const query = e.target.value;
			update({ query, only: state.only && !!query }, false);
		}, delay);
	});
	$('only').addEventListener('click', () => update({ only: !state.only }));
}

function sayMatches() {
	const out = $('matched');
	out.className = '';
	$('only').hidden = !state.query;
	$('only').setAttribute('aria-pressed', state.only);
	if (!state.query) out.textContent = '';
	else if (!matched) {
		out.textContent = 'not a regular expression';
		out.className = 'bad';
	} else {
		const { frames, weight } = countMatches(current, matched);
		out.textContent = frames
			? percent(weight, current.total[0]) + ' in ' + plural(frames, 'frame')
			: 'nothing matches';
	}
}

/* Returns a button that removes a part of the selection. */
const closeButton = (label, changes) =>
	el('button', { title: label, 'aria-label': label, onclick: () => update(changes) }, '✕');

/* Returns the tags: one for each part of the selection. */
function tags() {
	const out = [],
		tag = (text, ...buttons) =>
			out.push(el('span', { class: 'tag' }, text, ...buttons));
	const { threads, range } = state;
	if (threads)
		tag(
			threads.size === 1
				? p.threads[[...threads][0]].label
				: plural(threads.size, 'thread'),
			closeButton('Select all threads', { threads: null })
		);
	if (range)
		tag(
			`${seconds(range[0])} to ${seconds(range[1])}`,
			tracks &&
				el(
					'button',
					{ title: 'Zoom to this time span (z)', onclick: zoomTime },
					'zoom'
				),
			closeButton('Select the whole time', { range: null })
		);
	if (state.only && matched)
		tag(
			'only contexts with ' + state.query,
			closeButton('Show samples without a match too', { only: false })
		);
	return out;
}

function showTags() {
	const out = tags(),
		weight = p.tree.total[0],
		{ thinned } = p.facts;
	if (out.length) {
		const part = percent(weight, sumOf(p.chosen.self));
		out.push(
			el(
				'span',
				{ class: 'soft' },
				`${amountInWords(p, weight)} selected, ${part} of all`
			)
		);
		if (thinned && (state.threads || state.range))
			out.push(
				el(
					'span',
					{ class: 'soft' },
					`(estimated from every ${count(thinned)}th sample)`
				)
			);
	}
	$('chips').replaceChildren(...out);
}

/* Zooms the tracks to the selected time span, or back to the whole time. */
function zoomTime() {
	const zoomed = tracks.view[0] > p.firstTime || tracks.view[1] < p.lastTime;
	if (state.range && !(zoomed && tracks.view[0] === state.range[0])) tracks.look(state.range);
	else tracks.look([p.firstTime, Math.max(p.lastTime, p.firstTime + 1e-6)]);
}

function paintLegend() {
	const byChange = comparing() && state.view !== 'flame' && state.view !== 'time',
		colours =
			state.view === 'recording'
				? []
				: legendOf(p, byChange ? 'change' : state.colour);
	$('legend').replaceChildren(
		...[...colours, ...(tracks ? legendOfWaits(tracks.activity) : [])].map(
			([colour, text]) => {
				const box = el('i');
				box.style.background = colour;
				return el('span', {}, box, text);
			}
		)
	);
}
