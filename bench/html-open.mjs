// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * node html-open.mjs BROWSER PAGE ROUNDS
 *
 * Opens the page in a browser just started, in each round.  Prints a line for each round: seconds
 * until the graph is drawn, for a search, and for another view.
 */
import { launch, open } from './browser.mjs';

const [executable, file, rounds] = process.argv.slice(2);
/* Measures from before an action to the second frame after it, when the first frame is shown. */
const timed = (page, action) => page.evaluate(async source => {
	const from = performance.now();
	await (0, eval)(source)();
	await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
	return (performance.now() - from) / 1000;
}, String(action));

for (let i = 0; i < Number(rounds); i++) {
	const { context, close } = await launch(executable);
	const page = await open(context, file);
	/* performance.now() counts from the start of the navigation. */
	const drawn = await page.waitForFunction(
		() => performance.getEntriesByName('pcce-drawn')[0]?.startTime);
	const shown = await drawn.jsonValue() / 1000;
	const search = await timed(page, () => {
		const field = document.getElementById('search');
		field.value = '^parse_eval';
		field.dispatchEvent(new Event('input'));
		return new Promise(done => {
			const matched = document.getElementById('matched');
			const look = () => matched.textContent ? done() : setTimeout(look);
			look();
		});
	});
	const view = await timed(page,
		() => document.querySelector('[data-view=functions]').click());
	console.log([shown, search, view].map(t => t.toFixed(3)).join(' '));
	await close();
}
