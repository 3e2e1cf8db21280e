// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * node html-open.mjs BROWSER PAGE ROUNDS: opens the page each time in a browser that has just been started, and
 * prints a line a round: seconds until its graph is drawn, until a search is, and until another view is.
 */
import { launch, open } from './browser.mjs';

const [executable, file, rounds] = process.argv.slice(2);
/* From before an action in the page to the second frame after it: then the first has been shown. */
const timed = (page, action) => page.evaluate(async source => {
	const from = performance.now();
	await (0, eval)(source)();
	await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
	return (performance.now() - from) / 1000;
}, String(action));

for (let i = 0; i < Number(rounds); i++) {
	const { context, close } = await launch(executable);
	const page = await open(context, file);
	/* performance.now() counts from the navigation's beginning. */
	const shown = (await page.waitForFunction(() => performance.getEntriesByName('pcce-drawn')[0]?.startTime).then(h => h.jsonValue())) / 1000;
	const search = await timed(page, () => {
		const field = document.getElementById('search');
		field.value = '^parse_eval';
		field.dispatchEvent(new Event('input'));
		return new Promise(done => { const look = () => document.getElementById('matched').textContent ? done() : setTimeout(look); look(); });
	});
	const view = await timed(page, () => document.querySelector('[data-view=functions]').click());
	console.log([shown, search, view].map(t => t.toFixed(3)).join(' '));
	await close();
}
