// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Computes the colours of frames. The hue depends on the kind of code, the module, the encoding of
 * the call, or the change. The shade varies with the name, so neighbours differ and a function
 * looks the same everywhere.
 */
const systemDark = matchMedia('(prefers-color-scheme: dark)');
let theme = 'system';
const isDark = () => theme === 'dark' || (theme === 'system' && systemDark.matches);

function hashText(s) {
	let h = 2166136261;
	for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	h = Math.imul(h ^ (h >>> 15), 0x85ebca6b);
	return (h ^ (h >>> 13)) >>> 0;
}

/* hue, its variation, saturation, lightness in the light and in the dark theme */
const KINDS = {
	code: [32, 15, 86, 71, 36],
	inlined: [76, 12, 52, 70, 33],
	foreign: [208, 14, 34, 75, 38],
	kernel: [268, 12, 42, 77, 42],
	gap: [352, 0, 68, 52, 42],
	signal: [326, 0, 58, 72, 40],
	origin: [172, 0, 38, 70, 34],
	rest: [40, 0, 4, 80, 28],
};
const kindOf = flags =>
	flags & GAP
		? 'gap'
		: flags & LEFT_OUT
			? 'rest'
			: flags & KERNEL
				? 'kernel'
				: flags & FOREIGN
					? 'foreign'
					: flags & SIGNAL
						? 'signal'
						: flags & ORIGIN
							? 'origin'
							: flags & INLINED
								? 'inlined'
								: 'code';
const KIND_NAMES = {
	code: 'instrumented',
	inlined: 'inlined',
	foreign: 'not instrumented',
	kernel: 'kernel',
	gap: 'missing frames',
	signal: 'signal',
	origin: 'start of a thread',
	rest: 'left out',
};
const CALL_HUES = { '': null, none: 145, add: 95, ext: 205, push: 20, tail: 285 };

/* Returns a colour as text. */
const hsl = (hue, saturation, light) =>
	`hsl(${Math.round(hue)} ${Math.round(saturation)}% ${light}%)`;

/* Returns one of the colours of a kind. h: a hash, which selects the colour. */
function shade([hue, spread, saturation, light, darkLight], h) {
	const a = (h % 1000) / 1000 - 0.5,
		b = ((h >>> 10) % 1000) / 1000 - 0.5,
		dark = isDark(),
		lightness = (dark ? darkLight : light) + b * (spread ? 9 : 0);
	return hsl(hue + a * 2 * spread, saturation * (dark ? 0.62 : 1), lightness.toFixed(1));
}

/* Red: more, blue: less, pale: not significant. */
function deltaColour(d) {
	const size = Math.max(d.after, d.before),
		dark = isDark();
	if (!size || !d.change) return dark ? 'hsl(0 0% 30%)' : 'hsl(0 0% 86%)';
	let strength = Math.sqrt(Math.min(1, Math.abs(d.change) / size));
	if (Math.abs(d.z) < 2) strength = Math.min(0.16, strength * 0.3);
	const hue = d.change > 0 ? 8 : 216;
	return dark
		? hsl(hue, 8 + 62 * strength, (30 + 14 * strength).toFixed(1))
		: hsl(hue, 15 + 75 * strength, (88 - 26 * strength).toFixed(1));
}

/* The colour is stronger if the encoding stack has more entries, on a logarithmic scale. */
function depthColour(entries, most) {
	const part = most ? Math.log2(1 + entries) / Math.log2(1 + most) : 0;
	return isDark()
		? hsl(215 - 30 * part, 14 + 52 * part, Math.round(23 + 13 * part))
		: hsl(215 - 30 * part, 28 + 42 * part, Math.round(92 - 36 * part));
}

/* Returns a function from a node to its colour. Most colours are the same for all nodes of a frame.
 */
function painter(tree, mode) {
	const p = tree.profile;
	if (mode === 'change' && tree.totalBefore) return i => deltaColour(deltaOf(tree, i));
	const depths = mode === 'depth' && stackDepths(tree);
	if (depths)
		return i =>
			flagsOf(tree, i) & (GAP | LEFT_OUT)
				? shade(KINDS[kindOf(flagsOf(tree, i))], 0)
				: depthColour(depths[i], depths[0]);
	const known = new Array(p.frameName.length),
		hashes = p.funcs.map(f => hashText(f.full));
	const modules = new Map();
	const ofFrame = f => {
		const flags = p.frameFlags[f],
			kind = kindOf(flags),
			func = p.func[f],
			h = hashes[func];
		if (kind === 'gap' || kind === 'rest') return shade(KINDS[kind], h);
		if (mode === 'module') {
			const name = p.funcs[func].module;
			if (!name) return shade(KINDS.rest, h);
			if (!modules.has(name)) modules.set(name, (modules.size * 137 + 28) % 360);
			return shade([modules.get(name), 6, 55, 74, 36], h);
		}
		if (mode === 'call') {
			const hue = CALL_HUES[callIn(flags)];
			return hue === null ? shade(KINDS.rest, h) : shade([hue, 5, 55, 74, 36], h);
		}
		return shade(KINDS[kind], h);
	};
	return i => known[tree.frame[i]] || (known[tree.frame[i]] = ofFrame(tree.frame[i]));
}

/* Returns the legend of the colours: [colour, text], ... */
function legendOf(p, mode) {
	if (mode === 'change')
		return [
			[deltaColour({ change: 1, after: 1, before: 0, z: 9 }), 'more'],
			[deltaColour({ change: -1, after: 0, before: 1, z: 9 }), 'less'],
			[
				deltaColour({ change: 0.5, after: 1, before: 0.5, z: 0 }),
				'not significant',
			],
		];
	if (mode === 'call')
		return [
			['none', 'costs nothing'],
			['add', 'an addition'],
			['push', 'is saved'],
			['ext', 'two stores'],
			['tail', 'tail call'],
		]
			.map(([k, text]) => [shade([CALL_HUES[k], 0, 55, 74, 36], 500500), text])
			.concat([[shade(KINDS.rest, 0), 'no call']]);
	if (mode === 'depth' && p.entries) {
		const most = stackDepths(p.tree)[0];
		return [...new Set([0, 1, Math.round(Math.sqrt(most)), most])]
			.filter(n => n <= most)
			.map(n => [
				depthColour(n, most),
				n ? plural(n, 'saved call') : 'none',
			]);
	}
	if (mode === 'module') return [];
	let seen = 0;
	for (let f = 1; f < p.frameFlags.length; f++)
		seen |= 1 << Object.keys(KINDS).indexOf(kindOf(p.frameFlags[f]));
	return Object.keys(KINDS)
		.filter((_, k) => (seen >> k) & 1)
		.map(k => [shade(KINDS[k], 500500), KIND_NAMES[k]]);
}

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
