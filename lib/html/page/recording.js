// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shows the facts about the recording: the quality of its samples, the depth of contexts, the
 * command and the machine.
 */

const SURE = [
	['exact', 'exact', 'the whole context is certain'],
	['truncated', 'truncated', 'exact except for a marked gap, where callers are missing'],
	['undecodable', 'undecodable', 'the context is unknown'],
	[
		'outside',
		'outside',
		'the thread ran without pcce, so only its innermost function is known',
	],
];
const SEARCHES = {
	truncated: '^\\[truncated',
	undecodable: '^\\[undecodable',
	outside: '^\\[thread without pcce',
};

/* Returns the bucket end below which this part of all values lies. */
function quantile(histogram, part) {
	const all = histogram.reduce((sum, [, , n]) => sum + n, 0);
	let sum = 0;
	for (const [, to, n] of histogram) {
		sum += n;
		if (sum >= all * part) return to;
	}
	return 0;
}

/* Shows two histograms side by side, by powers of two. */
function depthChart(depths, entries) {
	const bin = v => (v < 1 ? 0 : Math.floor(Math.log2(v)) + 1);
	const bins = [];
	[depths, entries].forEach((h, which) =>
		h.forEach(([from, , n]) => {
			const b = bin(from);
			while (bins.length <= b) bins.push([0, 0]);
			bins[b][which] += n;
		})
	);
	const all = depths.reduce((sum, [, , n]) => sum + n, 0) || 1;
	const label = b => (b < 2 ? String(b) : count(2 ** (b - 1)) + '–' + count(2 ** b - 1));
	const bar = (kind, n) => {
		const e = el('span', {
			class: 'hbar ' + kind,
			title: percent(n, all) + ' of the samples',
		});
		e.style.width = share(n, all) + '%';
		return el(
			'td',
			{ class: 'hcell' },
			e,
			el('span', { class: 'soft' }, n ? percent(n, all) : '')
		);
	};
	return el(
		'table',
		{ class: 'depths' },
		el(
			'tr',
			{},
			el('th', {}, ''),
			el('th', {}, 'frames in the context'),
			el('th', {}, 'saved calls in the context')
		),
		...bins.map(([d, e], b) =>
			el('tr', {}, el('th', {}, label(b)), bar('calls', d), bar('entries', e))
		)
	);
}

const QUALITY = ['exact', 'truncated', 'undecodable', 'outside', 'lost'];

/* The sums of two recordings. */
const joint = (a, b) =>
	Object.fromEntries(
		['samples', ...QUALITY].map(key => [key, (a[key] || 0) + (b[key] || 0)])
	);

function qualityBar(f) {
	const all = f.samples + (f.lost || 0),
		bar = el('span', { class: 'quality-bar' });
	for (const key of QUALITY) {
		if (!f[key]) continue;
		const part = el('i', { class: key });
		part.style.flexGrow = f[key] / all;
		bar.append(part);
	}
	return bar;
}

const section = (title, ...content) => el('section', {}, el('h2', {}, title), ...content);
const numberCell = text => el('td', { class: 'number' }, text);

/* ---- quality ---- */

/* Returns one row for each kind of samples, and one for each reason of undecodable samples.
 * search(query): shows the samples of a kind. */
function qualityTable(f, search) {
	const kinds = SURE.map(([key, name, text]) => [key, name, f[key], text]),
		rows = [];
	if (f.lost !== undefined)
		kinds.push([
			'lost',
			'lost',
			f.lost,
			'never reached the recording; not counted as samples',
		]);
	for (const [key, name, n, text] of kinds) {
		const onclick = () => search(SEARCHES[key]),
			show =
				SEARCHES[key] &&
				n &&
				el('button', { class: 'link', onclick }, 'show them');
		rows.push(
			el(
				'tr',
				{},
				el('th', {}, el('i', { class: 'dot ' + key }), name),
				numberCell(count(n)),
				numberCell(key === 'lost' ? '' : percent(n, f.samples)),
				el('td', {}, text, ' ', show || '')
			)
		);
		if (key === 'undecodable') rows.push(...reasonRows(f));
	}
	return el('table', { class: 'sure' }, ...rows);
}

const reasonRows = f =>
	Object.entries(f.reasons || {}).map(([reason, n]) =>
		el(
			'tr',
			{ class: 'soft' },
			el('th', {}, ''),
			numberCell(count(n)),
			numberCell(percent(n, f.samples)),
			el('td', {}, reason.replace(/_/g, ' '))
		)
	);

function verifyTable({ verified, mismatches, unverifiable }) {
	const row = (dot, name, n, text) =>
		el(
			'tr',
			{},
			el('th', {}, el('i', { class: 'dot ' + dot }), name),
			numberCell(count(n)),
			el('td', {}, text)
		);
	return el(
		'table',
		{ class: 'sure' },
		row('exact', 'agree', verified, 'unwinding the stack gave the same frames'),
		row(
			'undecodable',
			'differ',
			mismatches,
			mismatches ? 'this is a defect: please report it' : 'none'
		),
		row('outside', 'not checked', unverifiable, 'the unwinder failed')
	);
}

/* ---- facts ---- */

function depthText(f) {
	const frames = n => plural(n, 'frame'),
		saved = n => plural(n, 'saved call'),
		most = quantile(f.depths, 0.9),
		mostEntries = quantile(f.entries, 0.9);
	return el(
		'p',
		{},
		`Contexts have up to ${frames(f.max_depth)} ` +
			`and up to ${saved(f.max_encoding_stack)}. ` +
			`Nine of ten samples have at most ${frames(most)} ` +
			`and ${saved(mostEntries)}. ` +
			'pcce saves a call where a number alone cannot identify the callers, ' +
			'for example in recursion. This costs more than other calls. ' +
			'Each sample copies the newest saved calls, and older ones only once.'
	);
}

/* Returns how many nodes the page has, and how many are left out. */
function nodesText(p, f) {
	const hidden = f.hidden
		? `; ${count(f.hidden)} lighter or deeper nodes are shown together as [left out]`
		: '';
	return count(p.tree.n) + hidden;
}

/* Returns the effect of samples that are left out. */
function thinnedText({ thinned }) {
	if (!thinned) return '';
	const n = count(thinned);
	return (
		`use every ${n}th sample, with the weight of all ${n}; ` +
		'all other numbers count all samples'
	);
}

/* Returns a fact for each event. */
function eventsOf(p, f, often) {
	if (f !== p.facts || p.choices.length < 2) return [['event', f.event && f.event + often]];
	return p.choices
		.filter(c => c !== p.sum)
		.map(({ name, samples, self, bytes, timed, seconds }) => [
			'event',
			name +
				': ' +
				plural(samples, 'sample') +
				', ' +
				amountInWords(
					{ ...p, chosen: { bytes, timed, seconds } },
					sumOf(self)
				),
		]);
}

/* Returns the facts that have a name and a value. Those without a value are left out. */
function namedFacts(p, f) {
	const lasted = p.lastTime - p.firstTime,
		often = f.frequency ? `, ${count(f.frequency)} times a second` : '',
		number = n => (n !== undefined ? count(n) : '');
	const facts = [
		['command', f.command || p.title],
		...eventsOf(p, f, often),
		['sampler', f.sampler],
		['host', [f.host, f.kernel].filter(Boolean).join(', ')],
		['recorded', f.wall_time > 1e9 ? new Date(f.wall_time).toLocaleString() : ''],
		[
			'duration',
			lasted > 0 ? seconds(lasted) + ' from the first sample to the last' : '',
		],
		['samples', number(f.samples)],
		['recorded only', f.only],
		['left out', number(f.left_out)],
		['different contexts', number(f.unique_contexts)],
		['bytes per sample', f.bytes_per_sample ? f.bytes_per_sample.toFixed(1) : ''],
		['nodes in this page', f === p.facts ? nodesText(p, f) : ''],
		['time views', thinnedText(f)],
	].filter(([, value]) => value !== undefined && value !== '' && value !== null);
	return el(
		'dl',
		{},
		...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])
	);
}

/* Returns sections for the facts f. which: the name of the recording in a comparison. */
function factsOf(p, f, which, options) {
	const out = [],
		add = (title, ...content) =>
			out.push(section(which ? title + ': ' + which : title, ...content));
	if (f.exact !== undefined) {
		add('Quality of the samples', qualityBar(f), qualityTable(f, options.search));
		if (f.complete === false) {
			const text = 'The recording is incomplete: its end is missing.';
			out.push(el('p', { class: 'warning' }, text));
		}
	}
	if (f.verify) add('Checked against the real stack', verifyTable(f.verify));
	if (f.depths && f.depths.length)
		add('Depth of the contexts', depthText(f), depthChart(f.depths, f.entries));
	add('The recording', namedFacts(p, f));
	return out;
}

/* ---- threads ---- */

const MOST_THREADS = 500;

function threadRow(t, show) {
	const name = el('button', { class: 'link', onclick: () => show(t) }, t.name || 'thread'),
		unknown = t.tid === t.pid ? '' : el('span', { class: 'soft' }, 'unknown');
	return el(
		'tr',
		{},
		el('td', {}, name),
		numberCell(t.pid),
		numberCell(t.tid),
		numberCell(count(t.samples)),
		el('td', {}, t.origin || unknown)
	);
}

function threadTable(threads, show) {
	const heads = ['thread', 'process', 'thread id', 'samples', 'created by'];
	return el(
		'table',
		{ class: 'sure' },
		el('tr', {}, ...heads.map(t => el('th', {}, t))),
		...threads.slice(0, MOST_THREADS).map(t => threadRow(t, show))
	);
}

/* options: search(query), thread(thread) */
function showRecording(host, p, options) {
	const f = p.facts,
		out = f.was ? factsOf(p, f.was, f.before, options) : [],
		threads = p.threads.filter(t => t.samples || t.origin),
		more = threads.length - MOST_THREADS;
	out.push(...factsOf(p, f, f.after, options));
	if (threads.length > 1)
		out.push(
			section(
				'Threads',
				threadTable(threads, options.thread),
				more > 0
					? el('p', { class: 'soft' }, plural(more, 'more thread'))
					: ''
			)
		);
	host.replaceChildren(el('div', { class: 'recording', tabIndex: 0 }, ...out));
}
