// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shows a list of rows of equal height, and makes their cells. Only visible rows exist as elements.
 * The list has the focus, and aria-activedescendant names the current row.
 */
const LINE = 23;
let listNumber = 0;

class RowList {
	/* options: label, role, columns [{title, class, key, hint}], placeless: whether the column
	 * "place" tells nothing and is hidden, cells(row) -> elements,
	 * select(row), enter(row), sort(key), twist(index), key(e), kind: a class */
	constructor(host, options) {
		this.options = options;
		this.id = 'list' + listNumber++;
		this.rows = [];
		this.current = 0;
		this.header = el('div', { class: 'line header', role: 'row' });
		this.body = el('div', { class: 'rows' });
		this.tall = el('div', { class: 'tall', role: 'presentation' }, this.body);
		this.scroll = el(
			'div',
			{
				class: [
					'scroll list',
					options.placeless ? 'placeless' : '',
					options.kind || '',
				].join(' '),
				tabIndex: 0,
				role: options.role,
				'aria-label': options.label,
			},
			this.header,
			this.tall
		);
		host.append(this.scroll);
		this.observer = new ResizeObserver(() => this.paint());
		this.observer.observe(this.scroll);
		this.scroll.addEventListener('scroll', () => {
			hideTip();
			this.paint();
		});
		this.scroll.addEventListener('keydown', e => this.key(e));
		this.body.addEventListener('click', e => {
			const line = e.target.closest('.line');
			if (!line) return;
			this.scroll.focus({ preventScroll: true });
			this.go(+line.dataset.at, e.target.closest('.twist') !== null);
		});
		this.body.addEventListener('dblclick', e => {
			const line = e.target.closest('.line');
			if (line && !e.target.closest('.twist'))
				this.options.enter(this.rows[+line.dataset.at]);
		});
		this.heads();
	}
	close() {
		this.observer.disconnect();
	}
	heads(sort, down) {
		this.header.replaceChildren(
			...this.options.columns.map(c =>
				this.head(c, c.key && c.key === sort, down)
			)
		);
	}
	head(column, sorted, down) {
		const { title, key, hint } = column,
			arrow = sorted ? (down ? ' ▾' : ' ▴') : '';
		const head = el('div', {
			class: 'cell ' + (column.class || ''),
			role: 'columnheader',
			title: hint || '',
		});
		if (key && this.options.sort) {
			const onclick = () => this.options.sort(key);
			head.append(el('button', { class: 'sort', onclick }, title + arrow));
		} else head.append(title);
		if (sorted) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
		return head;
	}
	show(rows, current = 0) {
		this.rows = rows;
		this.current = Math.max(0, Math.min(current, rows.length - 1));
		this.tall.style.height = rows.length * LINE + 'px';
		this.paint();
	}
	paint() {
		const top = this.scroll.scrollTop,
			height = this.scroll.clientHeight;
		const from = Math.max(0, Math.floor(top / LINE) - 4),
			to = Math.min(this.rows.length, Math.ceil((top + height) / LINE) + 4);
		const lines = [];
		for (let i = from; i < to; i++) lines.push(this.line(i));
		this.body.style.transform = `translateY(${from * LINE}px)`;
		this.body.replaceChildren(...lines);
		this.scroll.setAttribute('aria-rowcount', this.rows.length);
		this.name();
	}
	line(i) {
		const row = this.rows[i],
			kind = i === this.current ? 'line current' : 'line',
			line = el(
				'div',
				{ class: kind, id: this.id + '-' + i, role: 'row' },
				...this.options.cells(row)
			);
		line.dataset.at = i;
		line.setAttribute('aria-selected', i === this.current);
		if (this.options.role === 'treegrid') {
			line.setAttribute('aria-level', row.level + 1);
			if (row.has) line.setAttribute('aria-expanded', !!row.open);
		}
		return line;
	}
	go(i, twist) {
		if (!this.rows.length) return;
		this.current = Math.max(0, Math.min(i, this.rows.length - 1));
		const y = this.current * LINE,
			seen = this.scroll.clientHeight - LINE;
		if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
		else if (y + LINE > this.scroll.scrollTop + seen)
			this.scroll.scrollTop = y + LINE - seen;
		if (twist && this.options.twist) this.options.twist(this.current);
		this.options.select(this.rows[this.current]);
		if (twist) this.paint();
		else this.mark();
	}
	/* Shows which row is the current one. Rows stay as they are: a second click on a new
	 * element would not be a double click. */
	mark() {
		for (const line of this.body.children) {
			const current = +line.dataset.at === this.current;
			line.classList.toggle('current', current);
			line.setAttribute('aria-selected', current);
		}
		this.name();
	}
	/* Names the current row to screen readers. */
	name() {
		if (this.rows.length)
			this.scroll.setAttribute(
				'aria-activedescendant',
				this.id + '-' + this.current
			);
	}
	key(e) {
		const page = Math.max(1, Math.floor(this.scroll.clientHeight / LINE) - 2);
		const steps = {
			ArrowDown: 1,
			ArrowUp: -1,
			PageDown: page,
			PageUp: -page,
			Home: -Infinity,
			End: Infinity,
			j: 1,
			k: -1,
		};
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('button')) return;
		if (e.key in steps)
			this.go(
				Math.max(
					0,
					Math.min(this.rows.length - 1, this.current + steps[e.key])
				)
			);
		else if (e.key === 'Enter') {
			if (this.rows.length) this.options.enter(this.rows[this.current]);
		} else if (!(this.options.key && this.options.key(e))) return;
		e.preventDefault();
		e.stopPropagation();
	}
}

const cell = (kind, ...content) =>
	el('div', { class: 'cell ' + kind, role: 'gridcell' }, ...content);
/* Returns a cell for a name, with a chip of this colour. full: the whole name. before: an element
 * before the chip. */
function nameCell(name, full, hit, colour, before = null) {
	const chip = el('i', { class: 'chip' }),
		text = el('span', { class: hit ? 'text hit' : 'text', title: full }, name);
	chip.style.background = colour;
	return cell('name', before, chip, text);
}
function barCell(value, whole, colour) {
	const c = cell('bar', el('span', {}, percent(value, whole)));
	c.style.setProperty('--part', Math.min(100, share(value, whole)) + '%');
	c.style.setProperty('--fill', colour);
	return c;
}
function changeCells(a, b, allA, allB) {
	const d = delta(a, b, allA, allB),
		c = cell('number change', points(d.change));
	c.style.setProperty('--fill', deltaColour(d));
	return [
		cell('number', percent(b, allB)),
		cell('number', percent(a, allA)),
		c,
		cell('number soft', d.z.toFixed(1)),
	];
}
const changeColumns = what => [
	{
		title: 'before',
		class: 'number',
		key: what + 'Before',
		hint: 'share in the older recording',
	},
	{ title: 'after', class: 'number', key: what, hint: 'share in the newer recording' },
	{
		title: 'change',
		class: 'number change',
		key: what + 'Change',
		hint: 'change in percentage points',
	},
	{
		title: 'z',
		class: 'number',
		key: what + 'Z',
		hint: 'significance: beyond ±2 the change is unlikely to be chance',
	},
];
