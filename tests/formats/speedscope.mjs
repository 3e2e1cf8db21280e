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
await test('speedscope opens one of several threads', async () => {
	const { rows } = await functions('huge.speedscope.json', 20);
	is(rows.find(r => r[2] === 'root').slice(0, 1), [rows.map(r => r[0]).find(t => t.includes('(100%)'))]);
});
await test('speedscope opens perf-script', async () => {
	const { rows } = await functions('huge.perf.txt', 20);
	yes(rows.some(r => r[2] === 'root' && r[0].includes('(100%)')), 'all is below root: ' + JSON.stringify(rows.slice(0, 5)));
});
await browser.close();
console.log('end');
