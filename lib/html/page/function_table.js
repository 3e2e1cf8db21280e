// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shows the table of functions, which can be sorted by each column. */

const compare = (a, b) => (typeof a !== 'string' ? a - b : a < b ? -1 : a > b ? 1 : 0);

class FunctionTable {
	/* options: select(func), enter(func), matched, colour(func), totals, comparing */
	constructor(host, options) {
		this.options = options;
		this.sort = options.comparing ? 'totalChange' : 'self';
		this.down = true;
		const plain = [
			{ title: 'self', class: 'bar', key: 'self' },
			{ title: 'total', class: 'bar', key: 'total' },
		];
		this.list = new RowList(host, {
			label: options.label,
			role: 'grid',
			placeless: !hasModules(p),
			columns: [
				...(options.comparing ? changeColumns('total') : plain),
				{ title: 'function', class: 'name', key: 'name' },
				{ title: 'module', class: 'place', key: 'module' },
			],
			cells: row => this.cells(row),
			select: row => options.select(row.func),
			enter: row => options.enter(row.func),
			sort: key => this.by(key),
		});
	}
	cells(row) {
		const [all, allBefore] = this.options.totals(),
			colour = this.options.colour(row.func);
		const name = nameCell(row.name, row.full, this.options.matched(row.func), colour);
		return [
			...(this.options.comparing
				? changeCells(row.total, row.totalBefore, all, allBefore)
				: [
						barCell(row.self, all, colour),
						barCell(row.total, all, colour),
					]),
			name,
			cell('place', row.module),
		];
	}
	by(key) {
		this.down = key === this.sort ? !this.down : key !== 'name' && key !== 'module';
		this.sort = key;
		this.order();
	}
	show(tree, sums, filter) {
		const p = tree.profile,
			[all, allBefore] = this.options.totals();
		this.rows = [];
		p.funcs.forEach((f, func) => {
			const total = sums.total[func],
				totalBefore = sums.totalBefore ? sums.totalBefore[func] : 0;
			if (!func || (!total && !totalBefore) || (filter && !filter[func])) return;
			const row = {
				func,
				get name() {
					return f.name;
				},
				full: f.full,
				module: f.module,
				self: sums.self[func],
				total,
				totalBefore,
			};
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
		const { sort, down } = this,
			sign = down ? -1 : 1,
			current = this.list.rows[this.list.current];
		this.rows.sort((a, b) => compare(a[sort], b[sort]) * sign || a.func - b.func);
		this.list.heads(sort, down);
		const at = current ? this.rows.findIndex(r => r.func === current.func) : 0;
		this.list.show(this.rows, at);
	}
	reach(func) {
		const at = this.rows.findIndex(r => r.func === func);
		if (at >= 0) this.list.go(at);
	}
	close() {
		this.list.close();
	}
}
