// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests in scripts for node: a line for each, which viewers.sh reads; and what they compare with. */
import { readFileSync } from 'node:fs';

export async function test(name, body) {
	try {
		await body();
		console.log('pass\t' + name);
	} catch (e) {
		console.log('fail\t' + name + '\t' + String(e.stack || e).replace(/\s+/g, ' ').slice(0, 1500));
	}
}
export function is(got, wanted, what = '') {
	const [g, w] = [got, wanted].map(v => JSON.stringify(v));
	if (g !== w) throw new Error(`${what} got ${g}, wanted ${w}`);
}
export function yes(truth, what) {
	if (!truth) throw new Error('not so: ' + what);
}

/* Contexts and their weights: "a;b" to a number. */
export function folded(file) {
	const sums = {};
	for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
		const at = line.lastIndexOf(' ');
		sums[line.slice(0, at)] = (sums[line.slice(0, at)] || 0) + Number(line.slice(at + 1));
	}
	return sums;
}
/* A name as folded writes it. */
export const clean = name => name.replace(/;/g, ':').replace(/[\0-\x1f\x7f]/g, '_');
export const sorted = sums => Object.entries(sums).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
