// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reads profiles for viewers, and checks what their formats demand: viewers.mjs FOLDER */
import { readFileSync } from 'node:fs';
import { test, is, yes, clean, folded, sorted } from './verdict.mjs';

const folder = process.argv[2];
const text = file => readFileSync(`${folder}/${file}`, 'utf8');
const json = file => JSON.parse(text(file));

/* ---- the Firefox profiler: processed profile format, version 60 ---------------------- */

function columns(table, name) {
	for (const [column, values] of Object.entries(table))
		if (Array.isArray(values)) is(values.length, table.length, `${name}.${column}.length`);
}
function below(values, n, name) {
	for (const v of values) yes(v === null || v === -1 || (Number.isInteger(v) && v >= 0 && v < n), `${name}: ${v} of ${n}`);
}
function firefox(profile) {
	const s = profile.shared;

	is(profile.meta.preprocessedProfileVersion, 60);
	for (const name of ['stackTable', 'frameTable', 'funcTable', 'resourceTable', 'sources', 'nativeSymbols']) columns(s[name], name);
	s.stackTable.prefix.forEach((p, i) => yes(p === null || p < i, `stack ${i} after its prefix ${p}`));
	below(s.stackTable.frame, s.frameTable.length, 'frames of stacks');
	below(s.frameTable.func, s.funcTable.length, 'functions of frames');
	below(s.frameTable.category, profile.meta.categories.length, 'categories');
	below(s.funcTable.name, s.stringArray.length, 'names');
	below(s.funcTable.resource, s.resourceTable.length, 'resources');
	below(s.funcTable.source, s.sources.length, 'sources');
	below(s.sources.filename, s.stringArray.length, 'names of sources');
	below(s.resourceTable.lib, profile.libs.length, 'libraries');
	for (const t of profile.threads) {
		columns(t.samples, 'samples');
		columns(t.markers, 'markers');
		below(t.samples.stack, s.stackTable.length, 'stacks of samples');
		t.samples.time.forEach((time, i) => yes(!i || time >= t.samples.time[i - 1], 'samples in the order of time'));
	}
	const sums = {};
	for (const t of profile.threads)
		t.samples.stack.forEach((stack, i) => {
			const names = [];
			for (; stack !== null; stack = s.stackTable.prefix[stack]) names.unshift(clean(s.stringArray[s.funcTable.name[s.frameTable.func[s.stackTable.frame[stack]]]]));
			sums[names.join(';')] = (sums[names.join(';')] || 0) + (t.samples.weight ? t.samples.weight[i] : 1);
		});
	return sums;
}
await test('firefox: the contexts of folded', () => is(sorted(firefox(json('small.firefox.json'))), sorted(folded(`${folder}/small.folded`))));
await test('firefox: those of many threads', () => {
	const profile = json('huge.firefox.json');
	is(sorted(firefox(profile)), sorted(folded(`${folder}/huge.folded`)));
	is(profile.threads.length, 4);
});
await test('firefox: lines, addresses and inlining of frames', () => {
	const { shared: s } = json('small.firefox.json');
	const frames = s.frameTable.func.map((f, i) => [s.stringArray[s.funcTable.name[f]], s.frameTable.address[i], s.frameTable.inlineDepth[i], s.frameTable.line[i], s.stringArray[s.sources.filename[s.funcTable.source[f]]]]);
	for (const wanted of [['parse', 0x2005, 0, 30, '/src/demo/parse.c'], ['step', 0x2005, 1, 4, '/src/demo/step.h'], ['next<char>; really', 0x2005, 2, 3, '/src/demo/next.h']])
		yes(frames.some(f => JSON.stringify(f) === JSON.stringify(wanted)), JSON.stringify(wanted));
});
await test('firefox: no samples', () => is(firefox(json('empty.firefox.json')), {}));

/* ---- trace events: slices begin and end in turn, in the order of time ----------------- */

function trace(file, deepest = Infinity) {
	const threads = new Map();
	let slices = 0;

	for (const e of json(file).traceEvents) {
		if (e.ph === 'M') continue;
		const t = threads.get(e.tid) || { time: 0, open: [] };
		threads.set(e.tid, t);
		yes(e.ts >= t.time, `${e.ts} not before ${t.time}`);
		t.time = e.ts;
		if (e.ph === 'B') t.open.push(e.name), slices++;
		else yes(e.ph === 'E' && t.open.length, 'an end has its beginning');
		if (e.ph === 'E') is(e.name, t.open.pop(), 'name of an end');
		yes(t.open.length <= deepest, 'depth');
	}
	for (const t of threads.values()) is(t.open, []);
	return { slices, threads: threads.size };
}
await test('trace: slices', () => yes(trace('small.trace.json').slices > 16, 'there are some'));
await test('trace: threads', () => is(trace('huge.trace.json').threads, 4));
await test('trace: --max-depth', () => yes(trace('huge3.trace.json', 3).slices > 100, 'there are some'));
/* At each time at which something begins in the trace of all samples, by thread: what is open. */
function stacks(file) {
	const open = {}, at = [];
	const events = json(file).traceEvents.filter(e => e.ph !== 'M');
	const mark = e => at.push([e.tid, e.ts, (open[e.tid] ||= []).join(';')]);
	events.forEach((e, i) => {
		open[e.tid] ||= [];
		if (e.ph === 'B') open[e.tid].push(e.name);
		else open[e.tid].pop();
		const next = events[i + 1];
		if (!next || next.tid !== e.tid || next.ts !== e.ts) mark(e);
	});
	return at;
}
await test('trace: --max-rows shows what samples have in common, and little else', () => {
	const all = stacks('huge.trace.json'), few = stacks('few.trace.json');
	const { slices, threads } = trace('few.trace.json');
	let i = 0, shown = 0;

	yes(slices <= 2000, `${slices} slices`);
	is(threads, 4);
	/* Both are in the order of threads and of time. */
	for (const [tid, ts, stack] of all) {
		if (!stack) continue;
		while (i + 1 < few.length && (few[i][0] !== tid || (few[i + 1][0] === tid && few[i + 1][1] <= ts))) i++;
		yes(few[i][0] === tid && few[i][1] <= ts, `something is open in ${tid} at ${ts}`);
		yes(few[i][2] === '' || stack === few[i][2] || stack.startsWith(few[i][2] + ';'), `${tid} at ${ts}: ${few[i][2]} is not in ${stack}`);
		shown += few[i][2] !== '';
	}
	yes(shown > all.length / 2, `${shown} of ${all.length} shown`);
});
await test('trace: no samples', () => is(trace('empty.trace.json'), { slices: 0, threads: 0 }));

/* ---- the speedscope file, where there is no browser ------------------------------------- */

function speedscope(file) {
	const p = json(file), sums = {};
	for (const one of p.profiles) {
		is(one.weights.length, one.samples.length);
		is(one.weights.reduce((a, b) => a + b, 0), one.endValue);
		one.samples.forEach((s, i) => {
			const path = s.map(f => clean(p.shared.frames[f].name)).join(';');
			sums[path] = (sums[path] || 0) + one.weights[i] / 100000;
		});
	}
	is(sorted(sums), sorted(folded(`${folder}/huge.folded`)));
	is(p.profiles[p.activeProfileIndex].endValue, Math.max(...p.profiles.map(one => one.endValue)), 'the heaviest thread is shown first');
	return p.profiles;
}
const frames = profiles => profiles.flatMap(one => one.samples.map(s => s.length)).reduce((a, b) => a + b, 0);
const inOrder = profiles => profiles.every(one => !/, not in order of time$/.test(one.name));
await test('speedscope: the contexts of folded', () => {
	const profiles = speedscope('huge.speedscope.json');
	yes(inOrder(profiles) && frames(profiles) > 10000, 'in order of time');
});
await test('speedscope: more frames than --max-rows are sums', () => {
	const profiles = speedscope('sums.speedscope.json');
	yes(!inOrder(profiles) && new Set(profiles.map(one => one.endValue)).size > 1, 'sums, of threads of several weights');
});
await test('speedscope: no samples', () => is(json('empty.speedscope.json').profiles, []));
console.log('end');
