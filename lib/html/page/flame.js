// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Draws the flame graph, in which the width of a box is its weight. The canvas has the size of the
 * visible part and stays in place while a taller element scrolls. Only visible boxes are drawn, so
 * the cost depends on the window and not on the profile.
 *
 * The visible part is the range of weights from v0 to v1, and the rows at the scroll position.
 * Zooming to a node sets the range to this node.
 */
const ROW = 20,
	TINY = 0.7;

class FlameView {
	/* options: label, up() (whether frames grow upwards), select(i), zoom(i), rootless */
	constructor(host, options) {
		this.options = options;
		this.canvas = el('canvas', {
			tabIndex: 0,
			class: 'graph',
			role: 'application',
			'aria-describedby': 'status',
			'aria-label':
				options.label +
				': arrow keys move, Enter zooms, Escape shows everything',
		});
		this.tall = el('div', { class: 'tall' }, this.canvas);
		this.scroll = el('div', { class: 'scroll' }, this.tall);
		host.append(this.scroll);
		this.surface = new Surface(
			this.canvas,
			this.scroll,
			(...a) => this.draw(...a),
			() => {
				if (this.tree) this.measure();
			}
		);
		this.zoom = this.focus = 0;
		this.hover = -1;
		this.v0 = 0;
		this.v1 = 1;
		this.rows = 1;
		this.matched = null;
		this.listen();
	}

	/* colours: from a node to its colour; how: see layOut() */
	show(tree, colours, how, zoom = 0) {
		const same = this.tree && this.tree.parent === tree.parent;
		this.tree = tree;
		this.colours = colours;
		layOut(tree, how);
		if (!same) {
			this.focus = zoom;
			this.hover = -1;
		}
		this.zoomTo(zoom, false);
	}
	mark(matched) {
		this.matched = matched;
		this.surface.touch();
	}
	recolour(colours) {
		this.colours = colours;
		this.surface.touch();
	}

	/* ---- where things are ---- */

	get up() {
		return this.options.up();
	}
	get all() {
		return Math.max(this.tree.width[0], 1e-12);
	}
	get above() {
		return this.options.rootless ? 1 : 0;
	}
	height() {
		return Math.max(this.rows * ROW + 2, this.scroll.clientHeight);
	}
	yOf(depth) {
		depth -= this.above;
		return (
			(this.up ? this.height() - (depth + 1) * ROW - 1 : depth * ROW) -
			this.scroll.scrollTop
		);
	}
	rowAt(y) {
		const at = y + this.scroll.scrollTop;
		return Math.floor(this.up ? (this.height() - at - 1) / ROW : at / ROW) + this.above;
	}
	nodeAt(px, py) {
		const { tree } = this,
			depth = this.rowAt(py),
			at = this.v0 + (px / this.surface.width) * (this.v1 - this.v0);
		const least = ((this.v1 - this.v0) / this.surface.width) * TINY;
		if (depth < 0 || !(at >= 0 && at < this.all)) return -1;
		let i = 0;
		for (let d = 0; d < depth; d++) {
			if (tree.width[i] < least) return -1;
			let c = i + 1;
			while (
				c < tree.end[i] &&
				!(at >= tree.x[c] && at < tree.x[c] + tree.width[c])
			)
				c = tree.end[c];
			if (c >= tree.end[i]) return -1;
			i = c;
		}
		return i;
	}

	/* Computes the number of rows that the visible range needs. */
	measure() {
		const { tree, v0, v1 } = this,
			least = ((v1 - v0) / (this.surface.width || 1000)) * TINY;
		let deepest = 0;
		for (let i = 0; i < tree.n;) {
			if (
				tree.x[i] >= v1 ||
				tree.x[i] + tree.width[i] <= v0 ||
				tree.width[i] < least
			) {
				i = tree.end[i];
				continue;
			}
			if (tree.depth[i] > deepest) deepest = tree.depth[i];
			i++;
		}
		const bottom = this.tall.offsetHeight - this.scroll.scrollTop;
		this.rows = deepest + 1 - this.above;
		this.tall.style.height = this.height() + 'px';
		if (this.options.measured) this.options.measured(this.rows);
		if (this.up) this.scroll.scrollTop = this.tall.offsetHeight - bottom;
	}

	reveal(i, top) {
		const height = this.scroll.clientHeight,
			y = this.yOf(this.tree.depth[i]),
			space = Math.min(3 * ROW, height / 3);
		if (top && (y < space - ROW || y > height * 0.6))
			this.scroll.scrollTop += this.up ? y - height + space + ROW : y - space;
		else if (y < 0) this.scroll.scrollTop += y;
		else if (y + ROW > height) this.scroll.scrollTop += y + ROW - height;
	}

	/* Goes from the selected frame down the heaviest path to the next branch. */
	toParting() {
		const { tree } = this;
		let i = this.focus;
		for (;;) {
			let best = -1;
			for (let c = i + 1; c < tree.end[i]; c = tree.end[c])
				if (best < 0 || tree.width[c] > tree.width[best]) best = c;
			if (best < 0 || !tree.width[best]) break;
			const parts = tree.width[best] < tree.width[i] * 0.9;
			i = best;
			if (parts) break;
		}
		if (i === this.focus) return;
		this.select(i);
		this.options.zoom(i);
	}

	/* ---- moving ---- */

	zoomTo(i, animate = true) {
		const { tree } = this;
		if (!tree.width[i]) i = 0;
		this.zoom = i;
		this.moveTo(tree.x[i], tree.x[i] + Math.max(tree.width[i], 1e-12), animate, () => {
			this.measure();
			this.reveal(i, true);
		});
	}
	moveTo(v0, v1, animate, then) {
		const from = [this.v0, this.v1],
			begin = performance.now();
		cancelAnimationFrame(this.animation);
		if (
			!animate ||
			matchMedia('(prefers-reduced-motion: reduce)').matches ||
			!this.surface.width
		) {
			this.v0 = v0;
			this.v1 = v1;
			then();
			this.surface.touch();
			return;
		}
		const step = now => {
			const t = Math.min(1, (now - begin) / 180),
				e = 1 - (1 - t) ** 3;
			this.v0 = from[0] + (v0 - from[0]) * e;
			this.v1 = from[1] + (v1 - from[1]) * e;
			if (t < 1) this.animation = requestAnimationFrame(step);
			else then();
			this.surface.paint();
		};
		this.animation = requestAnimationFrame(step);
	}
	/* Zooms in or out around a point. */
	scale(factor, px = this.surface.width / 2) {
		const range = this.v1 - this.v0,
			at = this.v0 + (px / this.surface.width) * range;
		const wide = Math.min(this.all, Math.max(range * factor, this.all * 1e-7));
		this.pan(at - (px / this.surface.width) * wide, wide);
	}
	pan(v0, wide = this.v1 - this.v0) {
		v0 = Math.max(0, Math.min(v0, this.all - wide));
		this.v0 = v0;
		this.v1 = v0 + wide;
		this.measure();
		this.surface.touch();
	}

	/* ---- drawing ---- */

	draw(ctx, width, height) {
		const { tree, v0, v1 } = this;
		if (!tree) return;
		const scale = width / (v1 - v0),
			style = {
				text: css('--frame-text'),
				light: css('--gap-text'),
				hit: css('--hit'),
				rest: css('--tiny'),
				back: css('--bg'),
			};
		const tiny = new Map();
		ctx.font = FONT;
		ctx.textBaseline = 'middle';
		const flush = (depth, run) => {
			const y = this.yOf(depth);
			if (y <= -ROW || y >= height) return;
			ctx.fillStyle = run.hit ? style.hit : style.rest;
			ctx.fillRect(run.from, y, Math.max(run.to - run.from, 0.5), ROW - 1);
		};
		for (let i = 0; i < tree.n;) {
			const w = tree.width[i] * scale,
				x = (tree.x[i] - v0) * scale;
			if (x >= width || x + w <= 0 || !w) {
				i = tree.end[i];
				continue;
			}
			if (w < TINY) {
				const d = tree.depth[i],
					run = tiny.get(d),
					hit = this.matched && this.matched[funcOf(tree, i)];
				if (run && x - run.to < 1) {
					run.to = x + w;
					run.hit = run.hit || hit;
				} else {
					if (run) flush(d, run);
					tiny.set(d, { from: x, to: x + w, hit });
				}
				i = tree.end[i];
				continue;
			}
			this.box(
				ctx,
				i,
				Math.max(x, -1),
				Math.min(x + w, width + 1),
				height,
				style
			);
			i++;
		}
		tiny.forEach((run, depth) => flush(depth, run));
		this.outline(ctx, this.hover, scale, css('--text'));
		if (document.activeElement === this.canvas)
			this.outline(ctx, this.focus, scale, css('--focus'));
	}
	box(ctx, i, from, to, height, style) {
		const { tree } = this,
			y = this.yOf(tree.depth[i]);
		if (y <= -ROW || y >= height) return;
		const w = to - from,
			gap = w > 3 ? 1 : 0,
			hit = this.matched && i && this.matched[funcOf(tree, i)];
		const aside = !hit && (this.matched || (i < this.zoom && tree.end[i] > this.zoom));
		ctx.globalAlpha = aside ? 0.5 : 1;
		ctx.fillStyle = hit ? style.hit : i ? this.colours(i) : style.rest;
		ctx.fillRect(from, y, w - gap, ROW - 1);
		if (w > 20) {
			const text = fitText(
				ctx,
				labelOf(tree, i),
				w - 9,
				shortLabelOf(tree, i)
			);
			if (text) {
				ctx.globalAlpha = aside ? 0.75 : 1;
				ctx.fillStyle =
					hit || (flagsOf(tree, i) & GAP && i)
						? style.light
						: style.text;
				ctx.fillText(text, from + 4, y + ROW / 2);
			}
		}
		ctx.globalAlpha = 1;
	}
	outline(ctx, i, scale, colour) {
		if (i < 0 || i >= this.tree.n) return;
		const x = (this.tree.x[i] - this.v0) * scale,
			w = this.tree.width[i] * scale,
			y = this.yOf(this.tree.depth[i]);
		const from = Math.max(x, 0),
			to = Math.min(x + w, this.surface.width);
		if (to <= from) return;
		ctx.strokeStyle = colour;
		ctx.lineWidth = 2;
		ctx.strokeRect(from + 1, y + 1, Math.max(to - from - 3, 1), ROW - 3);
	}

	/* ---- events ---- */

	listen() {
		const { canvas } = this,
			at = e => {
				const r = canvas.getBoundingClientRect();
				return [e.clientX - r.left, e.clientY - r.top];
			};
		let drag = null;
		canvas.addEventListener('pointerdown', e => {
			if (e.button !== 0) return;
			drag = {
				x: e.clientX,
				y: e.clientY,
				v0: this.v0,
				top: this.scroll.scrollTop,
				moved: false,
			};
		});
		canvas.addEventListener('pointermove', e => {
			if (
				drag &&
				e.buttons & 1 &&
				(drag.moved ||
					Math.hypot(e.clientX - drag.x, e.clientY - drag.y) > 5)
			) {
				if (!drag.moved) canvas.setPointerCapture(e.pointerId);
				drag.moved = true;
				hideTip();
				canvas.style.cursor = 'grabbing';
				this.scroll.scrollTop = drag.top - (e.clientY - drag.y);
				this.pan(
					drag.v0 -
						((e.clientX - drag.x) / this.surface.width) *
							(this.v1 - this.v0)
				);
				return;
			}
			const i = this.nodeAt(...at(e));
			if (i !== this.hover) {
				this.hover = i;
				this.say(i >= 0 ? i : this.focus);
				this.surface.touch();
			}
			if (i >= 0) nodeTip(this.tree, i, this.zoom, e.clientX, e.clientY);
			else hideTip();
			canvas.style.cursor = i >= 0 ? 'pointer' : 'default';
		});
		canvas.addEventListener('pointerleave', () => {
			this.hover = -1;
			hideTip();
			this.say(this.focus);
			this.surface.touch();
		});
		canvas.addEventListener('click', e => {
			const moved = drag && drag.moved;
			drag = null;
			canvas.style.cursor = 'pointer';
			if (moved) return;
			const i = this.nodeAt(...at(e));
			if (i < 0) return;
			hideTip();
			this.select(i);
			this.options.zoom(i);
		});
		canvas.addEventListener(
			'wheel',
			e => {
				const sideways =
					e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
				if (!e.ctrlKey && !e.metaKey && !sideways) return;
				e.preventDefault();
				hideTip();
				if (e.ctrlKey || e.metaKey)
					this.scale(
						Math.exp(
							Math.max(-60, Math.min(60, e.deltaY)) / 120
						),
						at(e)[0]
					);
				else
					this.pan(
						this.v0 +
							((e.deltaX || e.deltaY) /
								this.surface.width) *
								(this.v1 - this.v0)
					);
			},
			{ passive: false }
		);
		canvas.addEventListener('focus', () => {
			this.say(this.focus);
			this.surface.touch();
		});
		canvas.addEventListener('blur', () => this.surface.touch());
		canvas.addEventListener('keydown', e => this.key(e));
		this.scroll.addEventListener('scroll', () => {
			hideTip();
			this.surface.touch();
		});
	}
	say(i) {
		$('status').textContent =
			this.tree && i >= 0 && i < this.tree.n ? describe(this.tree, i) : '';
	}
	select(i) {
		this.focus = i;
		this.say(i);
		this.options.select(i);
		this.surface.touch();
	}
	sibling(i, step) {
		const { tree } = this,
			p = tree.parent[i];
		let last = -1,
			seen = false;
		for (let c = p + 1; c < tree.end[p]; c = tree.end[c]) {
			if (c === i) {
				if (step < 0) return last;
				seen = true;
				continue;
			}
			if (!tree.width[c]) continue;
			if (seen) return c;
			last = c;
		}
		return -1;
	}
	key(e) {
		const { tree } = this,
			f = this.focus,
			out = this.up ? 'ArrowDown' : 'ArrowUp',
			into = this.up ? 'ArrowUp' : 'ArrowDown';
		let to = -1;
		if (e.ctrlKey || e.metaKey || e.altKey || !tree) return;
		if (e.key === out) to = f ? tree.parent[f] : -1;
		else if (e.key === into)
			for (let c = f + 1; c < tree.end[f] && to < 0; c = tree.end[c])
				to = tree.width[c] ? c : -1;
		else if (e.key === 'ArrowRight') to = f ? this.sibling(f, 1) : -1;
		else if (e.key === 'ArrowLeft') to = f ? this.sibling(f, -1) : -1;
		else if (e.key === 'x') this.toParting();
		else if (e.key === 'Home') to = this.zoom;
		else if (e.key === 'PageDown' || e.key === 'PageUp')
			this.scroll.scrollTop +=
				(e.key === 'PageDown' ? 1 : -1) *
				(this.scroll.clientHeight - 2 * ROW);
		else if (e.key === 'Enter' || e.key === ' ') this.options.zoom(f);
		else if (e.key === '+' || e.key === '=' || e.key === 'w') this.scale(0.7);
		else if (e.key === '-' || e.key === 's') this.scale(1 / 0.7);
		else if (e.key === 'a' || e.key === 'd')
			this.pan(this.v0 + (e.key === 'a' ? -0.2 : 0.2) * (this.v1 - this.v0));
		else if (!e.key.startsWith('Arrow')) return;
		e.preventDefault();
		e.stopPropagation();
		if (to < 0) return;
		const inside = tree.x[to] + tree.width[to] > this.v0 && tree.x[to] < this.v1;
		this.select(to);
		if (!inside) this.options.zoom(to);
		this.reveal(to, false);
	}
}
