// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Draws the chart: the call chains of one thread over time. */
class ChartView {
	/* options: select(i) */
	constructor(host, options) {
		this.options = options;
		this.axis = el('canvas', { class: 'axis' });
		this.axisPlace = el('div', { class: 'axis-place' }, this.axis);
		this.canvas = el('canvas', {
			tabIndex: 0,
			class: 'graph',
			role: 'application',
			'aria-describedby': 'status',
			'aria-label':
				'Call chains over time: left and right move, plus and minus ' +
				'zoom, Escape shows all',
		});
		this.tall = el('div', { class: 'tall' }, this.canvas);
		this.scroll = el('div', { class: 'scroll' }, this.tall);
		host.append(this.axisPlace, this.scroll);
		this.surface = new Surface(this.canvas, this.scroll, (...a) => this.draw(...a));
		this.scale_ = new Surface(this.axis, this.axisPlace, (ctx, width) =>
			drawTimeScale(ctx, width, this.view)
		);
		this.matched = null;
		this.hover = null;
		this.drag = null;
		this.view = [0, 1];
		this.listen();
	}
	/* span: time span, or null; busy: leave out the time when the thread did not run */
	show(tree, thread, span, busy, colours) {
		const p = tree.profile,
			same =
				this.tree &&
				this.tree.parent === tree.parent &&
				this.thread === thread &&
				this.busy === busy &&
				this.series === p.series &&
				String(this.wanted) === String(span);
		this.tree = tree;
		this.thread = thread;
		this.busy = busy;
		this.wanted = span;
		this.colours = colours;
		this.series = p.series;
		this.step = usualStep(p, p.series, thread);
		const { time } = p.series,
			first = p.series.first[thread.number],
			last = p.series.last[thread.number];
		this.first = span ? lowerBound(time, span[0], first, last) : first;
		this.last = span ? lowerBound(time, span[1], this.first, last) : last;
		this.times = busy
			? Float64Array.from(
					{ length: this.last - this.first },
					(_, k) => k * this.step
				)
			: (p.series.overlaps[thread.number]
					? time
					: p.series.begin || time
				).subarray(this.first, this.last);
		this.span = busy
			? [0, Math.max(1, this.last - this.first) * this.step]
			: span || wholeTime(p);
		this.deepest = 0;
		for (let i = this.first; i < this.last; i++)
			this.deepest = Math.max(this.deepest, tree.depth[this.nodeOf(i)]);
		this.tall.style.height = Math.max(this.deepest * ROW + 2, 1) + 'px';
		this.look(same ? this.view : this.span);
	}
	mark(matched) {
		this.matched = matched;
		this.surface.touch();
	}
	recolour(colours) {
		this.colours = colours;
		this.surface.touch();
	}
	nodeOf(sample) {
		const i = this.series.node[sample];
		return this.tree.map ? this.tree.map[i] : i;
	}
	look(view) {
		const whole = this.span[1] - this.span[0],
			wide = Math.min(whole, Math.max(10e-6, view[1] - view[0]));
		const from = Math.max(this.span[0], Math.min(view[0], this.span[1] - wide));
		this.view = [from, from + wide];
		this.surface.touch();
		this.scale_.touch();
	}
	reset() {
		this.look(this.span);
	}
	yOf(depth) {
		return (depth - 1) * ROW - this.scroll.scrollTop;
	}
	timeOf(i) {
		return this.times[i - this.first];
	}
	/* Returns the sample that represents a stripe of time, or -1 if the thread did not run. */
	sampleAt(t, wide) {
		const { times } = this,
			k = lowerBound(times, t + wide / 2 + 1e-12, 0, times.length) - 1;
		if (k < 0) return -1;
		const next =
			k + 1 < times.length &&
			times[k + 1] - t < t - times[k] &&
			times[k + 1] <= t + wide / 2
				? k + 1
				: k;
		return times[next] >= t - wide / 2 || this.endOf(next + this.first) > t
			? next + this.first
			: -1;
	}
	endOf(i) {
		const t = this.timeOf(i),
			{ begin, time } = this.series,
			next = i + 1 < this.last ? this.timeOf(i + 1) : Infinity;
		if (begin && !this.busy && time[i] > begin[i]) return Math.max(time[i], t);
		return next - t <= this.step * 1.8 ? next : t + this.step;
	}

	draw(ctx, width, height) {
		if (!this.tree) return;
		const style = {
			text: css('--frame-text'),
			light: css('--gap-text'),
			hit: css('--hit'),
		};
		ctx.font = FONT;
		ctx.textBaseline = 'middle';
		this.boxes(width, (i, from, to) => this.box(ctx, i, from, to, height, style));
	}
	/* Calls emit(node, from, to) for each box. One sample represents each column of pixels.
	 * Frames that neighbours have in common are one box. */
	boxes(width, emit) {
		const [v0, v1] = this.view,
			scale = width / (v1 - v0),
			open = [];
		const close = (depth, x) => {
			for (let d = depth; d < open.length; d++) emit(open[d][0], open[d][1], x);
			open.length = Math.min(open.length, depth);
		};
		let last = -2,
			at = 0;
		while (at < width) {
			const sample = this.sampleAt(v0 + (at + 0.5) / scale, 1 / scale);
			if (sample !== last) {
				const path =
					sample < 0 ? [] : pathOf(this.tree, this.nodeOf(sample));
				const x =
					sample >= 0 && last >= 0
						? Math.max(at, (this.timeOf(sample) - v0) * scale)
						: at;
				let common = 0;
				while (
					common < path.length &&
					common < open.length &&
					open[common][0] === path[common]
				)
					common++;
				close(common, x);
				for (let d = common; d < path.length; d++) open[d] = [path[d], x];
				last = sample;
			}
			/* Go to the first column in which the next sample can begin. */
			const next =
				sample >= 0
					? Math.ceil((this.endOf(sample) - v0) * scale - 0.5)
					: at + 1;
			at = Math.max(at + 1, Math.min(next, width));
		}
		close(0, width);
	}
	box(ctx, i, from, to, height, style) {
		const y = this.yOf(this.tree.depth[i]),
			w = to - from;
		if (y <= -ROW || y >= height || w <= 0) return;
		const hit = this.matched && this.matched[funcOf(this.tree, i)];
		ctx.globalAlpha = this.matched && !hit ? 0.5 : 1;
		ctx.fillStyle = hit ? style.hit : this.colours(i);
		ctx.fillRect(from, y, w > 3 ? w - 1 : w, ROW - 1);
		if (w > 20) {
			const text = fitText(
				ctx,
				labelOf(this.tree, i),
				w - 9,
				shortLabelOf(this.tree, i)
			);
			ctx.fillStyle =
				hit || flagsOf(this.tree, i) & GAP ? style.light : style.text;
			ctx.fillText(text, from + 4, y + ROW / 2);
		}
		ctx.globalAlpha = 1;
		if (
			this.hover &&
			this.hover.node === i &&
			this.hover.x >= from &&
			this.hover.x < to
		) {
			ctx.strokeStyle = css('--text');
			ctx.lineWidth = 2;
			ctx.strokeRect(from + 1, y + 1, Math.max(w - 3, 1), ROW - 3);
		}
	}

	/* Returns the node at a place, with the beginning and the end of its box. */
	spanAt(px, py) {
		const { tree } = this,
			depth = Math.floor((py + this.scroll.scrollTop) / ROW) + 1;
		const wide = (this.view[1] - this.view[0]) / this.surface.width,
			sample = this.sampleAt(this.view[0] + (px + 0.5) * wide, wide);
		if (sample < 0) return null;
		const ancestor = i => {
			while (i > 0 && tree.depth[i] > depth) i = tree.parent[i];
			return tree.depth[i] === depth ? i : -1;
		};
		const node = ancestor(this.nodeOf(sample));
		if (node <= 0) return null;
		const near = i => this.endOf(i) === this.timeOf(i + 1);
		let a = sample,
			b = sample;
		while (
			a > this.first &&
			near(a - 1) &&
			ancestor(this.nodeOf(a - 1)) === node &&
			sample - a < 200000
		)
			a--;
		while (
			b + 1 < this.last &&
			near(b) &&
			ancestor(this.nodeOf(b + 1)) === node &&
			b - sample < 200000
		)
			b++;
		return { node, from: this.timeOf(a), to: this.endOf(b), samples: b - a + 1, x: px };
	}

	/* ---- events ---- */

	listen() {
		const { canvas } = this;
		canvas.addEventListener('pointerdown', e => {
			if (e.button === 0)
				this.drag = {
					x: e.clientX,
					y: e.clientY,
					view: this.view,
					top: this.scroll.scrollTop,
					moved: false,
				};
		});
		canvas.addEventListener('pointermove', e => this.move(e));
		canvas.addEventListener('pointerleave', () => {
			this.hover = null;
			hideTip();
			this.surface.touch();
		});
		canvas.addEventListener('click', e => {
			const moved = this.drag && this.drag.moved,
				h = this.spanAt(...placeIn(canvas, e));
			this.drag = null;
			if (moved || !h) return;
			this.options.select(h.node);
			hideTip();
			this.look([h.from, h.to]);
		});
		listenToWheel(this);
		canvas.addEventListener('keydown', e => {
			if (e.ctrlKey || e.metaKey || e.altKey || !this.key(e.key)) return;
			e.preventDefault();
			e.stopPropagation();
		});
		this.scroll.addEventListener('scroll', () => {
			hideTip();
			this.surface.touch();
		});
	}
	move(e) {
		const { canvas, drag } = this;
		if (!this.tree) return;
		if (
			drag &&
			e.buttons & 1 &&
			(drag.moved || Math.hypot(e.clientX - drag.x, e.clientY - drag.y) > 5)
		) {
			if (!drag.moved) canvas.setPointerCapture(e.pointerId);
			drag.moved = true;
			hideTip();
			const [v0, v1] = drag.view,
				d = ((e.clientX - drag.x) / this.surface.width) * (v1 - v0);
			this.scroll.scrollTop = drag.top - (e.clientY - drag.y);
			this.look([v0 - d, v1 - d]);
			return;
		}
		this.hover = this.spanAt(...placeIn(canvas, e));
		this.surface.touch();
		canvas.style.cursor = this.hover ? 'pointer' : 'default';
		if (this.hover) this.tip(this.hover, e);
		else hideTip();
	}
	tip({ node, from, to, samples }, e) {
		const { tree } = this,
			p = tree.profile,
			place = fullPlaceOf(p, tree.frame[node]);
		showTip(
			e.clientX,
			e.clientY,
			el('b', {}, fullLabelOf(tree, node)),
			tree === p.tree && place ? el('div', {}, 'called at ' + place) : '',
			...marksOf(tree, node).map(t => el('div', {}, t)),
			el(
				'div',
				{},
				`${seconds(from)} to ${seconds(to)}: ${seconds(to - from)}, ` +
					plural(samples, 'sample')
			)
		);
	}
	/* Handles a key. Returns whether it has a meaning here. */
	key(key) {
		const [v0, v1] = this.view,
			d = (v1 - v0) * 0.2,
			mid = (v0 + v1) / 2;
		if (key === 'ArrowLeft' || key === 'a') this.look([v0 - d, v1 - d]);
		else if (key === 'ArrowRight' || key === 'd') this.look([v0 + d, v1 + d]);
		else if (key === '+' || key === '=' || key === 'w')
			this.look([mid - d * 1.6, mid + d * 1.6]);
		else if (key === '-' || key === 's') this.look([mid - d * 4, mid + d * 4]);
		else if (key === 'ArrowDown' || key === 'ArrowUp')
			this.scroll.scrollTop += (key === 'ArrowDown' ? 1 : -1) * ROW * 2;
		else if (key === 'Escape' && (v0 > this.span[0] || v1 < this.span[1])) this.reset();
		else return false;
		return true;
	}
	close() {
		this.surface.close();
		this.scale_.close();
	}
}
