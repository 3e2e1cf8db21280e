// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests in scripts for node: a line for each, which viewers.sh reads. */
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
