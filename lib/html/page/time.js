// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shows time: the activity of each thread, for selecting threads and a time span, and the call
 * chains of one thread over time.
 */
const TRACK = 26, MOST_TRACKS = 100;
const ACTIVITY = ['code', 'foreign', 'kernel', 'gap'];

/* Returns, by node of the recording's tree, the kind of its samples as an index into ACTIVITY. */
function activityOf(tree) {
	const kinds = new Uint8Array(tree.n);
	for (let i = 1; i < tree.n; i++) {
		const kind = kindOf(flagsOf(tree, i));
		kinds[i] = kinds[tree.parent[i]] === 3 || kind === 'gap' ? 3 : kind === 'kernel' ? 2 : kind === 'foreign' ? 1 : 0;
	}
	return kinds;
}

/* Returns the usual time between two samples of a running thread. */
function usualStep(p, thread) {
	const steps = [], every = Math.max(1, Math.floor((thread.last - thread.first) / 1000));
	for (let i = thread.first + 1; i < thread.last; i += every) steps.push(p.sampleTime[i] - p.sampleTime[i - 1]);
	steps.sort((a, b) => a - b);
	return steps.length ? steps[steps.length >> 1] : p.lastTime - p.firstTime || 1e-3;
}

/* Returns round times for a scale: [[time, text], ...] */
function timeTicks(from, to, width) {
	const rough = (to - from) / Math.max(1, width / 110), power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough), ticks = [];
	for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push([t, seconds(Math.abs(t) < step / 2 ? 0 : t)]);
	return ticks;
}

class Tracks {
	/* options: range(time span or null), threads(set or null), pick(node) */
	constructor(host, p, options) {
		this.p = p;
		this.options = options;
		this.view = [p.firstTime, Math.max(p.lastTime, p.firstTime + 1e-6)];
		this.range = null;
		this.chosen = null;
		const busy = p.threads.filter(t => t.samples).sort((a, b) => b.samples - a.samples || a.number - b.number);
		this.tracks = busy.slice(0, MOST_TRACKS).map(t => ({ label: t.label, threads: [t] }));
		if (busy.length > MOST_TRACKS) this.tracks.push({ label: plural(busy.length - MOST_TRACKS, 'other thread'), threads: busy.slice(MOST_TRACKS) });
		if (busy.length > 1) this.tracks.unshift({ label: 'all ' + plural(busy.length, 'thread'), threads: busy, all: true });
		this.activity = activityOf(p.tree);
		const weigh = p.sampleWeight;
		this.labels = el('div', { class: 'labels' }, ...this.tracks.map(track => {
			let sum = 0;
			for (const t of track.threads) for (let i = t.first; i < t.last; i++) sum += weigh ? weigh[i] : 1;
			const b = el('button', { class: 'track', title: track.label + ': ' + plural(sum, 'sample') + (track.threads.length === 1 && track.threads[0].origin ? '; created by ' + track.threads[0].origin : '') + '; Ctrl + click: select several', 'aria-pressed': 'false',
				onclick: e => this.choose(track, e.ctrlKey || e.metaKey || e.shiftKey) }, el('span', { class: 'text' }, track.label), el('span', { class: 'soft' }, count(sum)));
			track.button = b;
			return b;
		}));
		this.canvas = el('canvas', { tabIndex: 0, role: 'slider', 'aria-label': 'Time span: arrow keys move it, Shift and arrow keys change its length, Escape selects the whole time',
			'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': 0 });
		this.place = el('div', { class: 'lanes' }, this.canvas);
		this.place.style.height = this.tracks.length * TRACK + 'px';
		this.axis = el('canvas', { class: 'axis' });
		this.axisPlace = el('div', { class: 'axis-place' }, this.axis);
		host.append(el('div', { class: 'axis-row' }, el('div', { class: 'labels soft' }, 'thread'), this.axisPlace), el('div', { class: 'track-rows' }, this.labels, this.place));
		this.surface = new Surface(this.canvas, this.place, (...a) => this.draw(...a));
		this.scale = new Surface(this.axis, this.axisPlace, (...a) => this.drawAxis(...a));
		this.listen();
	}
	set(threads, range) {
		this.chosen = threads;
		this.range = range;
		for (const track of this.tracks) track.button.setAttribute('aria-pressed', threads ? !track.all && track.threads.every(t => threads.has(t.number)) : !!track.all || this.tracks.length === 1);
		const [a, b] = range || this.view;
		this.canvas.setAttribute('aria-valuetext', range ? seconds(a) + ' to ' + seconds(b) : 'the whole time');
		this.canvas.setAttribute('aria-valuenow', Math.round(share(a - this.p.firstTime, this.p.lastTime - this.p.firstTime)));
		this.surface.touch();
	}
	choose(track, more) {
		let chosen = new Set(track.all ? [] : track.threads.map(t => t.number));
		if (more && this.chosen) {
			const both = new Set(this.chosen);
			for (const t of chosen) if (this.chosen.has(t)) both.delete(t); else both.add(t);
			chosen = both;
		} else if (!more && this.chosen && chosen.size === this.chosen.size && [...chosen].every(t => this.chosen.has(t))) chosen = new Set();
		this.options.threads(chosen.size ? chosen : null);
	}
	look(view) {
		const least = 20e-6, { firstTime, lastTime } = this.p, whole = Math.max(lastTime - firstTime, 1e-6);
		const wide = Math.min(whole, Math.max(least, view[1] - view[0])), from = Math.max(firstTime, Math.min(view[0], firstTime + whole - wide));
		this.view = [from, from + wide];
		this.bins = null;
		this.surface.touch();
		this.scale.touch();
	}
	timeAt(px) { return this.view[0] + px / this.surface.width * (this.view[1] - this.view[0]); }
	xOf(t) { return (t - this.view[0]) / (this.view[1] - this.view[0]) * this.surface.width; }

	/* ---- drawing ---- */

	/* Counts the samples of each kind in each stripe of the window, relative to a busy thread.
	 */
	count(width) {
		const { p, activity } = this, [v0, v1] = this.view, { sampleTime: time, sampleNode: node, sampleWeight: weight } = p;
		const steps = this.tracks.filter(t => !t.all).map(t => usualStep(p, t.threads[0])), step = Math.min(...steps);
		const stripe = Math.max(2, Math.min(24, Math.ceil(6 * step / ((v1 - v0) / width)))), n = Math.ceil(width / stripe);
		const perStripe = (v1 - v0) / width * stripe;
		this.stripe = stripe;
		this.bins = this.tracks.map(track => {
			const bins = ACTIVITY.map(() => new Float32Array(n));
			for (const t of track.threads) {
				for (let i = lowerBound(time, v0, t.first, t.last); i < t.last && time[i] < v1; i++)
					bins[activity[node[i]]][Math.min(n - 1, Math.floor((time[i] - v0) / perStripe))] += weight ? weight[i] : 1;
			}
			let full = 0;
			for (let b = 0; b < n; b++) full = Math.max(full, bins[0][b] + bins[1][b] + bins[2][b] + bins[3][b]);
			const usual = perStripe / step;
			return { bins, full: track.threads.length === 1 && full > usual * 0.4 && !weight ? Math.max(full * 0.8, Math.min(full, usual)) : full };
		});
		this.countedWidth = width;
	}
	draw(ctx, width, height) {
		if (!this.bins || this.countedWidth !== width) this.count(width);
		const colours = ACTIVITY.map(k => shade([KINDS[k][0], 0, KINDS[k][2], KINDS[k][3] - 6, KINDS[k][4] + 12], 500500));
		this.tracks.forEach((track, row) => {
			const y = row * TRACK, { bins, full } = this.bins[row], room = TRACK - 6;
			ctx.fillStyle = css('--line');
			ctx.fillRect(0, y + TRACK - 1, width, 1);
			ctx.globalAlpha = this.chosen && !track.threads.some(t => this.chosen.has(t.number)) ? 0.35 : 1;
			for (let b = 0; b < bins[0].length; b++) {
				let base = y + TRACK - 1;
				for (let k = 0; k < 4; k++) {
					const h = Math.min(bins[k][b] / full * room, base - y - 2);
					if (!(h > 0)) continue;
					ctx.fillStyle = colours[k];
					ctx.fillRect(b * this.stripe, base - h, this.stripe, h);
					base -= h;
				}
			}
			ctx.globalAlpha = 1;
		});
		const span = this.drag && this.drag.span || this.range;
		if (span) {
			const a = this.xOf(span[0]), b = this.xOf(span[1]);
			ctx.fillStyle = css('--shade');
			ctx.fillRect(0, 0, Math.max(0, a), height);
			ctx.fillRect(b, 0, Math.max(0, width - b), height);
			ctx.fillStyle = css('--focus');
			ctx.fillRect(a - 1, 0, 2, height);
			ctx.fillRect(b - 1, 0, 2, height);
		}
		if (this.hover !== null && this.hover !== undefined && !this.drag) {
			ctx.fillStyle = css('--soft');
			ctx.fillRect(this.hover, 0, 1, height);
		}
	}
	drawAxis(ctx, width) {
		ctx.font = FONT;
		ctx.textBaseline = 'middle';
		for (const [t, text] of timeTicks(...this.view, width)) {
			const x = (t - this.view[0]) / (this.view[1] - this.view[0]) * width;
			ctx.fillStyle = css('--line');
			ctx.fillRect(x, 0, 1, 18);
			ctx.fillStyle = css('--soft');
			ctx.fillText(text, x + 4, 9);
		}
	}

	/* ---- events ---- */

	/* Returns the sample at a place, or -1. */
	sampleAt(px, py) {
		const track = this.tracks[Math.floor(py / TRACK)], t = this.timeAt(px);
		let best = -1, nearest = Math.max((this.view[1] - this.view[0]) / this.surface.width * 6, 0);
		for (const thread of track ? track.threads : []) {
			const i = lowerBound(this.p.sampleTime, t, thread.first, thread.last);
			for (const k of [i - 1, i]) {
				if (k < thread.first || k >= thread.last) continue;
				const d = Math.abs(this.p.sampleTime[k] - t);
				if (d <= nearest) { nearest = d; best = k; }
			}
		}
		return best;
	}
	listen() {
		const { canvas } = this, at = e => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
		canvas.addEventListener('pointerdown', e => {
			if (e.button !== 0) return;
			canvas.setPointerCapture(e.pointerId);
			const [x] = at(e), t = this.timeAt(x), edge = this.range && this.range.findIndex(v => Math.abs(this.xOf(v) - x) < 5);
			this.drag = { from: edge >= 0 && this.range ? this.range[1 - edge] : t, x, span: null };
			hideTip();
		});
		canvas.addEventListener('pointermove', e => {
			const [x, y] = at(e), t = this.timeAt(Math.max(0, Math.min(x, this.surface.width)));
			this.hover = x;
			this.surface.touch();
			if (this.drag) {
				if (this.drag.span || Math.abs(x - this.drag.x) > 3) {
					this.drag.span = [Math.min(t, this.drag.from), Math.max(t, this.drag.from)];
					showTip(e.clientX, e.clientY, el('b', {}, seconds(this.drag.span[1] - this.drag.span[0])), el('div', {}, this.drag.span.map(seconds).join(' to ')));
				}
				return;
			}
			const i = this.sampleAt(x, y), track = this.tracks[Math.floor(y / TRACK)];
			const path = i >= 0 ? pathOf(this.p.tree, this.p.sampleNode[i]) : [];
			showTip(e.clientX, e.clientY, el('b', {}, seconds(t)), el('div', {}, track ? track.label : ''),
				...path.slice(-6).reverse().map(k => el('div', {}, labelOf(this.p.tree, k))), path.length > 6 ? el('div', { class: 'soft' }, plural(path.length - 6, 'outer frame')) : '');
		});
		canvas.addEventListener('pointerup', e => {
			const { drag } = this;
			this.drag = null;
			hideTip();
			if (!drag) return;
			if (drag.span) { this.options.range(drag.span); return; }
			const i = this.sampleAt(...at(e));
			if (i >= 0) this.options.pick(this.p.sampleNode[i]);
			this.surface.touch();
		});
		canvas.addEventListener('dblclick', () => this.options.range(null));
		canvas.addEventListener('pointerleave', () => { this.hover = null; if (!this.drag) hideTip(); this.surface.touch(); });
		canvas.addEventListener('wheel', e => {
			const [x] = at(e), [v0, v1] = this.view, t = this.timeAt(x);
			if (e.ctrlKey || e.metaKey) {
				const f = Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 120);
				this.look([t - (t - v0) * f, t + (v1 - t) * f]);
			} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
				const d = (e.deltaX || e.deltaY) / this.surface.width * (v1 - v0);
				this.look([v0 + d, v1 + d]);
			} else return;
			e.preventDefault();
			hideTip();
		}, { passive: false });
		canvas.addEventListener('keydown', e => {
			const whole = this.view[1] - this.view[0], step = whole / 50, [a, b] = this.range || [this.view[0], this.view[0] + whole / 10];
			const d = e.key === 'ArrowRight' ? step : e.key === 'ArrowLeft' ? -step : 0;
			if (e.key === 'Escape' && this.range) this.options.range(null);
			else if (d && e.shiftKey) this.options.range([a, Math.min(this.p.lastTime, Math.max(a + step, b + d))]);
			else if (d) { const s = Math.max(this.p.firstTime - a, Math.min(d, this.p.lastTime - b)); this.options.range(this.range ? [a + s, b + s] : [a, b]); } else return;
			e.preventDefault();
			e.stopPropagation();
		});
	}
}

/* ---- the call chains of one thread over time ---- */

class ChartView {
	/* options: select(i) */
	constructor(host, options) {
		this.options = options;
		this.axis = el('canvas', { class: 'axis' });
		this.axisPlace = el('div', { class: 'axis-place' }, this.axis);
		this.canvas = el('canvas', { tabIndex: 0, class: 'graph', role: 'application', 'aria-describedby': 'status',
			'aria-label': 'Call chains over time: left and right move, plus and minus zoom, Escape shows all' });
		this.tall = el('div', { class: 'tall' }, this.canvas);
		this.scroll = el('div', { class: 'scroll' }, this.tall);
		host.append(this.axisPlace, this.scroll);
		this.surface = new Surface(this.canvas, this.scroll, (...a) => this.draw(...a));
		this.scale_ = new Surface(this.axis, this.axisPlace, Tracks.prototype.drawAxis.bind(this));
		this.matched = null;
		this.hover = null;
		this.view = [0, 1];
		this.listen();
	}
	/* span: time span, or null; busy: leave out the time when the thread did not run */
	show(tree, thread, span, busy, colours) {
		const p = tree.profile, same = this.tree && this.tree.parent === tree.parent && this.thread === thread && this.busy === busy && String(this.wanted) === String(span);
		this.tree = tree;
		this.thread = thread;
		this.busy = busy;
		this.wanted = span;
		this.colours = colours;
		this.step = usualStep(p, thread);
		this.first = span ? lowerBound(p.sampleTime, span[0], thread.first, thread.last) : thread.first;
		this.last = span ? lowerBound(p.sampleTime, span[1], this.first, thread.last) : thread.last;
		this.times = busy ? Float64Array.from({ length: this.last - this.first }, (_, k) => k * this.step) : p.sampleTime.subarray(this.first, this.last);
		this.span = busy ? [0, Math.max(1, this.last - this.first) * this.step] : span || [p.firstTime, Math.max(p.lastTime, p.firstTime + 1e-6)];
		this.deepest = 0;
		for (let i = this.first; i < this.last; i++) this.deepest = Math.max(this.deepest, tree.depth[this.nodeOf(i)]);
		this.tall.style.height = Math.max(this.deepest * ROW + 2, 1) + 'px';
		this.look(same ? this.view : this.span);
	}
	mark(matched) { this.matched = matched; this.surface.touch(); }
	recolour(colours) { this.colours = colours; this.surface.touch(); }
	nodeOf(sample) { const i = this.tree.profile.sampleNode[sample]; return this.tree.map ? this.tree.map[i] : i; }
	look(view) {
		const whole = this.span[1] - this.span[0], wide = Math.min(whole, Math.max(10e-6, view[1] - view[0]));
		const from = Math.max(this.span[0], Math.min(view[0], this.span[1] - wide));
		this.view = [from, from + wide];
		this.surface.touch();
		this.scale_.touch();
	}
	reset() { this.look(this.span); }
	yOf(depth) { return (depth - 1) * ROW - this.scroll.scrollTop; }
	timeOf(i) { return this.times[i - this.first]; }
	/* Returns the sample that represents a stripe of time, or -1 if the thread did not run. */
	sampleAt(t, wide) {
		const { times } = this, k = lowerBound(times, t + wide / 2 + 1e-12, 0, times.length) - 1;
		if (k < 0) return -1;
		const next = k + 1 < times.length && times[k + 1] - t < t - times[k] && times[k + 1] <= t + wide / 2 ? k + 1 : k;
		return times[next] >= t - wide / 2 || this.endOf(next + this.first) > t ? next + this.first : -1;
	}
	endOf(i) {
		const t = this.timeOf(i), next = i + 1 < this.last ? this.timeOf(i + 1) : Infinity;
		return next - t <= this.step * 1.8 ? next : t + this.step;
	}

	draw(ctx, width, height) {
		if (!this.tree) return;
		const { tree } = this, [v0, v1] = this.view, scale = width / (v1 - v0);
		const style = { text: css('--frame-text'), light: css('--gap-text'), hit: css('--hit') };
		let open = [];
		ctx.font = FONT;
		ctx.textBaseline = 'middle';
		/* Draws one sample for each column of pixels. Frames that neighbours have in common
		 * are one box. */
		let last = -2, at = 0;
		const close = (depth, x) => { for (let d = depth; d < open.length; d++) this.box(ctx, open[d][0], open[d][1], x, height, style); open.length = Math.min(open.length, depth); };
		while (at < width) {
			const sample = this.sampleAt(v0 + (at + 0.5) / scale, 1 / scale);
			if (sample !== last) {
				const path = sample < 0 ? [] : pathOf(tree, this.nodeOf(sample));
				const x = sample >= 0 && last >= 0 ? Math.max(at, (this.timeOf(sample) - v0) * scale) : at;
				let common = 0;
				while (common < path.length && common < open.length && open[common][0] === path[common]) common++;
				close(common, x);
				for (let d = common; d < path.length; d++) open[d] = [path[d], x];
				last = sample;
			}
			/* Go to the first column in which the next sample can begin. */
			const next = sample >= 0 ? Math.ceil((this.endOf(sample) - v0) * scale - 0.5) : at + 1;
			at = Math.max(at + 1, Math.min(next, width));
		}
		close(0, width);
	}
	box(ctx, i, from, to, height, style) {
		const y = this.yOf(this.tree.depth[i]), w = to - from;
		if (y <= -ROW || y >= height || w <= 0) return;
		const hit = this.matched && this.matched[funcOf(this.tree, i)];
		ctx.globalAlpha = this.matched && !hit ? 0.5 : 1;
		ctx.fillStyle = hit ? style.hit : this.colours(i);
		ctx.fillRect(from, y, w > 3 ? w - 1 : w, ROW - 1);
		if (w > 20) {
			const text = fitText(ctx, labelOf(this.tree, i), w - 9, shortName(nameOf(this.tree, i)));
			ctx.fillStyle = hit || flagsOf(this.tree, i) & GAP ? style.light : style.text;
			ctx.fillText(text, from + 4, y + ROW / 2);
		}
		ctx.globalAlpha = 1;
		if (this.hover && this.hover.node === i && this.hover.x >= from && this.hover.x < to) {
			ctx.strokeStyle = css('--text');
			ctx.lineWidth = 2;
			ctx.strokeRect(from + 1, y + 1, Math.max(w - 3, 1), ROW - 3);
		}
	}

	/* Returns the node at a place, with the beginning and the end of its box. */
	spanAt(px, py) {
		const { tree } = this, depth = Math.floor((py + this.scroll.scrollTop) / ROW) + 1;
		const wide = (this.view[1] - this.view[0]) / this.surface.width, sample = this.sampleAt(this.view[0] + (px + 0.5) * wide, wide);
		if (sample < 0) return null;
		const ancestor = i => { while (i > 0 && tree.depth[i] > depth) i = tree.parent[i]; return tree.depth[i] === depth ? i : -1; };
		const node = ancestor(this.nodeOf(sample));
		if (node <= 0) return null;
		const near = i => this.endOf(i) === this.timeOf(i + 1);
		let a = sample, b = sample;
		while (a > this.first && near(a - 1) && ancestor(this.nodeOf(a - 1)) === node && sample - a < 200000) a--;
		while (b + 1 < this.last && near(b) && ancestor(this.nodeOf(b + 1)) === node && b - sample < 200000) b++;
		return { node, from: this.timeOf(a), to: this.endOf(b), samples: b - a + 1, x: px };
	}
	listen() {
		const { canvas } = this, at = e => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
		let drag = null;
		canvas.addEventListener('pointerdown', e => { if (e.button === 0) drag = { x: e.clientX, y: e.clientY, view: this.view, top: this.scroll.scrollTop, moved: false }; });
		canvas.addEventListener('pointermove', e => {
			if (!this.tree) return;
			if (drag && e.buttons & 1 && (drag.moved || Math.hypot(e.clientX - drag.x, e.clientY - drag.y) > 5)) {
				if (!drag.moved) canvas.setPointerCapture(e.pointerId);
				drag.moved = true;
				hideTip();
				const d = (e.clientX - drag.x) / this.surface.width * (drag.view[1] - drag.view[0]);
				this.scroll.scrollTop = drag.top - (e.clientY - drag.y);
				this.look([drag.view[0] - d, drag.view[1] - d]);
				return;
			}
			const h = this.hover = this.spanAt(...at(e));
			this.surface.touch();
			canvas.style.cursor = h ? 'pointer' : 'default';
			if (!h) { hideTip(); return; }
			const place = fullPlaceOf(this.tree.profile, this.tree.frame[h.node]);
			showTip(e.clientX, e.clientY, el('b', {}, labelOf(this.tree, h.node)), this.tree === this.tree.profile.tree && place ? el('div', {}, 'called at ' + place) : '', ...marksOf(this.tree, h.node).map(t => el('div', {}, t)),
				el('div', {}, `${seconds(h.from)} to ${seconds(h.to)}: ${seconds(h.to - h.from)}, ${plural(h.samples, 'sample')}`));
		});
		canvas.addEventListener('pointerleave', () => { this.hover = null; hideTip(); this.surface.touch(); });
		canvas.addEventListener('click', e => {
			const moved = drag && drag.moved, h = this.spanAt(...at(e));
			drag = null;
			if (moved || !h) return;
			this.options.select(h.node);
			hideTip();
			this.look([h.from, h.to]);
		});
		canvas.addEventListener('wheel', e => {
			const [x] = at(e), [v0, v1] = this.view, t = v0 + x / this.surface.width * (v1 - v0);
			if (e.ctrlKey || e.metaKey) {
				const f = Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 120);
				this.look([t - (t - v0) * f, t + (v1 - t) * f]);
			} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
				const d = (e.deltaX || e.deltaY) / this.surface.width * (v1 - v0);
				this.look([v0 + d, v1 + d]);
			} else return;
			e.preventDefault();
			hideTip();
		}, { passive: false });
		canvas.addEventListener('keydown', e => {
			const [v0, v1] = this.view, d = (v1 - v0) * 0.2, mid = (v0 + v1) / 2;
			if (e.ctrlKey || e.metaKey || e.altKey) return;
			if (e.key === 'ArrowLeft' || e.key === 'a') this.look([v0 - d, v1 - d]);
			else if (e.key === 'ArrowRight' || e.key === 'd') this.look([v0 + d, v1 + d]);
			else if (e.key === '+' || e.key === '=' || e.key === 'w') this.look([mid - d * 1.6, mid + d * 1.6]);
			else if (e.key === '-' || e.key === 's') this.look([mid - d * 4, mid + d * 4]);
			else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') this.scroll.scrollTop += (e.key === 'ArrowDown' ? 1 : -1) * ROW * 2;
			else if (e.key === 'Escape' && (v0 > this.span[0] || v1 < this.span[1])) this.reset();
			else return;
			e.preventDefault();
			e.stopPropagation();
		});
		this.scroll.addEventListener('scroll', () => { hideTip(); this.surface.touch(); });
	}
	close() { this.surface.close(); this.scale_.close(); }
}
