// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * node browse.mjs BROWSER FOLDER DEEPEST: opens the pages in FOLDER and uses them as a user would. DEEPEST is the most entries on
 * the encoding stack in small.html, as pcce-report says. Prints "pass" or "fail", a tab and the name of the test a line, and "end" at last.
 *
 * small.html shows the recording that tests/report/generate.c makes, of 87 samples: 82 under main, of which 56 are under parse.
 */
import { is, launch, like, open, test, until } from './browser.mjs';

const [executable, folder, deepest] = process.argv.slice(2);
const { context, close } = await launch(executable);
const ROW = 20;
const text = (page, selector) => page.locator(selector).first().innerText();
const status = page => text(page, '#status');
const press = (page, ...keys) => keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
const tab = (page, name) => page.getByRole('tab', { name }).click();
const selected = page => page.locator('#details h2').innerText();
const rows = page => page.locator('.rows .line .text').allInnerTexts();

/* Clicks into a graph: part of its width, row from the top. */
async function clickGraph(page, part, row, nth = 0) {
	const box = await page.locator('canvas.graph').nth(nth).boundingBox();
	await page.mouse.click(box.x + box.width * part, box.y + row * ROW + ROW / 2);
}
async function hoverGraph(page, part, row, nth = 0) {
	const box = await page.locator('canvas.graph').nth(nth).boundingBox();
	await page.mouse.move(box.x + box.width * part, box.y + row * ROW + ROW / 2);
}
/* The colour in the middle of a row: [r, g, b] */
const pixel = (page, part, row, nth = 0) => page.locator('canvas.graph').nth(nth).evaluate((canvas, [x, y]) => {
	const ratio = canvas.width / canvas.clientWidth;
	return [...canvas.getContext('2d').getImageData(Math.round(x * canvas.width), Math.round(y * ratio), 1, 1).data.slice(0, 3)];
}, [part, row * ROW + ROW - 3]);

async function with_(file, hash, body) {
	const page = await open(context, folder + '/' + file, hash);
	try {
		is(await page.evaluate(() => document.documentElement.dataset.ready), '1', 'ready');
		await body(page);
		is(page.outside, [], 'asked for');
		is(page.wrong, [], 'errors');
	} finally {
		await page.close();
	}
}

await test('what the recording is stands at the top', () => with_('small.html', '', async page => {
	is(await text(page, '#title'), 'demo --fast <input>');
	like(await text(page, '#facts'), /^87 samples of cpu-clock · .*11 different contexts · up to 12 frames deep$/);
	like(await text(page, '#quality'), /94\.25% exact/);
	like(await page.title(), /demo --fast <input>/);
}));

await test('a click on a frame zooms to it; Back, Escape and the button show more again', () => with_('small.html', '', async page => {
	await page.click('#details-toggle');
	await clickGraph(page, 0.3, 2);
	is(await selected(page), 'parse');
	await until(page, /z=\d+/, () => page.url());
	/* parse fills the whole width now, and step, inlined, is under it */
	await hoverGraph(page, 0.98, 2);
	like(await status(page), /^parse · 56 \(64\.4%\) · self 0%/);
	await hoverGraph(page, 0.3, 3);
	like(await text(page, '#tip'), /^step[^]*inlined into its caller/);
	await clickGraph(page, 0.3, 3);
	is(await selected(page), 'step');
	await page.getByText('← Back').click();
	await hoverGraph(page, 0.98, 2);
	like(await status(page), /^parse/);
	await press(page, 'Escape');
	await hoverGraph(page, 0.98, 1);
	like(await status(page), /^\[undecodable/);
	is(await page.getByText('Reset zoom').isDisabled(), true);
	await press(page, 'Backspace');
	await until(page, false, () => page.getByText('Reset zoom').isDisabled());
	await page.getByText('Reset zoom').click();
	await until(page, true, () => page.getByText('Reset zoom').isDisabled());
}));

await test('the graph is used with keys alone', () => with_('small.html', '', async page => {
	await press(page, '1');
	await press(page, 'ArrowDown', 'ArrowDown');
	like(await status(page), /^parse/);
	await press(page, 'ArrowRight');
	like(await status(page), /^finish/);
	await press(page, 'ArrowLeft', 'Enter');
	await until(page, /z=/, () => page.url());
	await press(page, 'ArrowDown');
	like(await status(page), /^step · 48|^step/);
	await press(page, 'Escape', 'Home');
	like(await status(page), /^all/);
	await press(page, 'u');
	await until(page, /u=1/, () => page.url());
	await press(page, 'ArrowUp');
	like(await status(page), /^main/, 'growing upwards, the callee is above:');
	await press(page, 'i');
	is(await page.locator('#details').isVisible(), true);
	await press(page, '?');
	is(await page.locator('dialog').isVisible(), true);
	await press(page, 'Escape');
	is(await page.locator('dialog').isVisible(), false);
}));

await test('search marks what matches, goes from match to match, and can leave the rest out', () => with_('small.html', '', async page => {
	await press(page, '/');
	await page.keyboard.type('^eval$');
	await until(page, /^44\.8% in \d frames$/, () => text(page, '#matched'));
	await page.fill('#search', 'NOT THERE');
	await until(page, 'nothing matches', () => text(page, '#matched'));
	await page.fill('#search', '(');
	await until(page, 'not a regular expression', () => text(page, '#matched'));
	is(await page.locator('#search').getAttribute('aria-invalid'), 'true');
	await page.fill('#search', 'STRLEN');
	await until(page, 'nothing matches', () => text(page, '#matched'), 'capitals mean themselves:');
	await page.fill('#search', 'Strlen|CMP'.toLowerCase());
	await until(page, /^18\.4% in \d frames$/, () => text(page, '#matched'));
	await press(page, 'Enter');
	like(await status(page), /strlen|cmp/);
	await page.click('#only');
	await until(page, /^1\d samples selected/, () => text(page, '#chips .soft'));
	await hoverGraph(page, 0.5, 0);
	like(await status(page), /^all · 1\d \(100%\)/);
	await page.click('#chips .tag button');
	await until(page, 0, () => page.locator('#chips .tag').count());
	await press(page, '/', 'Escape');
	is(await page.inputValue('#search'), '');
}));

await test('recursion, foreign code, kernel, tail calls and gaps are told apart', () => with_('small.html', '', async page => {
	const seen = {};
	for (let part = 0.005; part < 1; part += 0.01) {
		for (let row = 1; row < 8; row++) {
			await hoverGraph(page, part, row);
			const s = await status(page);
			seen[s.split(' · ')[0]] = s;
		}
	}
	like(Object.keys(seen).find(k => / × \d/.test(k)) || '', /^eval × /, 'repetition');
	like(seen.finish, /left by a tail call/);
	like(seen.__strlen_avx2, /not instrumented/);
	like(seen['[kernel]'], /in the kernel/);
	like(seen['[truncated]'], /frames are missing here/);
	like(seen.step, /inlined into its caller/);
	like(seen['[thread without pcce]'] || '', /frames are missing/);
	like(seen.qsort, /not instrumented/, 'a foreign segment between instrumented ones');
	like(await text(page, '#legend'), /instrumented[^]*inlined[^]*not instrumented[^]*kernel[^]*missing/);
}));

await test('details tell where a frame is called, how sure it is and how it is encoded', () => with_('small.html', '', async page => {
	await page.click('#details-toggle');
	await clickGraph(page, 0.2, 4);
	is(await selected(page), 'eval');
	const details = await page.locator('#details').innerText();
	like(details, /Called at\s+demo\/step\.h:5/);
	like(details, /quality\s+exact/);
	like(details, /saved at most\s+\d call/);
	like(details, /this call costs pcce an addition/);
	like(details, /Call chain, innermost first\s+eval\s+step\s+parse\s+main/);
	await page.locator('#details').getByText('Callers and callees').click();
	like(await text(page, '.half h3'), /^Callers of eval$/);
}));

await test('colours show how deep the encoding stack is, or how calls are encoded', () => with_('small.html', '', async page => {
	const box = () => pixel(page, 0.2, 4);
	const kind = await box();
	await page.getByLabel('colour', { exact: true }).selectOption('depth');
	await until(page, new RegExp(`none[^]*1 saved call[^]*\\b${Math.round(Math.sqrt(deepest))} saved calls[^]*\\b${deepest} saved calls`), () => text(page, '#legend'));
	await until(page, false, async () => String(await box()) === String(kind));
	const depth = await box();
	/* Below [truncated], at the far right, the stack is deepest: the colour is stronger there. */
	const strongest = await pixel(page, 0.995, 2);
	is(strongest[0] < depth[0] - 20, true, `${strongest} ${depth}`);
	await page.getByLabel('colour', { exact: true }).selectOption('call');
	await until(page, /an addition[^]*is saved/, () => text(page, '#legend'));
	await until(page, false, async () => String(await box()) === String(depth));
}));

await test('the call tree opens, closes and follows the heaviest way', () => with_('small.html', '', async page => {
	await tab(page, 'Call tree');
	is((await rows(page)).slice(0, 3), ['main', 'parse', 'step']);
	await page.locator('.list').focus();
	await press(page, 'Home', 'ArrowLeft');
	is((await rows(page))[0], 'main');
	is((await rows(page)).includes('parse'), false);
	is(await page.locator('.line.current').getAttribute('aria-expanded'), 'false');
	await press(page, 'ArrowRight', 'ArrowRight');
	is(await page.locator('.line.current .text').innerText(), 'parse');
	await press(page, 'Home', '*');
	like((await rows(page)).join(' '), /main parse step eval/);
	like((await rows(page)).join(' '), /cmp/);
	const line = page.locator('.rows .line', { hasText: 'finish' });
	like(await line.innerText(), /8\.05%\s+7\s+▾\s+finish\s+demo\/main\.c:15/);
	await line.locator('.twist').click();
	is((await rows(page)).includes('report'), false);
	await press(page, 'Home', 'x');
	like(await page.locator('.line.current .text').innerText(), /^eval/);
	await press(page, 'Enter');
	await until(page, /z=/, () => page.url());
	is(await page.locator('canvas.graph').count(), 1, 'back in the flame graph:');
}));

await test('bottom-up begins with the functions that take the time', () => with_('small.html', 'v=bottom', async page => {
	is((await rows(page))[0], 'eval');
	like(await page.locator('.rows .line').first().innerText(), /^44\.8%\s+39/);
	await page.locator('.rows .line').first().click();
	await press(page, 'ArrowRight', 'ArrowRight');
	like(await page.locator('.line.current .text').innerText(), /^eval|^step/);
}));

await test('the table sorts, and shows callers and callees of what is clicked', () => with_('small.html', 'v=functions', async page => {
	is((await rows(page))[0], 'eval');
	await page.getByRole('button', { name: 'total' }).click();
	is((await rows(page)).slice(0, 2), ['main', 'parse']);
	is(await page.locator('[aria-sort]').innerText(), 'total ▾');
	await page.getByRole('button', { name: 'function' }).click();
	is((await rows(page)).slice().sort((a, b) => a < b ? -1 : 1), await rows(page));
	await page.locator('.rows .line', { hasText: 'cmp' }).click();
	is(await text(page, '.half h3'), 'Callers of cmp');
	const height = await page.locator('canvas.graph').first().evaluate(c => c.clientHeight);
	await hoverGraph(page, 0.5, height / ROW - 1.6);
	like(await status(page), /^qsort/);
	await clickGraph(page, 0.5, height / ROW - 1.6);
	is(await text(page, '.half h3'), 'Callers of qsort');
	await page.fill('#search', 'eval');
	await until(page, ['eval'], () => rows(page));
}));

await test('the source has the cost of each line, and leads to what a line calls', () => with_('source.html', 'v=functions', async page => {
	const lines = () => page.locator('.source .rows .line').evaluateAll(all => all.filter(l => l.children[1].textContent)
		.map(l => [...l.children].map(c => c.textContent).join(' ')));
	const functions = page.locator('.narrow .rows .line .text');
	await tab(page, 'Source');
	await functions.getByText('main', { exact: true }).click();
	await until(page, [' 64.4% 12         step_12(main);', ' 11.5% 14         step_14(main);'], async () =>
		(await lines()).filter(l => / 1[24] /.test(l)));
	is((await lines()).length > 2, true, 'other lines');
	like(await page.locator('.source .rows .line.current').innerText(), /^4\.60%\s4\.60%\s10\s+step_10\(main\)/, 'the line with the most samples:');
	await page.locator('.source').focus();
	await press(page, 'x');
	like(await page.locator('.source .rows .line.current').innerText(), /64\.4%[^]*12/, 'the next one:');
	await press(page, 'x', 'x', 'x', 'x');
	await press(page, 'Home', 'Enter');
	is(await text(page, '.subject'), 'main', 'line 1 calls nothing');
	await page.locator('.source .rows .line').filter({ hasText: 'step_12(' }).dblclick();
	await until(page, 'parse', () => text(page, '.subject'));
	/* Its file is not there: the numbers of lines are. */
	like(await text(page, '.source + .message'), /lacks the text of \/src\/demo\/parse\.c/);
	is((await lines()).every(l => /% 3\d $/.test(l)), true, 'lines without text');
	/* The file is shorter than the lines of the function say. */
	await functions.getByText('step', { exact: true }).click();
	await until(page, ['</script><b>    ?[1m?', 'last', '', ''], () => page.locator('.source .rows .code').allInnerTexts());
	/* A part of the recording only. */
	await functions.getByText('eval', { exact: true }).click();
	const all = await lines();
	await page.fill('#search', '^parse$');
	await page.click('#only');
	await until(page, false, async () => (await lines()).join() === all.join(), 'only under parse:');
	await page.click('#only');
	await until(page, all, lines);
	await page.fill('#search', '');
	is(await page.getByText('Only in the zoomed frame').isDisabled(), true);
	await tab(page, 'Flame graph');
	await clickGraph(page, 0.3, 2);
	await tab(page, 'Source');
	await functions.getByText('eval', { exact: true }).click();
	await page.getByText('Only in the zoomed frame').click();
	await until(page, false, async () => (await lines()).join() === all.join(), 'only in the zoomed frame:');
	await page.reload();
	await page.waitForFunction(() => document.documentElement.dataset.ready);
	is(await text(page, '.subject'), 'eval', 'the address keeps it');
	is((await lines()).join() === all.join(), false);
	await press(page, 'Escape');
	await until(page, all, lines, 'no longer zoomed:');
	is(await page.getByText('Only in the zoomed frame').isDisabled(), true);
	await functions.getByText(/strlen/).click();
	like(await text(page, '.source + .message'), /No line of this function is known/);
	await tab(page, 'Flame graph');
	await press(page, 'i');
	await clickGraph(page, 0.3, 3);
	await page.locator('#details').getByText('Source', { exact: true }).click();
	await until(page, 'step', () => text(page, '.subject'));
}));

await test('how sure the recording is, with reasons, and a way to each', () => with_('small.html', '', async page => {
	await page.click('#quality');
	const all = await page.locator('.recording').innerText();
	like(all, /exact\s+82\s+94\.3%/);
	like(all, /truncated\s+1\s+1\.15%/);
	like(all, /undecodable\s+2\s+2\.30%/);
	like(all, /2\s+2\.30%\s+no edge/);
	like(all, /outside\s+2\s+2\.30%/);
	like(all, /lost\s+3\s/);
	like(all, new RegExp(`up to 12 frames and up to ${deepest} saved calls`));
	await page.locator('tr', { hasText: 'undecodable' }).getByText('show them').click();
	await until(page, /^2\.30% in 1 frame$/, () => text(page, '#matched'));
}));

await test('a verified recording says what the real stack said', () => with_('verify.html', 'v=recording', async page => {
	const all = await page.locator('.recording').innerText();
	like(all, /agree\s+5\s/);
	like(all, /differ\s+2\s+this is a defect/);
	like(all, /not checked\s+3\s/);
}));

await test('a recording without samples says so', () => with_('empty.html', '', async page => {
	like(await text(page, '#view'), /has no samples/);
}));

await test('one frame', () => with_('one.html', '', async page => {
	await hoverGraph(page, 0.5, 1);
	like(await status(page), /^main · 1 \(100%\) · self 100%/);
	for (const name of ['Call tree', 'Bottom-up', 'Functions', 'Recording', 'Flame graph']) await tab(page, name);
}));

await test('threads and spans of time are chosen, and everything shows them alone', () => with_('threads.html', '', async page => {
	like(await text(page, '#facts'), /2\.99 s · 3 threads/);
	await page.locator('.track', { hasText: 'pool 200/202' }).click();
	await until(page, /^100 samples selected, 33\.3% of all/, () => text(page, '#chips .soft'));
	await hoverGraph(page, 0.5, 2);
	like(await status(page), /^work · 100 \(100%\)/);
	await page.locator('.track', { hasText: 'main 200' }).click({ modifiers: ['Control'] });
	await until(page, /^200 samples selected/, () => text(page, '#chips .soft'));
	await page.locator('#chips .tag button').first().click();
	const lanes = await page.locator('.lanes canvas').boundingBox();
	await page.mouse.move(lanes.x + lanes.width * 0.5, lanes.y + 10);
	await page.mouse.down();
	await page.mouse.move(lanes.x + lanes.width * 0.7, lanes.y + 10, { steps: 3 });
	await page.mouse.move(lanes.x + lanes.width, lanes.y + 10, { steps: 3 });
	await page.mouse.up();
	await until(page, /^1[45]\d samples selected/, () => text(page, '#chips .soft'));
	await tab(page, 'Functions');
	is((await rows(page)).slice().sort(), ['thread_start', 'work']);
	await page.locator('#chips').getByText('zoom').click();
	await page.locator('#chips [aria-label="Select the whole time"]').click();
	await until(page, 0, () => page.locator('#chips .tag').count());
	await until(page, 5, async () => (await rows(page)).length);
	await page.locator('.lanes canvas').focus();
	await press(page, 'ArrowRight', 'Shift+ArrowRight');
	await until(page, /^\d+ samples selected/, () => text(page, '#chips .soft'));
	await press(page, 'Escape');
	await until(page, 0, () => page.locator('#chips .tag').count());
}));

await test('a thread says in which context it was created', () => with_('threads.html', 'v=recording', async page => {
	like(await page.locator('.recording').innerText(), /pool\s+200\s+201\s+100\s+unknown\s+pool\s+200\s+202\s+100\s+main → start_threads {1,2}main\.c:5/);
	await tab(page, 'Flame graph');
	await page.locator('.track', { hasText: 'pool 200/202' }).click();
	await page.click('#details-toggle');
	await clickGraph(page, 0.5, 2);
	await tab(page, 'Over time');
	await until(page, 'created by main → start_threads  main.c:5', () => page.locator('.origin').textContent());
	await page.locator('.track', { hasText: 'pool 200/201' }).click();
	await until(page, '', () => page.locator('.origin').textContent());
	is(await page.locator('.origin').isVisible(), false);
	await page.locator('.track', { hasText: 'pool 200/202' }).click();
	await tab(page, 'Flame graph');
	/* The graph may still be that of the other thread. */
	await until(page, /Threads\s+pool 200\/202\s+created by main → start_threads {1,2}main\.c:5\s+100%/, async () => {
		await clickGraph(page, 0.5, 2);
		return page.locator('#details').innerText();
	});
}));

await test("a thread's chains of calls over time", () => with_('threads.html', 'v=time', async page => {
	await page.getByLabel('thread', { exact: true }).selectOption({ label: 'pool 200/201 (100 samples)' });
	await hoverGraph(page, 0.5, 1);
	like(await text(page, '#tip'), /^work[^]*1\.00 s to 2\.00 s: 1\.00 s, 100 samples/);
	await hoverGraph(page, 0.2, 1);
	is(await page.locator('#tip').isVisible(), false, 'where it does not run there is nothing:');
	await page.getByText('Without gaps').click();
	await hoverGraph(page, 0.02, 1);
	like(await text(page, '#tip'), /^work/);
	await page.getByText('Without gaps').click();
	await clickGraph(page, 0.5, 1);
	await hoverGraph(page, 0.02, 1);
	like(await text(page, '#tip'), /^work/, 'a click fits the box:');
	await page.locator('canvas.graph').focus();
	await press(page, 'Escape');
	await hoverGraph(page, 0.02, 1);
	is(await page.locator('#tip').isVisible(), false);
}));

await test('names that hold markup or odd letters are only ever text', () => with_('names.html', 'v=functions', async page => {
	const all = await rows(page);
	for (const name of ["</script><script>document.title='broken'</script>", '@DATA@', 'операция::перс'.replace('перс', 'перс').slice(0, 8), '__proto__', 'constructor', 'operator<<'])
		is(all.some(r => r.startsWith(name)), true, name);
	is(all.some(r => r.startsWith('bad ?? bytes')), true, 'bytes that are no UTF-8');
	like(await page.title(), /^made for tests/);
	is(await page.locator('img').count(), 0);
	for (const name of ['Flame graph', 'Call tree', 'Bottom-up']) await tab(page, name);
	await tab(page, 'Flame graph');
	await page.click('#details-toggle');
	await clickGraph(page, 0.2, 2);
	like(await selected(page), /^ns::template_class<int, template_class<int[^]*::method\(unsigned long, std::basic_string<char> const&\)$/);
	await hoverGraph(page, 0.2, 2);
	const tip = await page.locator('#tip').boundingBox();
	is(tip.x >= 0 && tip.x + tip.width <= 1200 && tip.y >= 0 && tip.y + tip.height <= 800, true, 'the tip is in the window');
	await page.locator('#details').getByText('Find all').click();
	await until(page, /^58\.8% in 1 frame$/, () => text(page, '#matched'));
}));

await test('names are short, or full with m', () => with_('names.html', 'v=functions', async page => {
	const short = ['operator<<', 'list<int>::size', 'list<char>::size', 'std::map::operator->'],
		full = ['operator<<(std::ostream&, point const&)', 'list<int>::size() const', 'list<char>::size() const', 'std::map<int, int>::operator->() const'];
	const shown = async list => (await rows(page)).filter(r => list.includes(r)).length;
	is([await shown(short), await shown(full)], [4, 0]);
	await press(page, 'm');
	await until(page, 4, () => shown(full));
	is(await shown(short), 0);
	like(page.url(), /m=1/);
	await tab(page, 'Call tree');
	is(await shown(full), 4);
	await page.getByRole('button', { name: 'Full names' }).click();
	await until(page, 4, () => shown(short));
	for (const [query, n] of [['list<int>::size', 1], ['size$', 2], ['size\\(\\) const$', 2], ['point const&', 1], ['list<char>::size() const', 1]]) {
		await page.fill('#search', query);
		await until(page, new RegExp(` in ${n} frame`), () => text(page, '#matched'));
	}
}));

await test('5,000 frames deep', () => with_('deep.html', '', async page => {
	like(await text(page, '.tools .end'), /^5,00\d rows/);
	await page.click('#details-toggle');
	await press(page, '1', 'x');
	await until(page, /touch|walk|visit/, () => selected(page));
	like(await page.locator('#details').innerText(), /frames\s+[45],\d{3}/);
	await page.getByText('Fold recursion').click();
	await until(page, '', () => text(page, '.tools .end'));
	await hoverGraph(page, 0.1, 4);
	like(await status(page), /visit|walk|touch/);
	await page.getByText('Fold recursion').click();
	await tab(page, 'Call tree');
	await page.locator('.list').focus();
	await press(page, 'Home', '*', 'End');
	like(await page.locator('.line.current .text').innerText(), /touch|walk|visit/);
	await tab(page, 'Bottom-up');
	await page.locator('.list').focus();
	await press(page, 'Home', 'x');
	await tab(page, 'Functions');
	await page.locator('.rows .line', { hasText: 'walk_left' }).click();
	is(await text(page, '.half h3'), 'Callers of walk_left');
}));

await test('100,000 contexts: every view, search, threads', () => with_('contexts.html', '', async page => {
	await tab(page, 'Recording');
	like(await page.locator('.recording').innerText(), /nodes in this page\s+8\d\d,\d{3}/);
	await tab(page, 'Flame graph');
	await page.fill('#search', '^parse_eval');
	await until(page, /in [\d,]+ frames$/, () => text(page, '#matched'));
	await page.locator('.track').nth(3).click();
	await until(page, /^125,000 samples selected, 12\.5% of all/, () => text(page, '#chips .soft'));
	await page.click('#only');
	await until(page, /^[\d,]+ samples selected/, () => text(page, '#chips .soft'));
	for (const name of ['Call tree', 'Bottom-up', 'Functions', 'Over time', 'Flame graph']) {
		await tab(page, name);
		await until(page, 'true', () => page.getByRole('tab', { name }).getAttribute('aria-selected'));
	}
	for (const button of ['Invert', 'Invert', 'By line', 'Fold recursion']) await page.getByText(button, { exact: true }).click();
	await hoverGraph(page, 0.01, 2);
	like(await status(page), / · /);
}));

await test('two recordings compared: red grew, blue shrank, pale is not sure', () => with_('compare.html', '', async page => {
	like(await text(page, '#facts'), /^old\.data → new\.data/);
	is(await page.getByRole('tab').allInnerTexts(), ['Flame graph', 'Call tree', 'Bottom-up', 'Functions', 'Recording'], 'no empty view');
	const found = {};
	for (let part = 0.01; part < 1; part += 0.02) {
		await hoverGraph(page, part, 2);
		found[(await status(page)).split(' · ')[0]] = { part, status: await status(page) };
	}
	await page.mouse.move(5, 5);
	const [grows, shrinks, steady, fresh, gone] = await Promise.all(['grows', 'shrinks', 'steady', 'fresh', 'gone'].map(n => pixel(page, found[n].part - 0.005, 2)));
	is(grows[0] > grows[2] + 60 && fresh[0] > fresh[2] + 60, true, `red ${grows} ${fresh}`);
	is(shrinks[2] > shrinks[0] + 60 && gone[2] > gone[0] + 60, true, `blue ${shrinks} ${gone}`);
	is(Math.max(...steady) - Math.min(...steady) < 30, true, `pale ${steady}`);
	like(found.grows.status, /\+30\.00 points/);
	await page.getByLabel('width').selectOption('after');
	await hoverGraph(page, 0.999, 2);
	like(await status(page), /^(fresh|steady|grows|shrinks)/, 'what is gone has no width now:');
	await tab(page, 'Functions');
	like(await page.locator('.rows .line').first().innerText(), /10\.0%\s+40\.0%\s+\+30\.00\s+15\.5\s+grows/);
	for (const name of ['Call tree', 'Bottom-up']) await tab(page, name);
}));

await test('two recordings compared by pcce-diff: how sure each is', () => with_('diff.html', '', async page => {
	like(await text(page, '#facts'), /^small\.data → verify\.data · 87 → 10 samples of cpu-clock · time 87\.00 ms → 10\.00 ms, −88\.5%$/);
	like(await text(page, '#quality'), /^[0-9.]+% exact$/);
	for (const name of ['Call tree', 'Bottom-up', 'Functions', 'Recording']) await tab(page, name);
	const all = await page.locator('.recording').innerText();
	like(all, /Quality of the samples: small\.data\s[^]*exact\s+82\s+94\.3%[^]*Quality of the samples: verify\.data/);
	like(all, /The recording: small\.data\s[^]*The recording: verify\.data[^]*nodes in this page/);
}));

await test('colours follow the system, and the button', async () => {
	const dark = await launch(executable, { colorScheme: 'dark' });
	try {
		const page = await open(dark.context, folder + '/small.html');
		const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
		is(await back() < 60, true, 'dark');
		const box = await pixel(page, 0.2, 1);
		await page.click('#theme');
		is(await back() > 200, true, 'light');
		await until(page, false, async () => JSON.stringify(await pixel(page, 0.2, 1)) === JSON.stringify(box), 'the graph too:');
		await page.reload();
		await page.waitForFunction(() => document.documentElement.dataset.ready);
		is(await back() > 200, true, 'remembered');
		await press(page, 't');
		is(await back() < 60, true, 'dark again');
		await page.emulateMedia({ forcedColors: 'none' });
		is(page.wrong, []);
	} finally {
		await dark.close();
	}
});

await test('the address keeps what is seen', () => with_('threads.html', '', async page => {
	await page.locator('.track', { hasText: 'pool 200/201' }).click();
	await tab(page, 'Functions');
	await page.fill('#search', 'work');
	await until(page, ['work'], () => rows(page));
	await page.reload();
	await page.waitForFunction(() => document.documentElement.dataset.ready);
	is(await rows(page), ['work']);
	like(await text(page, '#chips'), /pool 200\/201/);
	await page.goBack();
	await until(page, 'true', () => page.getByRole('tab', { name: 'Flame graph' }).getAttribute('aria-selected'));
}));

await test('small windows', () => with_('small.html', '', async page => {
	for (const [width, height] of [[360, 640], [640, 360], [800, 480]]) {
		await page.setViewportSize({ width, height });
		for (const name of ['Call tree', 'Functions', 'Over time', 'Flame graph']) {
			await tab(page, name);
			is(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${width}x${height} ${name} is not wider than the window`);
		}
		const box = await page.locator('canvas.graph').first().boundingBox();
		is(box.height >= 3 * ROW, true, `${width}x${height}: room for the graph, ${box.height}`);
		await hoverGraph(page, 0.3, 1);
		await until(page, /^main/, () => status(page));
	}
}));

await close();
console.log('end');
