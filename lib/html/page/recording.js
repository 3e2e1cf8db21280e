// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shows the facts about the recording: the quality of its samples, the depth of contexts, the
 * command and the machine. */

const SURE = [
	['exact', 'exact', 'the whole context is certain'],
	['truncated', 'truncated', 'exact except for a marked gap: a part of the encoding stack is missing'],
	['undecodable', 'undecodable', 'the context is unknown'],
	['outside', 'outside', 'the thread had no thread page'],
];
const SEARCHES = { truncated: '^\\[truncated', undecodable: '^\\[undecodable', outside: '^\\[no thread page' };

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
	const bin = v => v < 1 ? 0 : Math.floor(Math.log2(v)) + 1;
	const bins = [];
	[depths, entries].forEach((h, which) => h.forEach(([from, , n]) => {
		const b = bin(from);
		while (bins.length <= b) bins.push([0, 0]);
		bins[b][which] += n;
	}));
	const all = depths.reduce((sum, [, , n]) => sum + n, 0) || 1;
	const label = b => b < 2 ? String(b) : count(2 ** (b - 1)) + '–' + count(2 ** b - 1);
	const bar = (kind, n) => {
		const e = el('span', { class: 'hbar ' + kind, title: percent(n, all) + ' of the samples' });
		e.style.width = share(n, all) + '%';
		return el('td', { class: 'hcell' }, e, el('span', { class: 'soft' }, n ? percent(n, all) : ''));
	};
	return el('table', { class: 'depths' }, el('tr', {}, el('th', {}, ''), el('th', {}, 'frames in the context'), el('th', {}, 'entries on the encoding stack')),
		...bins.map(([d, e], b) => el('tr', {}, el('th', {}, label(b)), bar('calls', d), bar('entries', e))));
}

const QUALITY = ['exact', 'truncated', 'undecodable', 'outside', 'lost'];

/* The sums of two recordings. */
const joint = (a, b) => Object.fromEntries(['samples', ...QUALITY].map(key => [key, (a[key] || 0) + (b[key] || 0)]));

function qualityBar(f) {
	const all = f.samples + (f.lost || 0), bar = el('span', { class: 'quality-bar' });
	for (const key of QUALITY) {
		if (!f[key]) continue;
		const part = el('i', { class: key });
		part.style.flexGrow = f[key] / all;
		bar.append(part);
	}
	return bar;
}

/* Returns sections for the facts f. which: the name of the recording in a comparison. */
function factsOf(p, f, which, options) {
	const out = [];
	const section = (title, ...content) => out.push(el('section', {}, el('h2', {}, title + (which ? ': ' + which : '')), ...content));
	if (f.exact !== undefined) {
		const rows = SURE.map(([key, name, text]) => [key, name, f[key], text]);
		if (f.lost !== undefined) rows.push(['lost', 'lost', f.lost, 'never reached the recording; not counted as samples']);
		section('Quality of the samples', qualityBar(f), el('table', { class: 'sure' },
			...rows.flatMap(([key, name, n, text]) => [
				el('tr', {}, el('th', {}, el('i', { class: 'dot ' + key }), name), el('td', { class: 'number' }, count(n)),
					el('td', { class: 'number' }, key === 'lost' ? '' : percent(n, f.samples)), el('td', {}, text, ' ',
						SEARCHES[key] && n ? el('button', { class: 'link', onclick: () => options.search(SEARCHES[key]) }, 'show them') : '')),
				...key === 'undecodable' ? Object.entries(f.reasons || {}).map(([reason, r]) => el('tr', { class: 'soft' }, el('th', {}, ''), el('td', { class: 'number' }, count(r)),
					el('td', { class: 'number' }, percent(r, f.samples)), el('td', {}, reason.replace(/_/g, ' ')))) : [],
			])));
		if (f.complete === false) out.push(el('p', { class: 'warning' }, 'The recording is incomplete: its end is missing.'));
	}
	if (f.verify) {
		const v = f.verify;
		section('Checked against the real stack', el('table', { class: 'sure' },
			el('tr', {}, el('th', {}, el('i', { class: 'dot exact' }), 'agree'), el('td', { class: 'number' }, count(v.verified)), el('td', {}, 'unwinding the stack gave the same frames')),
			el('tr', {}, el('th', {}, el('i', { class: 'dot undecodable' }), 'differ'), el('td', { class: 'number' }, count(v.mismatches)), el('td', {}, v.mismatches ? 'this is a defect: please report it' : 'none')),
			el('tr', {}, el('th', {}, el('i', { class: 'dot outside' }), 'not checked'), el('td', { class: 'number' }, count(v.unverifiable)), el('td', {}, 'the unwinder failed'))));
	}
	if (f.depths && f.depths.length) {
		section('Depth of the contexts', el('p', {}, `Contexts have up to ${plural(f.max_depth, 'frame')}, encoding stacks up to ${plural(f.max_encoding_stack, 'entry', 'entries')}. `,
			`Nine of ten samples have at most ${plural(quantile(f.depths, 0.9), 'frame')} and ${plural(quantile(f.entries, 0.9), 'entry', 'entries')}. Each sample copies the newest entries. Older entries are copied only once.`), depthChart(f.depths, f.entries));
	}
	const about = [];
	const fact = (name, value) => { if (value !== undefined && value !== '' && value !== null) about.push(el('dt', {}, name), el('dd', {}, value)); };
	fact('command', f.command || p.title);
	fact('event', f.event && f.event + (f.frequency ? `, ${count(f.frequency)} times a second` : ''));
	fact('sampler', f.sampler);
	fact('host', [f.host, f.kernel].filter(Boolean).join(', '));
	fact('recorded', f.wall_time > 1e9 ? new Date(f.wall_time).toLocaleString() : '');
	if (p.lastTime > p.firstTime) fact('duration', seconds(p.lastTime - p.firstTime) + ' from the first sample to the last');
	fact('samples', f.samples !== undefined ? count(f.samples) : '');
	fact('different contexts', f.unique_contexts !== undefined ? count(f.unique_contexts) : '');
	fact('bytes per sample', f.bytes_per_sample ? f.bytes_per_sample.toFixed(1) : '');
	if (f === p.facts) fact('nodes in this page', count(p.tree.n) + (f.hidden ? `; ${count(f.hidden)} lighter or deeper nodes are shown together as [left out]` : ''));
	fact('time views', f.thinned ? `use every ${count(f.thinned)}th sample, with the weight of all ${count(f.thinned)}; all other numbers count all samples` : '');
	section('The recording', el('dl', {}, ...about));
	return out;
}

function showRecording(host, p, options) {
	const f = p.facts, out = [];
	const section = (title, ...content) => out.push(el('section', {}, el('h2', {}, title), ...content));
	if (f.was) out.push(...factsOf(p, f.was, f.before, options));
	out.push(...factsOf(p, f, f.after, options));
	const threads = p.threads.filter(t => t.samples || t.origin);
	if (threads.length > 1) {
		section('Threads', el('table', { class: 'sure' }, el('tr', {}, ...['thread', 'process', 'thread id', 'samples', 'created by'].map(t => el('th', {}, t))),
			...threads.slice(0, 500).map(t => el('tr', {}, el('td', {}, el('button', { class: 'link', onclick: () => options.thread(t) }, t.name || 'thread')), el('td', { class: 'number' }, t.pid),
				el('td', { class: 'number' }, t.tid), el('td', { class: 'number' }, count(t.samples)),
				el('td', {}, t.origin || (t.tid === t.pid ? '' : el('span', { class: 'soft' }, 'unknown')))))),
		threads.length > 500 ? el('p', { class: 'soft' }, plural(threads.length - 500, 'more thread')) : '');
	}
	host.replaceChildren(el('div', { class: 'recording', tabIndex: 0 }, ...out));
}
