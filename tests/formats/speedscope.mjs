// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Opens profiles in speedscope, and reads its table of functions: speedscope.mjs CHROMIUM FOLDER */
import { chromium } from 'playwright-core';
import { readFileSync, writeFileSync } from 'node:fs';
import { test, is, yes } from './verdict.mjs';

const [executablePath, folder] = process.argv.slice(2);
const release = new URL('node_modules/speedscope/dist/release/index.html', import.meta.url);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

/* The rows of its sandwich view: [total, self, name]. */
async function functions(file, count) {
	const page = await browser.newPage({ viewport: { width: 1200, height: 2000 } }), wrong = [];
	const script = `${folder}/${file}.js`;
	page.on('pageerror', e => wrong.push(e.message));
	writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(file)}, ${JSON.stringify(readFileSync(`${folder}/${file}`).toString('base64'))})`);
	await page.goto(`${release.href}#localProfilePath=${script}`);
	await page.getByText('Sandwich').click();
	await page.locator('table tr').nth(count).waitFor();
	const rows = await page.locator('table tr').evaluateAll(rows => rows.map(r => [...r.cells].map(c => c.innerText.trim())));
	const title = await page.title();
	await page.close();
	is(wrong, []);
	return { rows: rows.slice(1), title };
}

await test('speedscope opens speedscope', async () => {
	const { rows, title } = await functions('small.speedscope.json', 16);
	is(title, 'demo --fast <input> - speedscope');
	is(rows.slice(0, 3), [['39.00ms (45%)', '39.00ms (45%)', 'eval'], ['12.00ms (14%)', '12.00ms (14%)', 'next<char>; really'], ['10.00ms (11%)', '10.00ms (11%)', '__strlen_avx2']]);
	is(rows.find(r => r[2] === 'main'), ['82.00ms (94%)', '4.00ms (4.6%)', 'main']);
	is(rows.find(r => r[2] === 'foo::bar(int, int)'), ['5.00ms (5.7%)', '3.00ms (3.4%)', 'foo::bar(int, int)']);
	is(rows.length, 16);
});
await test('speedscope opens the heaviest of several threads', async () => {
	const { rows } = await functions('huge.speedscope.json', 20);
	const most = Math.max(...JSON.parse(readFileSync(`${folder}/huge.speedscope.json`, 'utf8')).profiles.map(one => one.endValue));
	is(rows.find(r => r[2] === 'root')[0], `${(most / 1e6).toFixed(2)}ms (100%)`);
	is(rows.find(r => r[2] === 'root').slice(0, 1), [rows.map(r => r[0]).find(t => t.includes('(100%)'))]);
});
await test('speedscope opens perf-script', async () => {
	const { rows } = await functions('huge.perf.txt', 20);
	yes(rows.some(r => r[2] === 'root' && r[0].includes('(100%)')), 'all is below root: ' + JSON.stringify(rows.slice(0, 5)));
});
/* Milliseconds in a function, by itself and in all, of the slices of one thread in a trace. */
function slices(file, thread) {
	const sums = {}, open = [];
	let last = 0;
	for (const e of JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')).traceEvents) {
		if (e.ph === 'M' || e.tid !== thread) continue;
		for (const name of new Set(open)) (sums[name] ||= { total: 0, self: 0 }).total += (e.ts - last) / 1000;
		if (open.length) sums[open.at(-1)].self += (e.ts - last) / 1000;
		if (e.ph === 'B') open.push(e.name);
		else open.pop();
		last = e.ts;
	}
	return sums;
}
const milliseconds = text => {
	const [, n, unit] = text.match(/^([0-9.]+)(ns|µs|ms|s) /) || [];
	return Number(n) * { ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3 }[unit];
};
await test('speedscope opens a trace', async () => {
	/* Other tables are of contexts. */
	const rows = (await functions('huge.trace.json', 20)).rows.filter(r => / \(.*%\)$/.test(r[0]));
	const wanted = slices('huge.trace.json', 100);
	is(rows.map(r => r[2]).sort(), Object.keys(wanted).sort(), 'functions');
	for (const [total, self, name] of rows)
		for (const [text, n] of [[total, wanted[name].total], [self, wanted[name].self]])
			yes(Math.abs(milliseconds(text) - n) <= n / 100 + 0.01, `${text} of ${name} is ${n}`);
});
await browser.close();
console.log('end');
