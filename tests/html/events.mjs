// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * node events.mjs BROWSER FOLDER: uses events.html of make_page.c, whose comment tells what happens in it.  Prints what browse.mjs
 * prints.
 */
import { is, launch, like, open, test, until } from './browser.mjs';

const [executable, folder] = process.argv.slice(2);
const { context, close } = await launch(executable);
const ROW = 20;
const text = (page, selector) => page.locator(selector).first().innerText();
const tab = (page, name) => page.getByRole('tab', { name }).click();
const choose = (page, label) => page.locator('#event').selectOption({ label });

async function with_(hash, body) {
	const page = await open(context, folder + '/events.html', hash);
	try {
		await body(page);
		is(page.outside, [], 'asked for');
		is(page.wrong, [], 'errors');
	} finally {
		await page.close();
	}
}
/* The rows of the call tree: [share, weight, name] of each. */
const tree = async page => (await page.locator('.rows .line').allInnerTexts()).map(t => t.split(/\s*\n\s*|\t+/).map(s => s.trim()).filter(s => s && !/[▸▾]/.test(s)).join(' '));

await test('one of several events is chosen, with its unit', () => with_('', async page => {
	like(await text(page, '#facts'), /^150 samples, 1\.50 s of cpu-clock · 4\.00 s · 2 threads/);
	is(await page.locator('#event option').allInnerTexts(), ['cpu-clock', 'off-cpu', 'page-faults', 'all time']);
	await tab(page, 'Call tree');
	like((await tree(page)).join('|'), /100% 1\.50 s .*compute/);
	await choose(page, 'page-faults');
	await until(page, /^40 samples, 40 events of page-faults/, () => text(page, '#facts'));
	like((await tree(page)).join('|'), /100% 40 .*compute/);
	await choose(page, 'off-cpu');
	await until(page, /^4 samples, 6\.50 s of off-cpu/, () => text(page, '#facts'));
	like((await tree(page)).join('|'), /61\.5% 4\.00 s worker.*46\.2% 3\.00 s .*\[waiting\].*38\.5% 2\.50 s main/);
	like(page.url(), /e=1/);
	await page.locator('.list').focus();
	await page.keyboard.press('e');
	await until(page, /page-faults/, () => text(page, '#facts'));
	await page.reload();
	await page.waitForFunction(() => document.documentElement.dataset.ready);
	like(await text(page, '#facts'), /page-faults/, 'the address keeps it');
	await page.goBack();
	await until(page, /off-cpu/, () => text(page, '#facts'));
}));

await test('times on CPUs and off them add up', () => with_('e=3&v=tree', async page => {
	like(await text(page, '#facts'), /^154 samples, 8\.00 s of all time/);
	like((await tree(page)).join('|'), /50\.0% 4\.00 s main.*31\.3% 2\.50 s lock.*25\.0% 2\.00 s .*\[waiting: futex\].*6\.25% 500 ms .*\[runnable\].*18\.8% 1\.50 s .*compute/);
	await page.click('.track:has-text("worker")');
	await until(page, /^4\.00 s selected, 50\.0% of all/, () => text(page, '#chips .soft'));
}));

await test('a wait counts for the part of it that is in the time span', () => with_('e=3&v=tree&r=2 3.25', async page => {
	/* main: one second of the futex, a quarter without a CPU; worker: all of it */
	like(await text(page, '#chips .soft'), /^2\.50 s selected/);
	like((await tree(page)).join('|'), /1\.00 s .*\[waiting: futex\].*250 ms .*\[runnable\]/);
	like((await tree(page)).join('|'), /1\.25 s worker/);
	await choose(page, 'cpu-clock');
	await until(page, /^0 s selected, 0% of all/, () => text(page, '#chips .soft'));
}));

/* The colour of a lane at a time: [r, g, b]. */
const lane = (page, row, time, y = 0.7) => page.locator('.lanes canvas').evaluate((canvas, [r, t, part]) => {
	const ratio = canvas.width / canvas.clientWidth;
	return canvas.getContext('2d').getImageData(Math.round(t / 4 * canvas.width), Math.round((r + part) * 26 * ratio), 1, 1).data.slice(0, 3).join();
}, [row, time, y]);

await test('lanes show when threads wait and why, and other events as marks', () => with_('', async page => {
	/* row 0: all threads, 1: main, 2: worker */
	await until(page, true, async () => (await lane(page, 1, 0.5)) !== '0,0,0');
	const [cpu, futex, runnable, again] = await Promise.all([0.5, 2, 3.3, 3.8].map(t => lane(page, 1, t)));
	is(new Set([cpu, futex, runnable]).size, 3, `${cpu} ${futex} ${runnable}`);
	is(again, cpu);
	is(await lane(page, 1, 1.1), futex, 'from its beginning');
	is(await lane(page, 1, 2.9), futex, 'to its end');
	const [io, wait] = await Promise.all([0.5, 2].map(t => lane(page, 2, t)));
	is(new Set([cpu, futex, runnable, io, wait]).size, 5, `${io} ${wait}`);
	const box = await page.locator('.lanes canvas').boundingBox();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 26 * 1.5);
	like(await text(page, '#tip'), /^2\.00 s\s+main 300\s+waits: futex for about 2\.00 s\s+\[waiting: futex\]\s+lock\s+main/);
	like(await text(page, '#legend'), /waits: futex\s+waits: I\/O\s+waits\s+has no CPU/);
	const marks = () => page.locator('.lanes canvas').evaluate(canvas => {
		const ratio = canvas.width / canvas.clientWidth, wanted = getComputedStyle(document.documentElement).getPropertyValue('--hit').trim();
		const hex = d => '#' + [...d.slice(0, 3)].map(v => v.toString(16).padStart(2, '0')).join(''), at = [];
		for (let x = 0; x < canvas.width; x++)
			if (hex(canvas.getContext('2d').getImageData(x, Math.round((26 + 3) * ratio), 1, 1).data) === wanted) at.push(x / canvas.width * 4);
		return at;
	});
	is(await marks(), []);
	await choose(page, 'page-faults');
	await until(page, true, async () => { const m = await marks(); return m.length > 0 && m.every(t => Math.abs(t - 0.5) < 0.02); });
}));

await test('the call chains of a thread show its waits', () => with_('e=3&v=time', async page => {
	const box = await page.locator('canvas.graph').boundingBox();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 1.5 * ROW);
	await until(page, /^lock[^]*1\.00 s to 3\.\d\d s/, () => text(page, '#tip'));
}));

/* Moves to a cell of the heatmap: a column of `of`, and a row from the bottom. */
async function moveToCell(page, column, row, of = 41) {
	const box = await page.locator('canvas.heat').boundingBox(), width = Math.min(box.width, of * 40);
	await page.mouse.move(box.x + (column + 0.5) * width / of, box.y + box.height * (1 - (row + 0.5) / 50));
}

await test('the heatmap shows bursts, and selects time', () => with_('v=heat&e=2', async page => {
	await until(page, 'a cell is 2.00 ms, the strongest has 40 events', () => text(page, '.tools .end'));
	await moveToCell(page, 5, 0);
	await until(page, /^500 ms to 502 ms\s+40 events\s+100% compute/, () => text(page, '#tip'));
	await page.mouse.down();
	await page.mouse.up();
	await until(page, /^40 events selected, 100% of all/, () => text(page, '#chips .soft'));
	await moveToCell(page, 6, 0);
	await page.mouse.down();
	await moveToCell(page, 8, 49);
	await until(page, /^600 ms to 900 ms\s+0 events/, () => text(page, '#tip'));
	await page.mouse.up();
	await until(page, /^0 events selected/, () => text(page, '#chips .soft'));
	await until(page, /No sample is selected/, () => text(page, '#view'));
	await page.locator('canvas.heat').focus();
	await page.keyboard.press('Escape');
	await until(page, 0, () => page.locator('#chips .tag').count());
	await moveToCell(page, 5, 1);
	for (const key of ['ArrowDown', 'Enter', 'Shift+ArrowRight', 'Shift+ArrowUp']) await page.keyboard.press(key);
	await until(page, /r=0\.500000\+0\.604000/, () => page.url());
	await page.locator('canvas.heat').dblclick();
	await until(page, 0, () => page.locator('#chips .tag').count());
}));

await test('the heatmap spreads waits over their time, and has longer columns', () => with_('v=heat&e=1', async page => {
	await moveToCell(page, 20, 0);
	await until(page, /^2\.00 s to 2\.00 s\s+4\.00 ms\s+50\.0% \[waiting: futex\]\s+50\.0% \[waiting\]/, () => text(page, '#tip'));
	await page.getByLabel('column').selectOption({ label: '1.00 s' });
	await until(page, /^a cell is 20\.00 ms/, () => text(page, '.tools .end'));
	await page.reload();
	await page.waitForFunction(() => document.documentElement.dataset.ready);
	await until(page, /^a cell is 20\.00 ms/, () => text(page, '.tools .end'));
	await page.locator('.track', { hasText: 'worker' }).click();
	await moveToCell(page, 2, 1, 5);
	await until(page, /^2\.02 s to 2\.04 s\s+20\.00 ms\s+100% \[waiting\]/, () => text(page, '#tip'));
}));

await close();
console.log('end');
