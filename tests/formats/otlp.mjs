// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Checks OpenTelemetry profiles that protoc has decoded to text, NAME.otlp.txt: otlp.mjs FOLDER */
import { readFileSync } from 'node:fs';
import { test, is, yes, clean, folded, sorted } from './verdict.mjs';

const folder = process.argv[2];
const text = file => readFileSync(`${folder}/${file}`, 'utf8');

/* protoc writes bytes that are not ASCII, and zeros, as octal numbers. */
function string(quoted) {
	const named = { n: '\n', r: '\r', t: '\t' };
	const bytes = quoted.replace(/\\([0-7]{3}|.)/g, (_, c) => (c.length === 3 ? String.fromCharCode(parseInt(c, 8)) : named[c] || c));
	return Buffer.from(bytes, 'latin1').toString();
}

/* A message: for each field the list of its values. Of a field that the schema does not have, protoc knows the number only. */
function decoded(name) {
	const open = [{}];
	for (const line of text(`${name}.otlp.txt`).split('\n').filter(Boolean)) {
		const [, key, value] = line.match(/^ *(\w+)(?:: (.*)| \{)$/) || [null, 'end'];
		if (line.trim() === '}') open.pop();
		else {
			yes(key !== 'end' && !/^[0-9]/.test(key), `the schema has it: ${line}`);
			const child = value === undefined ? {} : value[0] === '"' ? string(value.slice(1, -1)) : /^[0-9-]/.test(value) ? Number(value) : value;
			(open.at(-1)[key] ||= []).push(child);
			if (value === undefined) open.push(child);
		}
	}
	is(open.length, 1, 'nesting');
	return open[0];
}
const one = (list, what) => (is(list.length, 1, what), list[0]);

const tables = ['mapping', 'location', 'function', 'link', 'string', 'attribute', 'stack'];
const zeros = n => '\0'.repeat(n);

/* The profile with all indices followed, each of which has to be one. */
function read(name) {
	const data = decoded(name), dictionary = one(data.dictionary, 'dictionary');
	const table = Object.fromEntries(tables.map(t => [t, dictionary[t + '_table']]));
	const at = (t, list) => {
		const i = list ? one(list, t) : 0;
		yes(i >= 0 && i < table[t].length, `${t} ${i} of ${table[t].length}`);
		return table[t][i];
	};
	const string = list => at('string', list);
	const value = v => (v.string_value || v.int_value)?.[0] ?? 0;
	const attributes = (list = []) => {
		const of = Object.fromEntries(list.map(i => at('attribute', [i])).map(a => [string(a.key_strindex), value(one(a.value, 'value'))]));
		is(Object.keys(of).length, list.length, 'one attribute of a key');
		return of;
	};
	const resource = one(data.resource_profiles, 'resource'), scope = one(resource.scope_profiles, 'scope');
	const profile = one(scope.profiles, 'profile');

	for (const t of tables) {
		const empty = t === 'string' ? '' : {};
		if (t !== 'link') is(table[t][0], empty, `the first ${t}`);
	}
	is(table.string.length, new Set(table.string).size, 'no string twice');
	for (const t of ['attribute', 'function', 'mapping']) is(new Set(table[t].map(e => JSON.stringify(e))).size, table[t].length, `no ${t} twice`);
	return {
		resource: Object.fromEntries((resource.resource[0].attributes || []).map(a => [a.key[0], value(a.value[0])])),
		scope: scope.scope[0].name[0],
		link: dictionary.link_table,
		type: [string(profile.sample_type[0].type_strindex), string(profile.sample_type[0].unit_strindex)],
		period: profile.period[0],
		facts: attributes(profile.attribute_indices),
		mappings: table.mapping.slice(1).map(m => ({ file: string(m.filename_strindex), ...attributes(m.attribute_indices) })),
		samples: (profile.samples || []).map(s => ({
			value: one(s.values, 'values'),
			attributes: attributes(s.attribute_indices),
			/* Innermost first, as lines of a location are. */
			frames: at('stack', s.stack_index).location_indices.flatMap(l => {
				const location = at('location', [l]);
				const mapping = at('mapping', location.mapping_index);
				return (location.lines || []).map(line => {
					const f = at('function', line.function_index);
					return { name: string(f.name_strindex), file: string(f.filename_strindex), line: line.line?.[0] || 0, address: location.address?.[0] || 0, module: string(mapping.filename_strindex) };
				});
			}).reverse(),
		})),
	};
}
function contexts(profile, select = () => true) {
	const sums = {};
	for (const s of profile.samples.filter(select)) {
		const path = s.frames.map(f => clean(f.name)).join(';');
		sums[path] = (sums[path] || 0) + s.value / profile.period;
	}
	return sums;
}

await test('otlp: the contexts of folded', () => is(sorted(contexts(read('small'))), sorted(folded(`${folder}/small.folded`))));
await test('otlp: what it is of', () => {
	const p = read('small');
	is([p.scope, p.type, p.period], ['pcce', ['cpu', 'nanoseconds'], 1e6]);
	is(p.resource, { 'process.command_line': 'demo --fast <input>', 'host.name': 'host' });
	is(p.facts, { 'pcce.samples.exact': 82, 'pcce.samples.truncated': 1, 'pcce.samples.undecodable': 2, 'pcce.samples.outside': 2, 'pcce.samples.lost': 3 });
	is(p.link, [{ trace_id: [zeros(16)], span_id: [zeros(8)] }], 'links');
	for (const s of p.samples) is(s.attributes, { 'thread.id': 100, 'process.pid': 100, 'thread.name': 'demo', 'process.executable.name': 'demo' });
});
await test('otlp: lines, addresses and inlining of frames', () => {
	const frames = read('small').samples.flatMap(s => s.frames).map(f => [f.name, f.address, f.line, f.file, f.module]);
	for (const wanted of [['parse', 0x2005, 30, '/src/demo/parse.c'], ['step', 0x2005, 4, '/src/demo/step.h'], ['next<char>; really', 0x2005, 3, '/src/demo/next.h']])
		yes(frames.some(f => JSON.stringify(f) === JSON.stringify([...wanted, '/usr/bin/demo'])), JSON.stringify(wanted));
});
await test('otlp: many contexts and threads', () => {
	const p = read('huge'), by = {};
	is(sorted(contexts(p)), sorted(folded(`${folder}/huge.folded`)));
	for (const s of p.samples) by[s.attributes['thread.id']] = (by[s.attributes['thread.id']] || 0) + s.value / p.period;
	const wanted = {};
	for (const line of text('huge.jsonl').split('\n').filter(Boolean).map(JSON.parse))
		if (line.stack) for (const t of line.threads) wanted[t.tid] = (wanted[t.tid] || 0) + t.weight;
	is(sorted(by), sorted(wanted), 'threads');
});
await test('otlp: modules have their build ids', () => {
	const { mappings } = read('real');
	yes(mappings.some(m => /\/demo$/.test(m.file) && /^[0-9a-f]{40}$/.test(m['process.executable.build_id.gnu'])), JSON.stringify(mappings));
});
await test('otlp: no samples', () => is(read('empty').samples, []));
console.log('end');
