// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Opens traces with the code that reads them in the Performance panel of Chromium's DevTools, which npm has by itself:
 * devtools.mjs FOLDER
 */
import { readFileSync } from 'node:fs';
import { TraceModel } from '@paulirish/trace_engine/models/trace/trace.js';
import { test, is, yes } from './verdict.mjs';

const folder = process.argv[2];
const events = file => JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')).traceEvents;

/* By thread its name, and how long each chain of slices was open itself, in microseconds. */
async function opened(file) {
	const model = TraceModel.Model.createWithAllHandlers(), threads = {};
	await model.parse(events(file), { metadata: {}, isCPUProfile: false, isFreshRecording: false });
	const { Meta, Renderer } = model.parsedTrace(0).data;
	const walk = (node, above, sums) => {
		const path = [...above, node.entry.name], name = path.join(';');
		sums[name] = (sums[name] || 0) + node.selfTime;
		for (const child of node.children) walk(child, path, sums);
	};
	is(Meta.traceIsGeneric, true, 'a trace that is not of a browser');
	for (const process of Renderer.processes.values())
		for (const [tid, thread] of process.threads) {
			threads[tid] = { name: thread.name, sums: {} };
			for (const root of thread.tree.roots) walk(root, [], threads[tid].sums);
		}
	return threads;
}
/* The same out of the events themselves. */
function wanted(file) {
	const threads = {}, open = {}, last = {};
	for (const e of events(file)) {
		const t = (threads[e.tid] ||= { name: '', sums: {} }), stack = (open[e.tid] ||= []);
		if (e.ph === 'M') {
			if (e.name === 'thread_name') t.name = e.args.name;
			continue;
		}
		const name = stack.join(';');
		if (stack.length) t.sums[name] = (t.sums[name] || 0) + e.ts - last[e.tid];
		if (e.ph === 'B') stack.push(e.name);
		else stack.pop();
		if (e.ph === 'B') t.sums[stack.join(';')] ||= 0;
		last[e.tid] = e.ts;
	}
	return Object.fromEntries(Object.entries(threads).filter(([, t]) => Object.keys(t.sums).length));
}
/* Not the small one, whose slices take no time: what stands in what is a matter of taste there. */
for (const name of ['huge', 'few'])
	await test(`DevTools open a trace: ${name}`, async () => {
		const got = await opened(`${name}.trace.json`), want = wanted(`${name}.trace.json`);
		is(Object.entries(got).map(([tid, t]) => [tid, t.name]), Object.entries(want).map(([tid, t]) => [tid, t.name]), 'threads');
		for (const tid of Object.keys(want)) {
			is(Object.keys(got[tid].sums).sort(), Object.keys(want[tid].sums).sort(), `contexts of ${tid}`);
			for (const [path, time] of Object.entries(want[tid].sums))
				yes(Math.abs(got[tid].sums[path] - time) < 0.01 + time / 1e6, `${path} of ${tid} takes ${time}, not ${got[tid].sums[path]}`);
		}
	});
console.log('end');
