// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Draws the heatmap, which shows short stalls and periodic bursts. Time goes from the bottom to the
 * top of a column, and then to the next column. A column is a second, or more or less in long and
 * short recordings. A cell is a fiftieth of it. Selecting cells selects a time span.
 */
const HEAT_ROWS = 50,
	HEAT_LENGTHS = [1e-3, 1e-2, 0.1, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600, 14400],
	WIDEST_CELL = 40;

/* Returns how long columns can be in this width: the shortest is the one that suits best. Those
 * below a second have cells of few samples, so there are fewer of them. */
function heatLengths(p, width) {
	const lasts = p.lastTime - p.firstTime,
		most = length => Math.max(20, width / (length < 1 ? 8 : 3)),
		fitting = HEAT_LENGTHS.filter(length => lasts / length <= most(length));
	return fitting.length ? fitting : [lasts / 100];
}

/* Returns the colours of an amount from 0 to 255: [r, g, b] each. */
function heatColours() {
	const stops = ['--heat-0', '--heat-1', '--heat-2'].map(name =>
		[1, 3, 5].map(at => parseInt(css(name).slice(at, at + 2), 16))
	);
	return Array.from({ length: 256 }, (_, i) => {
		const at = Math.min(1, Math.floor(i / 128)),
			part = i / 127.5 - at;
		return stops[at].map((v, k) => Math.round(v + (stops[at + 1][k] - v) * part));
	});
}

class Heatmap {
	/* options: range(time span or null), measured(text about cells) */
	constructor(host, options) {
		this.options = options;
		this.axis = el('canvas', { class: 'axis' });
		this.axisPlace = el('div', { class: 'axis-place' }, this.axis);
		this.canvas = el('canvas', {
			tabIndex: 0,
			class: 'heat',
			role: 'application',
			'aria-label':
				'Heatmap: arrow keys move, Shift and arrow keys select a time, ' +
				'Escape selects the whole time',
		});
		this.place = el('div', { class: 'heat-place' }, this.canvas);
		host.append(this.axisPlace, this.place);
		this.image = document.createElement('canvas');
		this.wanted = null;
		this.cursor = this.anchor = -1;
		this.drag = false;
		this.surface = new Surface(
			this.canvas,
			this.place,
			(...a) => this.draw(...a),
			() => this.count()
		);
		this.scale = new Surface(this.axis, this.axisPlace, (ctx, width) => {
			if (this.columns) drawTimeScale(ctx, this.usedWidth(width), this.span());
		});
		this.listen();
	}
	/* kept: by node, whether its samples count (null: all do); length: of a column, or 0 */
	show(p, threads, kept, length, range) {
		this.range = range;
		const wanted = [p.series, threads, kept, length, isDark()];
		if (!this.wanted || wanted.some((w, i) => w !== this.wanted[i])) {
			this.wanted = wanted;
			this.p = p;
			this.count();
		}
		this.surface.touch();
		this.scale.touch();
	}
	/* Sums up the weights of cells. */
	count() {
		if (!this.wanted || !this.surface.width) return;
		const { p } = this,
			[series, threads, kept, length] = this.wanted,
			{ node, weight } = series,
			lengths = heatLengths(p, this.surface.width);
		this.length = lengths.includes(length) ? length : lengths[0];
		this.start = Math.floor(p.firstTime / this.length) * this.length;
		this.columns = Math.floor((p.lastTime - this.start) / this.length) + 1;
		const cells = new Float32Array(this.columns * HEAT_ROWS),
			add = (b, w) => {
				cells[b] += w;
			};
		eachSample(p, series, threads, null, i => {
			if (!kept || kept[node[i]])
				eachBin(
					series,
					i,
					weight ? weight[i] : 1,
					this.start,
					this.cellLength(),
					cells.length,
					add
				);
		});
		this.cells = cells;
		this.most = cells.reduce((most, w) => Math.max(most, w), 0);
		this.options.measured(
			`a cell is ${seconds(this.cellLength())}, the strongest has ` +
				amountInWords(p, Math.round(this.most * 100) / 100)
		);
		this.paint();
	}
	cellLength() {
		return this.length / HEAT_ROWS;
	}
	/* Paints each cell as a pixel. The root of its share makes small amounts visible. */
	paint() {
		const { cells, columns, image, most } = this,
			colours = heatColours();
		image.width = columns;
		image.height = HEAT_ROWS;
		const ctx = image.getContext('2d'),
			data = ctx.createImageData(columns, HEAT_ROWS);
		cells.forEach((w, cell) => {
			const column = Math.floor(cell / HEAT_ROWS),
				y = HEAT_ROWS - 1 - (cell % HEAT_ROWS),
				level = w ? 40 + Math.round(215 * Math.sqrt(w / most)) : 0;
			data.data.set([...colours[level], 255], (y * columns + column) * 4);
		});
		ctx.putImageData(data, 0, 0);
	}
	span() {
		return [this.start, this.start + this.columns * this.length];
	}
	usedWidth(width) {
		return Math.min(width, this.columns * WIDEST_CELL);
	}
	draw(ctx, width, height) {
		if (!this.columns) return;
		const used = this.usedWidth(width),
			[w, h] = [used / this.columns, height / HEAT_ROWS];
		ctx.imageSmoothingEnabled = false;
		ctx.drawImage(this.image, 0, 0, used, height);
		if (this.range) this.shadeOutside(ctx, w, height);
		if (this.cursor < 0) return;
		ctx.strokeStyle = css('--text');
		ctx.lineWidth = 1.5;
		ctx.strokeRect(
			Math.floor(this.cursor / HEAT_ROWS) * w,
			height - ((this.cursor % HEAT_ROWS) + 1) * h,
			w,
			h
		);
	}
	/* Shades the cells that are not in the selected time span. */
	shadeOutside(ctx, w, height) {
		const [from, to] = this.range.map(t => (t - this.start) / this.length);
		ctx.fillStyle = css('--shade');
		for (let c = 0; c < this.columns; c++) {
			const a = Math.max(0, Math.min(1, from - c)),
				b = Math.max(a, Math.min(1, to - c));
			/* Whole pixels, so that neighbours have no line between them. */
			const x = Math.round(c * w),
				wide = Math.round((c + 1) * w) - x,
				[top, bottom] = [b, a].map(v => Math.round(height * (1 - v)));
			ctx.fillRect(x, bottom, wide, height - bottom);
			ctx.fillRect(x, 0, wide, top);
		}
	}

	/* ---- events ---- */

	cellAt(e) {
		const [x, y] = placeIn(this.canvas, e),
			{ width, height } = this.surface,
			limit = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v)));
		return (
			limit((x / this.usedWidth(width)) * this.columns, this.columns) *
				HEAT_ROWS +
			limit((1 - y / height) * HEAT_ROWS, HEAT_ROWS)
		);
	}
	timesOf(a, b) {
		const length = this.cellLength();
		return [
			this.start + Math.min(a, b) * length,
			this.start + (Math.max(a, b) + 1) * length,
		];
	}
	listen() {
		const { canvas } = this;
		canvas.addEventListener('pointerdown', e => {
			if (e.button !== 0 || !this.columns) return;
			canvas.setPointerCapture(e.pointerId);
			this.anchor = this.cellAt(e);
			this.drag = true;
		});
		canvas.addEventListener('pointermove', e => {
			if (!this.columns) return;
			this.cursor = this.cellAt(e);
			if (this.drag) this.range = this.timesOf(this.anchor, this.cursor);
			this.surface.touch();
			this.tip(e.clientX, e.clientY);
		});
		canvas.addEventListener('pointerup', () => {
			if (this.drag) this.options.range(this.timesOf(this.anchor, this.cursor));
			this.drag = false;
			hideTip();
		});
		canvas.addEventListener('dblclick', () => this.options.range(null));
		canvas.addEventListener('pointerleave', () => {
			this.cursor = -1;
			hideTip();
			this.surface.touch();
		});
		canvas.addEventListener('keydown', e => {
			if (e.ctrlKey || e.metaKey || e.altKey || !this.key(e)) return;
			e.preventDefault();
			e.stopPropagation();
		});
	}
	/* Shows the time and the weight of a cell, or of the cells that are being selected. */
	tip(x, y) {
		const { p, cells } = this,
			[from, to] = this.timesOf(
				this.drag ? this.anchor : this.cursor,
				this.cursor
			),
			length = this.cellLength(),
			sum = cells
				.subarray(
					Math.round((from - this.start) / length),
					Math.round((to - this.start) / length)
				)
				.reduce((a, b) => a + b, 0);
		showTip(
			x,
			y,
			el('b', {}, `${seconds(from)} to ${seconds(to)}`),
			el('div', {}, amountInWords(p, Math.round(sum * 100) / 100)),
			...this.heaviest([from, to]).map(([func, share_]) =>
				el('div', {}, `${percent(share_, 1)} ${p.funcs[func].name}`)
			)
		);
	}
	/* Returns the innermost functions with most weight in a time: [[function, share], ...] */
	heaviest(range) {
		const { p } = this,
			[series, threads, kept] = this.wanted,
			sums = new Map();
		let all = 0;
		eachSample(p, series, threads, range, (i, weight) => {
			const at = series.node[i];
			if (kept && !kept[at]) return;
			const func = funcOf(p.tree, at);
			sums.set(func, (sums.get(func) || 0) + weight);
			all += weight;
		});
		return [...sums]
			.sort((a, b) => b[1] - a[1])
			.slice(0, 3)
			.map(([func, sum]) => [func, sum / all]);
	}
	/* Handles a key. Returns whether it has a meaning here. */
	key(e) {
		const steps = {
				ArrowRight: HEAT_ROWS,
				ArrowLeft: -HEAT_ROWS,
				ArrowUp: 1,
				ArrowDown: -1,
			},
			step = steps[e.key],
			{ cursor } = this;
		if (e.key === 'Escape' && this.range) this.options.range(null);
		else if (e.key === 'Enter' && cursor >= 0) {
			this.anchor = cursor;
			this.options.range(this.timesOf(cursor, cursor));
		} else if (step) {
			if (!e.shiftKey || this.anchor < 0) this.anchor = Math.max(0, cursor);
			this.cursor =
				cursor < 0
					? 0
					: Math.max(
							0,
							Math.min(
								this.cells.length - 1,
								cursor + step
							)
						);
			if (e.shiftKey) this.options.range(this.timesOf(this.anchor, this.cursor));
			this.surface.touch();
		} else return false;
		return true;
	}
	close() {
		this.surface.close();
		this.scale.close();
	}
}
