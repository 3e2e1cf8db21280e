// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shows the call tree or its inverse as a list, in which rows can be opened. */

/* Computes where an item is called. Only visible rows need this. */
function findPlace(item) {
	if (!item.places) return;
	const places = item.places();
	item.places = null;
	item.place = places.length ? places[0].text : '';
	if (places.length > 1) item.place += ` and ${places.length - 1} more`;
	item.fullPlace = places
		.slice(0, 20)
		.map(c => [...c.calls][0] + '  ' + count(c.weight))
		.join('\n');
}

/*
 * Shows a tree as a list. source: roots() and kids(item) return items {func, flags, label, place,
 * total, self, totalBefore, before, has, node}. Items, and which of them are open, are kept.
 */
class TreeList {
	/* options: label, title, placeTitle, comparing, inverted, select(item), enter(item),
	 * matched(func), colour(item), totals() -> [all, all before] */
	constructor(host, options) {
		this.options = options;
		const comparing = options.comparing;
		this.list = new RowList(host, {
			label: options.label,
			role: 'treegrid',
			placeless: options.placeless,
			columns: [
				...(comparing
					? changeColumns('total')
					: [
							{ title: 'total', class: 'bar' },
							{ title: 'samples', class: 'number' },
							{ title: 'self', class: 'number' },
						]),
				{ title: options.title, class: 'name' },
				{ title: options.placeTitle, class: 'place' },
			].filter(c => c.title !== 'self' || !options.inverted),
			cells: item => this.cells(item),
			select: item => options.select(item),
			enter: item => options.enter(item),
			twist: at => this.toggle(at),
			key: e => this.key(e),
		});
	}
	cells(item) {
		findPlace(item);
		return [
			...this.numbers(item),
			this.name(item),
			cell(
				'place',
				el('span', { title: item.fullPlace || item.place }, item.place)
			),
		];
	}
	numbers(item) {
		const { totals, comparing, inverted, colour } = this.options,
			[all, allBefore] = totals();
		if (comparing) return changeCells(item.total, item.totalBefore, all, allBefore);
		const out = [
			barCell(item.total, all, colour(item)),
			cell('number', this.options.amount(item.total)),
		];
		if (!inverted) out.push(cell('number', item.self ? percent(item.self, all) : ''));
		return out;
	}
	name(item) {
		const { matched, colour } = this.options,
			sign = item.has ? (item.open ? '▾' : '▸') : '',
			twist = el('span', { class: 'twist' + (item.has ? '' : ' leaf') }, sign),
			hit = matched(item.func),
			name = nameCell(item.label, item.full(), hit, colour(item), twist);
		name.style.paddingLeft = Math.min(item.level, 60) * 14 + 'px';
		if (item.level > 60) twist.before(el('span', { class: 'soft' }, item.level + ' '));
		return name;
	}
	show(source) {
		this.source = source;
		const rows = source.roots().map(item => Object.assign(item, { level: 0 }));
		this.list.show(rows);
		/* Open the first rows automatically while one child has most of the weight. */
		for (
			let at = 0;
			at < this.list.rows.length && at < 40 && !this.options.inverted;
			at++
		) {
			const item = this.list.rows[at],
				most = i => i.total + (i.totalBefore || 0);
			if (!item.has || most(item) < most(rows[0]) * 0.5) break;
			this.open(at);
		}
		this.list.paint();
	}
	open(at) {
		const { rows } = this.list,
			item = rows[at];
		if (!item.has || item.open) return;
		item.open = true;
		if (!item.kids)
			item.kids = this.source
				.kids(item)
				.map(k =>
					Object.assign(k, { level: item.level + 1, parent: item })
				);
		const add = [];
		/* Rows that were open before remain open. Trees can be too deep for recursion. */
		const walk = [[item.kids, 0]];
		while (walk.length) {
			const top = walk[walk.length - 1];
			if (top[1] >= top[0].length) {
				walk.pop();
				continue;
			}
			const k = top[0][top[1]++];
			add.push(k);
			if (k.open) walk.push([k.kids, 0]);
		}
		this.list.rows = rows.slice(0, at + 1).concat(add, rows.slice(at + 1));
		this.list.tall.style.height = this.list.rows.length * LINE + 'px';
	}
	shut(at) {
		const { rows } = this.list,
			item = rows[at];
		if (!item.open) return;
		item.open = false;
		let to = at + 1;
		while (to < rows.length && rows[to].level > item.level) to++;
		this.list.rows = rows.slice(0, at + 1).concat(rows.slice(to));
		this.list.tall.style.height = this.list.rows.length * LINE + 'px';
	}
	toggle(at) {
		if (this.list.rows[at].open) this.shut(at);
		else this.open(at);
	}
	/* Opens all rows below, up to the size limit of a list. */
	openAll(at) {
		const level = this.list.rows[at].level;
		for (
			let i = at;
			i < this.list.rows.length &&
			(i === at || this.list.rows[i].level > level) &&
			this.list.rows.length < 20000;
			i++
		)
			this.open(i);
	}
	/* Opens the heaviest path down to the next branch. */
	openHot(at) {
		for (let steps = 0; steps < 500; steps++) {
			const item = this.list.rows[at];
			if (!item.has) break;
			this.open(at);
			if (!item.kids.length) break;
			const best = item.kids.reduce((a, b) => (b.total > a.total ? b : a));
			if (best.total < item.total * 0.5) break;
			at = this.list.rows.indexOf(best, at);
		}
		this.list.go(at);
	}
	key(e) {
		const { list } = this,
			at = list.current,
			item = list.rows[at];
		if (!item) return false;
		if (e.key === 'ArrowRight') {
			if (item.has && !item.open) this.open(at);
			else if (item.open) list.go(at + 1);
		} else if (e.key === 'ArrowLeft') {
			if (item.open) this.shut(at);
			else if (item.parent) list.go(list.rows.indexOf(item.parent));
		} else if (e.key === ' ') this.toggle(at);
		else if (e.key === '*') this.openAll(at);
		else if (e.key === 'x') this.openHot(at);
		else return false;
		list.paint();
		return true;
	}
	/* Opens the path to an item. choices: one predicate for each level, from the roots down. */
	reach(choices) {
		let at = -1;
		for (const choose of choices) {
			if (at >= 0) this.open(at);
			const kids =
				at < 0
					? this.list.rows.filter(r => r.level === 0)
					: this.list.rows[at].kids || [];
			const item = kids.find(choose);
			if (!item) break;
			at = this.list.rows.indexOf(item, Math.max(at, 0));
		}
		if (at >= 0) this.list.go(at);
	}
	close() {
		this.list.close();
	}
}

function topDown(tree) {
	const item = i => ({
		node: i,
		func: funcOf(tree, i),
		get label() {
			return labelOf(tree, i);
		},
		full: () => fullLabelOf(tree, i),
		places: () =>
			callPlaces(tree, i).filter(c => c.weight && c.text !== 'unknown place'),
		total: tree.total[i],
		self: tree.self[i],
		totalBefore: tree.totalBefore ? tree.totalBefore[i] : 0,
		has: hasKids(tree, i),
	});
	return {
		roots: () => kidsOf(tree, 0).map(item),
		kids: parent => kidsOf(tree, parent.node).map(item),
	};
}
function kidsOf(tree, i) {
	const kids = [];
	for (let c = i + 1; c < tree.end[i]; c = tree.end[c])
		if (tree.total[c] || (tree.totalBefore && tree.totalBefore[c])) kids.push(c);
	return kids.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
}
function hasKids(tree, i) {
	for (let c = i + 1; c < tree.end[i]; c = tree.end[c])
		if (tree.total[c] || (tree.totalBefore && tree.totalBefore[c])) return true;
	return false;
}

function bottomUp(tree) {
	const p = tree.profile;
	const item = g => ({
		group: g,
		node: g.nodes[0],
		func: g.func,
		get label() {
			return p.funcs[g.func].name;
		},
		full: () => p.funcs[g.func].full,
		place: p.funcs[g.func].module,
		total: g.total,
		totalBefore: g.totalBefore,
		self: 0,
		has: g.nodes.some(i => tree.parent[i] > 0),
	});
	return {
		roots: () => leafGroups(tree).map(item),
		kids: parent => callersOf(tree, parent.group).map(item),
	};
}
