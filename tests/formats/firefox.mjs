// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Opens profiles with the Firefox profiler's own code, in the shape of its command line: firefox.mjs PROGRAM FOLDER
 *
 * The program asks a server of its own for a profile, and gives that half a second to begin, which is not enough on a
 * busy machine. So the server is started here, and ended in any case.
 *
 * A question to a server that has not yet written who it is, or is writing it, makes the program remove that server's socket and
 * description: then it is never found. So nobody asks before the description is whole, and the server accepts connections
 * by then.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, is, yes, clean, folded, sorted } from './verdict.mjs';

const [program, folder] = process.argv.slice(2);
process.env.PROFILER_CLI_SESSION_DIR = `${folder}/firefox-sessions`;
mkdirSync(process.env.PROFILER_CLI_SESSION_DIR);

const patience = 300; /* seconds, for what takes three on an idle machine */
const run = (...words) => execFileSync(process.execPath, [program, ...words], { encoding: 'utf8', maxBuffer: 1 << 28, timeout: patience * 1000, stdio: ['ignore', 'pipe', 'pipe'] });

const is_json = file => {
	try {
		return !!JSON.parse(readFileSync(file, 'utf8'));
	} catch {
		return false;
	}
};

/* Loads a profile, and gives body what asks for something about it. */
async function opened(name, body) {
	const session = ['--session', name], stem = `${process.env.PROFILER_CLI_SESSION_DIR}/${name}`;
	const ask = (...words) => JSON.parse(run(...words, ...session, '--json'));
	const server = spawn(process.execPath, [program, '--daemon', `${folder}/${name}.firefox.json`, ...session], { stdio: ['ignore', 'pipe', 'pipe'] });
	const until = Date.now() + patience * 1000;
	let said = '', ended;
	const failure = what => new Error(`${what}; it said: ${said}; its log: ${existsSync(stem + '.log') ? readFileSync(stem + '.log', 'utf8').slice(-1000) : 'none'}`);
	const ready = async (what, test) => {
		for (;;) {
			const refusal = test();

			if (!refusal) return;
			if (ended) throw failure(`the server ended (${ended}) ${what}`);
			if (Date.now() > until) throw failure(`the server is there, but after ${patience} s still ${what}: ${refusal}`);
			await sleep(100);
		}
	};

	for (const stream of [server.stdout, server.stderr]) stream.on('data', data => (said += data));
	server.on('error', e => (ended = String(e)));
	server.on('exit', (status, signal) => (ended = signal || `exit status ${status}`));
	try {
		await ready('before it listened', () => is_json(stem + '.json') ? '' : 'no description');
		await ready('before it had loaded the profile', () => {
			try {
				ask('thread', 'list');
			} catch (e) {
				if (!/still loading/.test(e.message)) throw failure(e.message);
				return 'loading';
			}
		});
		await body(ask);
	} finally {
		server.kill();
	}
}

/* The call trees of all threads, as folded lines. */
function contexts(ask) {
	const sums = {};
	const walk = (node, path) => {
		is(node.childrenTruncated, undefined, 'left out');
		if (node.selfSamples) sums[path.join(';')] = (sums[path.join(';')] || 0) + node.selfSamples;
		for (const child of node.children || []) walk(child, [...path, clean(child.name)]);
	};
	for (const t of ask('thread', 'list').threads) {
		const tree = ask('thread', 'samples-top-down', '--thread', t.threadHandle, '--include-idle', '--max-lines', '1000000');
		walk(tree.regularCallTree, []);
	}
	return sums;
}

await test('firefox profiler: a profile', () => opened('small', ask => {
	is(sorted(contexts(ask)), sorted(folded(`${folder}/small.folded`)), 'contexts');
	is(ask('thread', 'list').threads.map(t => [t.name, t.pid, t.tid]), [['demo', '100', 100]], 'threads');
	/* What pcce-report says of this function is "13.79% 13.79% 12 next<char>; really (demo)". */
	const all = ask('thread', 'functions', '--thread', 't-0', '--include-idle').functions;
	const next = all.find(f => f.name === 'next<char>; really');
	is([next.selfSamples, next.totalSamples, next.library], [12, 12, 'demo'], 'function');
	const info = ask('function', 'info', next.functionHandle);
	is(info.library.path, '/usr/bin/demo', 'module');
	is(info.categoryBreakdown.self.categories.map(c => c.name), ['Instrumented'], 'category');
}));
await test('firefox profiler: many contexts and threads', () => opened('huge', ask => {
	is(ask('thread', 'list').threads.map(t => t.tid).sort(), [...new Set(readFileSync(`${folder}/huge.jsonl`, 'utf8').split('\n').filter(Boolean)
		.flatMap(line => JSON.parse(line).threads || []).map(t => t.tid))].sort(), 'threads');
	is(sorted(contexts(ask)), sorted(folded(`${folder}/huge.folded`)), 'contexts');
}));
console.log('end');
