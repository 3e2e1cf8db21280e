// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shows lists of rows of equal height: the call tree, its inverse, and the table of functions. Only
 * visible rows exist as elements. The list has the focus, and aria-activedescendant names the
 * current row.
 */
const LINE = 23;
let listNumber = 0;

class RowList {
	/* options: label, role, columns [{title, class, key, sort}], cells(row) -> elements, select(row), enter(row), key(e) */
	constructor(host, options) {
		this.options = options;
		this.id = 'list' + listNumber++;
		this.rows = [];
		this.current = 0;
		this.header = el('div', { class: 'line header', role: 'row' });
		this.body = el('div', { class: 'rows' });
		this.tall = el('div', { class: 'tall', role: 'presentation' }, this.body);
		this.scroll = el('div', { class: 'scroll list', tabIndex: 0, role: options.role, 'aria-label': options.label }, this.header, this.tall);
		host.append(this.scroll);
		this.observer = new ResizeObserver(() => this.paint());
		this.observer.observe(this.scroll);
		this.scroll.addEventListener('scroll', () => { hideTip(); this.paint(); });
		this.scroll.addEventListener('keydown', e => this.key(e));
		this.body.addEventListener('click', e => {
			const line = e.target.closest('.line');
			if (!line) return;
			this.scroll.focus({ preventScroll: true });
			this.go(+line.dataset.at, e.target.closest('.twist') !== null);
		});
		this.body.addEventListener('dblclick', e => {
			const line = e.target.closest('.line');
			if (line && !e.target.closest('.twist')) this.options.enter(this.rows[+line.dataset.at]);
		});
		this.heads();
	}
	close() { this.observer.disconnect(); }
	heads(sort, down) {
		this.header.replaceChildren(...this.options.columns.map(c => {
			const sorted = c.key && c.key === sort;
			const head = el('div', { class: 'cell ' + (c.class || ''), role: 'columnheader', title: c.hint || '' });
			if (c.key && this.options.sort) head.append(el('button', { class: 'sort', onclick: () => this.options.sort(c.key) }, c.title + (sorted ? down ? ' ▾' : ' ▴' : '')));
			else head.append(c.title);
			if (sorted) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
			return head;
		}));
	}
	show(rows, current = 0) {
		this.rows = rows;
		this.current = Math.max(0, Math.min(current, rows.length - 1));
		this.tall.style.height = rows.length * LINE + 'px';
		this.paint();
	}
	paint() {
		const top = this.scroll.scrollTop, height = this.scroll.clientHeight;
		const from = Math.max(0, Math.floor(top / LINE) - 4), to = Math.min(this.rows.length, Math.ceil((top + height) / LINE) + 4);
		const lines = [];
		for (let i = from; i < to; i++) {
			const row = this.rows[i], line = el('div', { class: 'line' + (i === this.current ? ' current' : ''), id: this.id + '-' + i, role: 'row' },
				...this.options.cells(row));
			line.dataset.at = i;
			line.setAttribute('aria-selected', i === this.current);
			if (this.options.role === 'treegrid') {
				line.setAttribute('aria-level', row.level + 1);
				if (row.has) line.setAttribute('aria-expanded', !!row.open);
			}
			lines.push(line);
		}
		this.body.style.transform = `translateY(${from * LINE}px)`;
		this.body.replaceChildren(...lines);
		this.scroll.setAttribute('aria-rowcount', this.rows.length);
		if (this.rows.length) this.scroll.setAttribute('aria-activedescendant', this.id + '-' + this.current);
	}
	go(i, twist) {
		if (!this.rows.length) return;
		this.current = Math.max(0, Math.min(i, this.rows.length - 1));
		const y = this.current * LINE, seen = this.scroll.clientHeight - LINE;
		if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
		else if (y + LINE > this.scroll.scrollTop + seen) this.scroll.scrollTop = y + LINE - seen;
		if (twist && this.options.twist) this.options.twist(this.current);
		this.options.select(this.rows[this.current]);
		this.paint();
	}
	key(e) {
		const page = Math.max(1, Math.floor(this.scroll.clientHeight / LINE) - 2);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity, j: 1, k: -1 };
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('button')) return;
		if (e.key in steps) this.go(Math.max(0, Math.min(this.rows.length - 1, this.current + steps[e.key])));
		else if (e.key === 'Enter') { if (this.rows.length) this.options.enter(this.rows[this.current]); } else if (!(this.options.key && this.options.key(e))) return;
		e.preventDefault();
		e.stopPropagation();
	}
}

const cell = (kind, ...content) => el('div', { class: 'cell ' + kind, role: 'gridcell' }, ...content);
function barCell(value, whole, colour) {
	const c = cell('bar', el('span', {}, percent(value, whole)));
	c.style.setProperty('--part', Math.min(100, share(value, whole)) + '%');
	c.style.setProperty('--fill', colour);
	return c;
}
function changeCells(a, b, allA, allB) {
	const d = delta(a, b, allA, allB), c = cell('number change', points(d.change));
	c.style.setProperty('--fill', deltaColour(d));
	return [cell('number', percent(b, allB)), cell('number', percent(a, allA)), c, cell('number soft', d.z.toFixed(1))];
}
const changeColumns = what => [{ title: 'before', class: 'number', key: what + 'Before', hint: 'share in the older recording' }, { title: 'after', class: 'number', key: what, hint: 'share in the newer recording' },
	{ title: 'change', class: 'number change', key: what + 'Change', hint: 'change in percentage points' }, { title: 'z', class: 'number', key: what + 'Z', hint: 'significance: beyond ±2 the change is unlikely to be chance' }];

/* ---- trees ---- */

/*
 * A tree as a list. source: roots() and kids(item) return items {func, flags, label, place, total,
 * self, totalBefore, before, has, node}. Items, and which of them are open, are kept.
 */
class TreeList {
	/* options: label, select(item), enter(item), matched(func), colour(item), totals() -> [all, all before] */
	constructor(host, options) {
		this.options = options;
		const comparing = options.comparing;
		this.list = new RowList(host, {
			label: options.label, role: 'treegrid',
			columns: [...comparing ? changeColumns('total') : [{ title: 'total', class: 'bar' }, { title: 'samples', class: 'number' }, { title: 'self', class: 'number' }],
				{ title: options.title, class: 'name' }, { title: options.placeTitle, class: 'place' }].filter(c => c.title !== 'self' || !options.inverted),
			cells: item => this.cells(item), select: item => options.select(item), enter: item => options.enter(item),
			twist: at => this.toggle(at), key: e => this.key(e),
		});
	}
	cells(item) {
		const [all, allBefore] = this.options.totals(), twist = el('span', { class: 'twist' + (item.has ? '' : ' leaf') }, item.has ? item.open ? '▾' : '▸' : '');
		if (item.places) {
			/* Computed only for visible rows. */
			const places = item.places();
			item.places = null;
			item.place = places.length ? places[0].text + (places.length > 1 ? ` and ${places.length - 1} more` : '') : '';
			item.fullPlace = places.slice(0, 20).map(c => [...c.calls][0] + '  ' + count(c.weight)).join('\n');
		}
		const name = cell('name', twist, el('i', { class: 'chip' }), el('span', { class: this.options.matched(item.func) ? 'text hit' : 'text', title: item.label }, item.label));
		name.style.paddingLeft = Math.min(item.level, 60) * 14 + 'px';
		name.querySelector('.chip').style.background = this.options.colour(item);
		if (item.level > 60) twist.before(el('span', { class: 'soft' }, item.level + ' '));
		return [...this.options.comparing ? changeCells(item.total, item.totalBefore, all, allBefore) :
			[barCell(item.total, all, this.options.colour(item)), cell('number', count(item.total)), this.options.inverted ? null : cell('number', item.self ? percent(item.self, all) : '')],
		name, cell('place', el('span', { title: item.fullPlace || item.place }, item.place))].filter(Boolean);
	}
	show(source) {
		this.source = source;
		const rows = source.roots().map(item => Object.assign(item, { level: 0 }));
		this.list.show(rows);
		/* Open the first rows automatically while one child has most of the weight. */
		for (let at = 0; at < this.list.rows.length && at < 40 && !this.options.inverted; at++) {
			const item = this.list.rows[at], most = i => i.total + (i.totalBefore || 0);
			if (!item.has || most(item) < most(rows[0]) * 0.5) break;
			this.open(at);
		}
		this.list.paint();
	}
	open(at) {
		const { rows } = this.list, item = rows[at];
		if (!item.has || item.open) return;
		item.open = true;
		if (!item.kids) item.kids = this.source.kids(item).map(k => Object.assign(k, { level: item.level + 1, parent: item }));
		const add = [];
		/* Rows that were open before remain open. Trees can be too deep for recursion. */
		const walk = [[item.kids, 0]];
		while (walk.length) {
			const top = walk[walk.length - 1];
			if (top[1] >= top[0].length) { walk.pop(); continue; }
			const k = top[0][top[1]++];
			add.push(k);
			if (k.open) walk.push([k.kids, 0]);
		}
		this.list.rows = rows.slice(0, at + 1).concat(add, rows.slice(at + 1));
		this.list.tall.style.height = this.list.rows.length * LINE + 'px';
	}
	shut(at) {
		const { rows } = this.list, item = rows[at];
		if (!item.open) return;
		item.open = false;
		let to = at + 1;
		while (to < rows.length && rows[to].level > item.level) to++;
		this.list.rows = rows.slice(0, at + 1).concat(rows.slice(to));
		this.list.tall.style.height = this.list.rows.length * LINE + 'px';
	}
	toggle(at) { if (this.list.rows[at].open) this.shut(at); else this.open(at); }
	/* Opens all rows below, up to the size limit of a list. */
	openAll(at) {
		const level = this.list.rows[at].level;
		for (let i = at; i < this.list.rows.length && (i === at || this.list.rows[i].level > level) && this.list.rows.length < 20000; i++) this.open(i);
	}
	/* Opens the heaviest path down to the next branch. */
	openHot(at) {
		for (let steps = 0; steps < 500; steps++) {
			const item = this.list.rows[at];
			if (!item.has) break;
			this.open(at);
			if (!item.kids.length) break;
			const best = item.kids.reduce((a, b) => b.total > a.total ? b : a);
			if (best.total < item.total * 0.5) break;
			at = this.list.rows.indexOf(best, at);
		}
		this.list.go(at);
	}
	key(e) {
		const { list } = this, at = list.current, item = list.rows[at];
		if (!item) return false;
		if (e.key === 'ArrowRight') { if (item.has && !item.open) this.open(at); else if (item.open) list.go(at + 1); } else if (e.key === 'ArrowLeft') {
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
			const kids = at < 0 ? this.list.rows.filter(r => r.level === 0) : this.list.rows[at].kids || [];
			const item = kids.find(choose);
			if (!item) break;
			at = this.list.rows.indexOf(item, Math.max(at, 0));
		}
		if (at >= 0) this.list.go(at);
	}
	close() { this.list.close(); }
}

function topDown(tree) {
	const item = i => ({
		node: i, func: funcOf(tree, i), label: labelOf(tree, i), places: () => callPlaces(tree, i).filter(c => c.weight && c.text !== 'unknown place'),
		total: tree.total[i], self: tree.self[i], totalBefore: tree.totalBefore ? tree.totalBefore[i] : 0,
		has: hasKids(tree, i),
	});
	return { roots: () => kidsOf(tree, 0).map(item), kids: parent => kidsOf(tree, parent.node).map(item) };
}
function kidsOf(tree, i) {
	const kids = [];
	for (let c = i + 1; c < tree.end[i]; c = tree.end[c]) if (tree.total[c] || tree.totalBefore && tree.totalBefore[c]) kids.push(c);
	return kids.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
}
function hasKids(tree, i) {
	for (let c = i + 1; c < tree.end[i]; c = tree.end[c]) if (tree.total[c] || tree.totalBefore && tree.totalBefore[c]) return true;
	return false;
}

function bottomUp(tree) {
	const p = tree.profile;
	const item = g => ({
		group: g, node: g.nodes[0], func: g.func, label: p.funcs[g.func].name, place: p.funcs[g.func].module, total: g.total, totalBefore: g.totalBefore,
		self: 0, has: g.nodes.some(i => tree.parent[i] > 0),
	});
	return { roots: () => leafGroups(tree).map(item), kids: parent => callersOf(tree, parent.group).map(item) };
}

/* ---- functions ---- */

class FunctionTable {
	/* options: select(func), enter(func), matched, colour(func), totals, comparing */
	constructor(host, options) {
		this.options = options;
		this.sort = options.comparing ? 'totalChange' : 'self';
		this.down = true;
		const plain = [{ title: 'self', class: 'bar', key: 'self' }, { title: 'total', class: 'bar', key: 'total' }];
		this.list = new RowList(host, {
			label: options.label, role: 'grid',
			columns: [...options.comparing ? changeColumns('total') : plain, { title: 'function', class: 'name', key: 'name' }, { title: 'module', class: 'place', key: 'module' }],
			cells: row => this.cells(row), select: row => options.select(row.func), enter: row => options.enter(row.func),
			sort: key => this.by(key),
		});
	}
	cells(row) {
		const [all, allBefore] = this.options.totals(), colour = this.options.colour(row.func);
		const name = cell('name', el('i', { class: 'chip' }), el('span', { class: this.options.matched(row.func) ? 'text hit' : 'text', title: row.name }, row.name));
		name.querySelector('.chip').style.background = colour;
		return [...this.options.comparing ? changeCells(row.total, row.totalBefore, all, allBefore) : [barCell(row.self, all, colour), barCell(row.total, all, colour)],
			name, cell('place', row.module)];
	}
	by(key) {
		this.down = key === this.sort ? !this.down : key !== 'name' && key !== 'module';
		this.sort = key;
		this.order();
	}
	show(tree, sums, filter) {
		const p = tree.profile, [all, allBefore] = this.options.totals();
		this.rows = [];
		p.funcs.forEach((f, func) => {
			const total = sums.total[func], totalBefore = sums.totalBefore ? sums.totalBefore[func] : 0;
			if (!func || !total && !totalBefore || filter && !filter[func]) return;
			const row = { func, name: f.name, module: f.module, self: sums.self[func], total, totalBefore };
			if (sums.totalBefore) {
				const d = delta(total, totalBefore, all, allBefore);
				row.totalChange = Math.abs(d.change);
				row.totalZ = Math.abs(d.z);
			}
			this.rows.push(row);
		});
		this.order();
	}
	order() {
		const { sort, down } = this, sign = down ? -1 : 1, current = this.list.rows[this.list.current];
		this.rows.sort((a, b) => (typeof a[sort] === 'string' ? (a[sort] < b[sort] ? -1 : a[sort] > b[sort] ? 1 : 0) : a[sort] - b[sort]) * sign || a.func - b.func);
		this.list.heads(sort, down);
		const at = current ? this.rows.findIndex(r => r.func === current.func) : 0;
		this.list.show(this.rows, at);
	}
	reach(func) {
		const at = this.rows.findIndex(r => r.func === func);
		if (at >= 0) this.list.go(at);
	}
	close() { this.list.close(); }
}
