// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads the data of the page, which lib/html/page.c describes. The results are columns (typed
 * arrays), not objects, because a profile can have a million nodes.
 */
const INLINED = 1,
	TAIL = 2,
	FOREIGN = 4,
	KERNEL = 8,
	GAP = 16,
	SIGNAL = 32,
	LEFT_OUT = 64,
	ORIGIN = 128,
	RESTORED = 65536;
/* All of these; the rest is the call's number in CALLS. */
const FLAGS = 0x100ff;
const CALLS = ['', 'none', 'add', 'ext', 'push', 'tail'];
const callIn = flags => CALLS[(flags >> 8) & 0xff] || '';

function fromBase64(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const bits = atob(text),
		bytes = new Uint8Array(bits.length);
	for (let i = 0; i < bits.length; i++) bytes[i] = bits.charCodeAt(i);
	return bytes;
}

async function inflate(bytes) {
	const stream = new DecompressionStream('deflate'),
		writer = stream.writable.getWriter();
	/* Failures appear when the result is read. */
	writer.write(bytes).catch(() => {});
	writer.close().catch(() => {});
	return new Uint8Array(await new Response(stream.readable).arrayBuffer());
}

function decodeColumn(bytes, at, out) {
	for (let i = 0, n = out.length; i < n; i++) {
		let b = bytes[at++];
		if (b < 0x80) {
			out[i] = b;
			continue;
		}
		let value = b & 0x7f,
			shift = 7;
		do {
			b = bytes[at++];
			/* Bit operations cannot handle numbers from 2^28 on. */
			if (shift < 28) value |= (b & 0x7f) << shift;
			else value += (b & 0x7f) * 2 ** shift;
			shift += 7;
		} while (b >= 0x80);
		out[i] = value;
	}
	return out;
}

/* Columns whose values can exceed 32 bits. */
const WIDE = { 'node.self': 1, 'node.before': 1, 'sample.time': 1, 'sample.weight': 1 };

async function readData(text) {
	const bytes = await inflate(fromBase64(text));
	const length = new DataView(bytes.buffer).getUint32(0, true);
	const utf8 = new TextDecoder();
	const head = JSON.parse(utf8.decode(bytes.subarray(4, 4 + length)));
	if (head.version !== 1) throw new Error('unknown version ' + head.version + ' of the data');
	const columns = {};
	const texts = { strings: [''], text: [] };
	let at = 4 + length;
	for (const [name, count, size] of head.columns) {
		if (name === 'strings' || name === 'text')
			texts[name] = utf8.decode(bytes.subarray(at, at + size)).split('\n');
		else
			columns[name] = decodeColumn(
				bytes,
				at,
				WIDE[name] ? new Float64Array(count) : new Uint32Array(count)
			);
		at += size;
	}
	return { head, columns, ...texts };
}

/* ---- the profile ---- */

/* Numbers functions by name and module. Marks ("[truncated]") are different from functions. */
function nameFunctions(p) {
	const n = p.frameName.length,
		known = new Map();
	p.func = new Uint32Array(n);
	p.funcs = [];
	for (let i = 0; i < n; i++) {
		const flags = p.frameFlags[i],
			mark = flags & (KERNEL | GAP | SIGNAL | ORIGIN | LEFT_OUT);
		const key = p.frameName[i] + ' ' + p.frameModule[i] + ' ' + mark;
		let func = known.get(key);
		if (func === undefined) {
			known.set(key, (func = p.funcs.length));
			const full =
				flags & LEFT_OUT
					? '[left out]'
					: p.strings[p.frameName[i]] || (i ? '[no name]' : 'all');
			/* name: what is shown, one of the others (showNames()). */
			p.funcs.push({
				name: full,
				full,
				short: p.strings[p.frameShort[i]] || full,
				module: p.modules[p.frameModule[i] - 1] || '',
				flags: flags & FLAGS,
			});
		} else {
			/* A function counts as inlined only if all its frames are inlined. */
			p.funcs[func].flags &= flags | ~INLINED;
		}
		p.func[i] = func;
	}
}

/* Sets sources: file -> its lines; files are numbers of strings. */
function readSources(p, columns, lines) {
	const column = name => columns[name] || new Uint32Array(0);
	let at = 0;
	p.placeFile = column('place.file');
	p.placeLine = column('place.line');
	p.sources = new Map();
	column('source.file').forEach((file, i) => {
		const n = column('source.lines')[i];
		p.sources.set(file, lines.slice(at, at + n));
		at += n;
	});
}

/* Returns the weights of the nodes by event. */
function byEvent(self, n) {
	const events = self.length / n;
	if (events <= 1) return [self];
	return Array.from({ length: events }, (_, e) =>
		Float64Array.from({ length: n }, (_, i) => self[i * events + e])
	);
}

async function readProfile(text) {
	const { head, columns, strings, text: lines } = await readData(text);
	const column = name => columns[name] || new Uint32Array(0);
	const up = column('node.up'),
		n = up.length;
	const p = {
		title: head.title,
		facts: head.facts,
		modules: head.modules,
		threads: head.threads,
		strings,
		frameName: column('frame.name'),
		frameShort: column('frame.short'),
		fullNames: !!head.full_names,
		frameFile: column('frame.file'),
		frameLine: column('frame.line'),
		frameModule: column('frame.module'),
		frameFlags: column('frame.flags'),
		entries: columns['node.entries'] || null,
		/* node -> least and greatest number of further repetitions, and nodes in a
		 * repetition */
		repeatOf: new Map(),
	};
	p.sampleSecondsBefore = p.facts.was ? onlyEvent(p.facts.was).scale / 1e9 : 0;
	nameFunctions(p);
	readSources(p, columns, lines);
	let node = 0;
	column('repeat.node').forEach((d, i) => {
		node += d;
		p.repeatOf.set(node, [
			column('repeat.least')[i],
			column('repeat.most')[i],
			column('repeat.span')[i],
		]);
	});
	const parent = new Int32Array(n),
		depth = new Int32Array(n),
		at = [];
	parent[0] = -1;
	at[0] = 0;
	for (let i = 1; i < n; i++) {
		const d = depth[i - 1] + 1 - up[i];
		depth[i] = d;
		parent[i] = at[d - 1];
		at[d] = i;
	}
	const selves = byEvent(columns['node.self'] || new Float64Array(1), n);
	p.tree = makeTree(
		p,
		parent,
		depth,
		column('node.frame'),
		selves[0],
		columns['node.before'] || null
	);
	p.tree.repeatOf = p.repeatOf;
	listChoices(p, head, columns, selves);
	[p.firstTime, p.lastTime] = spanOf(p.choices);
	choose(p, 0);
	return p;
}
