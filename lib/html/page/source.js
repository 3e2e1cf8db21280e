// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shows the source of a function with the cost of each line, if the page has the text. A line's
 * self weight is of the samples that were taken in it. Its total also has what it called. Each
 * sample counts once in a line, also if the function is recursive.
 */

const hasSource = () => p.sources.size > 0;

/* Returns, by node of the recording's tree, whether its samples count. null: all do. inside: a
 * range of nodes of the shown tree, or null. */
function keptNodes(inside) {
	const only = state.only && matched;
	if (!only && !inside) return null;
	const keep = new Uint8Array(p.tree.n).fill(1),
		out = only ? keepMatches(p.tree, keep, matched) : keep;
	if (inside)
		for (let i = 0; i < out.length; i++) {
			const at = current.map ? current.map[i] : i;
			if (at < inside[0] || at >= inside[1]) out[i] = 0;
		}
	return out;
}

/* Calls each(node, place, weight) for the selected samples of a function. */
function eachSampleOf(func, kept, each) {
	const { node, place } = p.series;
	eachSample(p, p.series, state.threads, state.range, (i, weight) => {
		if (funcOf(p.tree, node[i]) === func && (!kept || kept[node[i]]))
			each(node[i], place[i], weight);
	});
}

/* Returns the lines of a function by file: file -> line -> {self, total, callees}. */
function linesOf(func, inside) {
	const { tree } = p,
		kept = keptNodes(inside),
		total = kept
			? sums(
					tree,
					tree.self.map((w, i) => (kept[i] ? w : 0))
				)
			: tree.total,
		files = new Map(),
		selfOf = new Map();
	const lineAt = (file, number) => {
		const lines = files.get(file) || files.set(file, new Map()).get(file);
		if (!lines.has(number))
			lines.set(number, { self: 0, total: 0, covered: 0, callees: new Map() });
		return lines.get(number);
	};
	eachSampleOf(func, kept, (node, place, weight) => {
		const line = lineAt(p.placeFile[place], p.placeLine[place]);
		line.self += weight;
		const lines = selfOf.get(node) || selfOf.set(node, new Map()).get(node);
		lines.set(line, (lines.get(line) || 0) + weight);
	});
	for (let i = 1; i < tree.n; i++) {
		if (total[i] && tree.parent[i] && funcOf(tree, tree.parent[i]) === func) {
			const frame = tree.frame[i],
				line = lineAt(p.frameFile[frame], p.frameLine[frame]),
				callee = p.func[frame];
			line.callees.set(callee, (line.callees.get(callee) || 0) + total[i]);
			if (i >= line.covered) {
				line.covered = tree.end[i];
				line.total += total[i];
			}
		}
		if (selfOf.has(i))
			for (const [line, weight] of selfOf.get(i))
				if (i >= line.covered) line.total += weight;
	}
	return files;
}

const weightOfLines = lines => [...lines.values()].reduce((sum, l) => sum + l.total, 0);

/* Returns the files of a function whose lines are known, the heaviest first. */
function filesOf(lines) {
	return [...lines.keys()]
		.filter(Boolean)
		.sort((a, b) => weightOfLines(lines.get(b)) - weightOfLines(lines.get(a)));
}

/* Returns the rows of a file: all its lines, and those that are known although the page lacks their
 * text. */
function sourceRows(file, lines) {
	const text = p.sources.get(file) || [],
		none = { self: 0, total: 0, callees: new Map() },
		beyond = [...lines.keys()].filter(n => n > text.length).sort((x, y) => x - y),
		row = (number, code) => ({ number, code, ...(lines.get(number) || none) });
	return [...text.map((code, i) => row(i + 1, code)), ...beyond.map(n => row(n, ''))];
}

const hotterRow = (rows, a, b) =>
	rows[a].self - rows[b].self || rows[a].total - rows[b].total || b - a;

/* Returns the row with the most weight, or (after) the next one in this order. */
function hottestRow(rows, after = -1) {
	let best = -1;
	for (let i = 0; i < rows.length; i++) {
		if (!rows[i].total || (after >= 0 && hotterRow(rows, after, i) <= 0)) continue;
		if (best < 0 || hotterRow(rows, i, best) > 0) best = i;
	}
	return best < 0 && after >= 0 ? hottestRow(rows) : Math.max(0, best);
}

/* Makes the list of the lines of one file. enter(row) shows what a line calls. */
class SourceList {
	constructor(host, enter) {
		this.list = new RowList(host, {
			label: 'Source',
			role: 'grid',
			kind: 'source',
			columns: [
				{ title: 'self', class: 'bar' },
				{ title: 'total', class: 'bar' },
				{ title: 'line', class: 'lineno' },
				{ title: 'source', class: 'code' },
			],
			cells: row => this.cells(row),
			select: () => {},
			enter,
			key: e => {
				if (e.key === 'x')
					this.list.go(hottestRow(this.list.rows, this.list.current));
				return e.key === 'x';
			},
		});
	}
	cells({ self, total, number, code }) {
		const all = p.tree.total[0],
			colour = colourOfFunc(state.func),
			bar = weight => (weight ? barCell(weight, all, colour) : cell('bar'));
		return [bar(self), bar(total), cell('lineno', String(number)), cell('code', code)];
	}
	show(rows) {
		const at = hottestRow(rows),
			{ list } = this;
		list.show(rows, at);
		list.scroll.scrollTop = Math.max(0, at * LINE - list.scroll.clientHeight / 3);
		list.paint();
	}
}
