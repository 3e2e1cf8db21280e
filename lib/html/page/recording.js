// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What is known about the recording itself: how sure it is, how deep, by which means and from where. */

const SURE = [
	['exact', 'exact', 'the chain of calls is certain, frame by frame'],
	['truncated', 'truncated', 'exact but for a marked gap: part of the encoding stack could not be read or sent'],
	['undecodable', 'undecodable', 'not decoded, and not guessed; the reason is given'],
	['outside', 'outside', 'taken in a thread that pcce does not know'],
];
const SEARCHES = { truncated: '^\\[truncated', undecodable: '^\\[undecodable', outside: '^\\[no thread page' };

/* The value below which this part of all lies, and the largest. */
function quantile(histogram, part) {
	const all = histogram.reduce((sum, [, , n]) => sum + n, 0);
	let sum = 0;
	for (const [, to, n] of histogram) {
		sum += n;
		if (sum >= all * part) return to;
	}
	return 0;
}

/* Two histograms side by side, by powers of two. */
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
	return el('table', { class: 'depths' }, el('tr', {}, el('th', {}, ''), el('th', {}, 'frames in the chain of calls'), el('th', {}, 'entries on the encoding stack')),
		...bins.map(([d, e], b) => el('tr', {}, el('th', {}, label(b)), bar('calls', d), bar('entries', e))));
}

const QUALITY = ['exact', 'truncated', 'undecodable', 'outside', 'lost'];

/* Of two recordings together. */
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

/* What the facts f say, as sections; which: of two recordings that are compared, this one. */
function factsOf(p, f, which, options) {
	const out = [];
	const section = (title, ...content) => out.push(el('section', {}, el('h2', {}, title + (which ? ': ' + which : '')), ...content));
	if (f.exact !== undefined) {
		const rows = SURE.map(([key, name, text]) => [key, name, f[key], text]);
		if (f.lost !== undefined) rows.push(['lost', 'lost', f.lost, 'never reached the file; not among the samples']);
		section('How sure this is', qualityBar(f), el('table', { class: 'sure' },
			...rows.flatMap(([key, name, n, text]) => [
				el('tr', {}, el('th', {}, el('i', { class: 'dot ' + key }), name), el('td', { class: 'number' }, count(n)),
					el('td', { class: 'number' }, key === 'lost' ? '' : percent(n, f.samples)), el('td', {}, text, ' ',
						SEARCHES[key] && n ? el('button', { class: 'link', onclick: () => options.search(SEARCHES[key]) }, 'show them') : '')),
				...key === 'undecodable' ? Object.entries(f.reasons || {}).map(([reason, r]) => el('tr', { class: 'soft' }, el('th', {}, ''), el('td', { class: 'number' }, count(r)),
					el('td', { class: 'number' }, percent(r, f.samples)), el('td', {}, reason.replace(/_/g, ' ')))) : [],
			])));
		if (f.complete === false) out.push(el('p', { class: 'warning' }, 'The recording was cut off; this is what it holds up to there.'));
	}
	if (f.verify) {
		const v = f.verify;
		section('Checked against the real stack', el('table', { class: 'sure' },
			el('tr', {}, el('th', {}, el('i', { class: 'dot exact' }), 'agree'), el('td', { class: 'number' }, count(v.verified)), el('td', {}, 'unwinding the stack gave the same chain, frame by frame')),
			el('tr', {}, el('th', {}, el('i', { class: 'dot undecodable' }), 'differ'), el('td', { class: 'number' }, count(v.mismatches)), el('td', {}, v.mismatches ? 'this is a defect: please report it' : 'not one')),
			el('tr', {}, el('th', {}, el('i', { class: 'dot outside' }), 'not to be checked'), el('td', { class: 'number' }, count(v.unverifiable)), el('td', {}, 'the unwinder itself gave up'))));
	}
	if (f.depths && f.depths.length) {
		section('How deep', el('p', {}, `Chains of calls have up to ${count(f.max_depth)} frames, encoding stacks up to ${plural(f.max_encoding_stack, 'entry', 'entries')}. `,
			`In nine of ten samples it is at most ${count(quantile(f.depths, 0.9))} and ${count(quantile(f.entries, 0.9))}. A sample copies only the newest entries, and each older one once.`), depthChart(f.depths, f.entries));
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
	if (f === p.facts) fact('nodes in this page', count(p.tree.n) + (f.hidden ? `; ${count(f.hidden)} lighter or deeper ones are left out, and shown as [left out]` : ''));
	fact('time views', f.thinned ? `hold every ${count(f.thinned)}th sample, which stands for as many; other figures are of all samples` : '');
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
				el('td', {}, t.origin || (t.tid === t.pid ? '' : el('span', { class: 'soft' }, 'not known')))))),
		threads.length > 500 ? el('p', { class: 'soft' }, plural(threads.length - 500, 'more thread')) : '');
	}
	host.replaceChildren(el('div', { class: 'recording', tabIndex: 0 }, ...out));
}
