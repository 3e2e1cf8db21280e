// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Headless Chromium for tests, and what they say about what they see. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

/* As root it wants no sandbox; the rest keeps it from looking for a network. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export async function launch(executablePath, options = {}) {
	const folder = mkdtempSync(join(tmpdir(), 'pcce-browser.'));
	const context = await chromium.launchPersistentContext(folder, { executablePath, args: FLAGS, viewport: { width: 1200, height: 800 }, reducedMotion: 'reduce', ...options });
	return { context, close: async () => { await context.close(); rmSync(folder, { recursive: true, force: true }); } };
}

/* A page, opened and ready. Collects what it asks for from outside and what goes wrong in it. */
export async function open(context, file, hash = '') {
	const page = await context.newPage();
	page.outside = [];
	page.wrong = [];
	page.on('request', r => { if (!/^(file|data|blob):/.test(r.url())) page.outside.push(r.url()); });
	/* Chromium warns of what the tests themselves do to look at pixels. */
	page.on('console', m => { if (/^(error|warning)$/.test(m.type()) && !/getImageData/.test(m.text())) page.wrong.push(m.text()); });
	page.on('pageerror', e => page.wrong.push(e.message));
	await page.goto('file://' + file + (hash && '#' + hash));
	await page.waitForFunction(() => document.documentElement.dataset.ready, null, { timeout: 120000 });
	return page;
}

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
export function like(got, pattern, what = '') {
	if (!pattern.test(got)) throw new Error(`${what} got ${JSON.stringify(got)}, wanted ${pattern}`);
}
/* Waits for something to become so: the page draws in the next frame. */
export async function until(page, wanted, get, what = '') {
	let got;
	for (let i = 0; i < 100; i++) {
		got = await get();
		if (wanted instanceof RegExp ? wanted.test(got) : JSON.stringify(got) === JSON.stringify(wanted)) return got;
		await page.waitForTimeout(50);
	}
	throw new Error(`${what} still ${JSON.stringify(got)}, wanted ${wanted instanceof RegExp ? wanted : JSON.stringify(wanted)}`);
}
