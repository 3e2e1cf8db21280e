// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Draws the tracks: the activity of each thread over time. They select threads and a time span. If
 * the recording has all time, they show that, and the chosen event as marks if it is another one.
 */
const TRACK = 26,
	MARK = 4,
	MOST_TRACKS = 100;
/* Returns the tracks: all threads, each thread, and the other threads if there are very many. */
function tracksOf(p) {
	const busy = busyThreads(p),
		tracks = busy.slice(0, MOST_TRACKS).map(t => ({ label: t.label, threads: [t] }));
	if (busy.length > MOST_TRACKS)
		tracks.push({
			label: plural(busy.length - MOST_TRACKS, 'other thread'),
			threads: busy.slice(MOST_TRACKS),
		});
	if (busy.length > 1)
		tracks.unshift({
			label: 'all ' + plural(busy.length, 'thread'),
			threads: busy,
			all: true,
		});
	return tracks;
}

const threadsIn = track => new Set(track.threads.map(t => t.number));

/* Returns the weight of the samples of a track. */
function trackWeight(p, track) {
	let sum = 0;
	eachSample(p, p.series, threadsIn(track), null, (_, weight) => {
		sum += weight;
	});
	return sum;
}

function trackTitle(p, track, weight) {
	const { origin } = track.threads[0],
		created = track.threads.length === 1 && origin ? '; created by ' + origin : '',
		samples = amountInWords(p, weight);
	return `${track.label}: ${samples}${created}; Ctrl + click: select several`;
}

class Tracks {
	/* options: range(time span or null), threads(set or null), pick(node) */
	constructor(host, p, options) {
		this.p = p;
		this.options = options;
		this.view = wholeTime(p);
		this.range = null;
		this.chosen = null;
		this.tracks = tracksOf(p);
		this.labels = el('div', { class: 'labels' });
		this.canvas = el('canvas', {
			tabIndex: 0,
			role: 'slider',
			'aria-label':
				'Time span: arrow keys move it, Shift and arrow keys ' +
				'change its length, Escape selects the whole time',
			'aria-valuemin': 0,
			'aria-valuemax': 100,
			'aria-valuenow': 0,
		});
		this.place = el('div', { class: 'lanes' }, this.canvas);
		this.place.style.height = this.tracks.length * TRACK + 'px';
		this.axis = el('canvas', { class: 'axis' });
		this.axisPlace = el('div', { class: 'axis-place' }, this.axis);
		host.append(
			el(
				'div',
				{ class: 'axis-row' },
				el('div', { class: 'labels soft' }, 'thread'),
				this.axisPlace
			),
			el('div', { class: 'track-rows' }, this.labels, this.place)
		);
		this.surface = new Surface(this.canvas, this.place, (...a) => this.draw(...a));
		this.scale = new Surface(this.axis, this.axisPlace, (ctx, width) =>
			drawTimeScale(ctx, width, this.view)
		);
		this.listen();
		this.showEvent();
	}
	/* Shows the chosen event. */
	showEvent() {
		const { p } = this,
			all = p.sum && p.sum.series,
			shown = [p.sum, ...p.sumOf].includes(p.chosen);
		this.series = all || p.series;
		this.marked = all && !shown ? p.series : null;
		this.activity =
			!all && /^lock(:|$)/.test(p.chosen.name)
				? new Uint8Array(p.tree.n).fill(FUTEX)
				: activityOf(p.tree);
		this.bins = null;
		for (const track of this.tracks) track.button = this.buttonOf(track);
		this.labels.replaceChildren(...this.tracks.map(t => t.button));
		this.set(this.chosen, this.range);
	}
	buttonOf(track) {
		const weight = trackWeight(this.p, track);
		return el(
			'button',
			{
				class: 'track',
				title: trackTitle(this.p, track, weight),
				'aria-pressed': 'false',
				onclick: e =>
					this.choose(track, e.ctrlKey || e.metaKey || e.shiftKey),
			},
			el('span', { class: 'text' }, track.label),
			el('span', { class: 'soft' }, amount(this.p, weight))
		);
	}
	set(threads, range) {
		this.chosen = threads;
		this.range = range;
		for (const track of this.tracks)
			track.button.setAttribute(
				'aria-pressed',
				threads
					? !track.all &&
							track.threads.every(t =>
								threads.has(t.number)
							)
					: !!track.all || this.tracks.length === 1
			);
		const [a, b] = range || this.view;
		this.canvas.setAttribute(
			'aria-valuetext',
			range ? seconds(a) + ' to ' + seconds(b) : 'the whole time'
		);
		this.canvas.setAttribute(
			'aria-valuenow',
			Math.round(share(a - this.p.firstTime, this.p.lastTime - this.p.firstTime))
		);
		this.surface.touch();
	}
	choose(track, more) {
		let chosen = new Set(track.all ? [] : track.threads.map(t => t.number));
		if (more && this.chosen) {
			const both = new Set(this.chosen);
			for (const t of chosen)
				if (this.chosen.has(t)) both.delete(t);
				else both.add(t);
			chosen = both;
		} else if (
			!more &&
			this.chosen &&
			chosen.size === this.chosen.size &&
			[...chosen].every(t => this.chosen.has(t))
		)
			chosen = new Set();
		this.options.threads(chosen.size ? chosen : null);
	}
	look(view) {
		const least = 20e-6,
			{ firstTime, lastTime } = this.p,
			whole = Math.max(lastTime - firstTime, 1e-6);
		const wide = Math.min(whole, Math.max(least, view[1] - view[0])),
			from = Math.max(firstTime, Math.min(view[0], firstTime + whole - wide));
		this.view = [from, from + wide];
		this.bins = null;
		this.surface.touch();
		this.scale.touch();
	}
	timeAt(px) {
		return this.view[0] + (px / this.surface.width) * (this.view[1] - this.view[0]);
	}
	xOf(t) {
		return ((t - this.view[0]) / (this.view[1] - this.view[0])) * this.surface.width;
	}

	/* ---- drawing ---- */

	/* Counts the samples of each kind in each stripe of the window. */
	count(width) {
		const [v0, v1] = this.view,
			steps = this.tracks
				.filter(t => !t.all)
				.map(t => usualStep(this.p, this.series, t.threads[0])),
			step = this.series.begin ? this.series.period : Math.min(...steps),
			perPixel = (v1 - v0) / width;
		this.stripe = Math.max(2, Math.min(24, Math.ceil((6 * step) / perPixel)));
		const stripes = Math.ceil(width / this.stripe),
			perStripe = perPixel * this.stripe;
		this.bins = this.tracks.map(track => {
			const bins = this.countTrack(track, stripes, perStripe),
				full = bins[0].reduce(
					(most, _, b) =>
						Math.max(
							most,
							bins.reduce((sum, of) => sum + of[b], 0)
						),
					0
				);
			return {
				bins,
				full: this.fullOf(track, full, perStripe / step),
				marks: this.marked && this.countMarks(track, width),
			};
		});
		this.countedWidth = width;
	}
	/* Returns, by activity and stripe, the weight of the samples of a track. */
	countTrack(track, stripes, perStripe) {
		const { activity, series, view } = this,
			{ node, weight } = series,
			bins = ACTIVITIES.map(() => new Float32Array(stripes));
		eachSample(this.p, series, threadsIn(track), view, i => {
			const of = bins[activity[node[i]]];
			eachBin(
				series,
				i,
				weight ? weight[i] : 1,
				view[0],
				perStripe,
				stripes,
				(b, w) => {
					of[b] += w;
				}
			);
		});
		return bins;
	}
	/* Returns, by column of pixels, the weight of the marked event. */
	countMarks(track, width) {
		const { marked, view } = this,
			marks = new Float32Array(Math.ceil(width)),
			perPixel = (view[1] - view[0]) / width;
		eachSample(this.p, marked, threadsIn(track), view, (i, w) => {
			marks[Math.floor((marked.time[i] - view[0]) / perPixel)] += w;
		});
		return marks;
	}
	/* Returns the weight at which a stripe has full height. full: the weight of the heaviest
	 * stripe; usual: that of a thread that always runs, or waits. */
	fullOf(track, full, usual) {
		if (track.threads.length > 1) return full;
		if (this.series.begin)
			return this.series.overlaps[track.threads[0].number] ? full : usual;
		return full > usual * 0.4 && !this.series.weight
			? Math.max(full * 0.8, Math.min(full, usual))
			: full;
	}
	draw(ctx, width, height) {
		if (!this.bins || this.countedWidth !== width) this.count(width);
		const colours = ACTIVITIES.map(activityColour);
		this.tracks.forEach((_, row) => this.drawTrack(ctx, row, width, colours));
		const span = (this.drag && this.drag.span) || this.range;
		if (span) this.drawSpan(ctx, span, width, height);
		if (this.hover !== null && this.hover !== undefined && !this.drag) {
			ctx.fillStyle = css('--soft');
			ctx.fillRect(this.hover, 0, 1, height);
		}
	}
	drawTrack(ctx, row, width, colours) {
		const y = row * TRACK,
			{ bins, full, marks } = this.bins[row],
			room = TRACK - 6,
			{ chosen } = this,
			{ threads } = this.tracks[row];
		ctx.fillStyle = css('--line');
		ctx.fillRect(0, y + TRACK - 1, width, 1);
		ctx.globalAlpha = chosen && !threads.some(t => chosen.has(t.number)) ? 0.35 : 1;
		for (let b = 0; b < bins[0].length; b++) {
			let base = y + TRACK - 1;
			for (let k = 0; k < bins.length; k++) {
				const h = Math.min((bins[k][b] / full) * room, base - y - 2);
				if (!(h > 0)) continue;
				ctx.fillStyle = colours[k];
				ctx.fillRect(b * this.stripe, base - h, this.stripe, h);
				base -= h;
			}
		}
		ctx.fillStyle = css('--hit');
		for (let x = 0; marks && x < marks.length; x++)
			if (marks[x]) ctx.fillRect(x, y + 1, 1, MARK);
		ctx.globalAlpha = 1;
	}
	/* Shades the time outside the selected span. */
	drawSpan(ctx, span, width, height) {
		const a = this.xOf(span[0]),
			b = this.xOf(span[1]);
		ctx.fillStyle = css('--shade');
		ctx.fillRect(0, 0, Math.max(0, a), height);
		ctx.fillRect(b, 0, Math.max(0, width - b), height);
		ctx.fillStyle = css('--focus');
		ctx.fillRect(a - 1, 0, 2, height);
		ctx.fillRect(b - 1, 0, 2, height);
	}

	/* ---- events ---- */

	/* Returns the sample at a place, or -1. */
	sampleAt(px, py) {
		const track = this.tracks[Math.floor(py / TRACK)],
			t = this.timeAt(px),
			{ time, begin, first, last } = this.series;
		let best = -1,
			nearest = ((this.view[1] - this.view[0]) / this.surface.width) * 6;
		for (const { number } of track ? track.threads : []) {
			const i = lowerBound(time, t, first[number], last[number]);
			for (const k of [i - 1, i]) {
				if (k < first[number] || k >= last[number]) continue;
				const d =
					begin && begin[k] <= t && t <= time[k]
						? 0
						: Math.min(
								Math.abs(time[k] - t),
								begin
									? Math.abs(begin[k] - t)
									: Infinity
							);
				if (d <= nearest) {
					nearest = d;
					best = k;
				}
			}
		}
		return best;
	}
	listen() {
		const { canvas } = this;
		canvas.addEventListener('pointerdown', e => this.press(e));
		canvas.addEventListener('pointermove', e => {
			const [x, y] = placeIn(canvas, e);
			this.hover = x;
			this.surface.touch();
			if (this.drag) this.dragTo(x, e);
			else this.tip(x, y, e);
		});
		canvas.addEventListener('pointerup', e => this.release(e));
		canvas.addEventListener('dblclick', () => this.options.range(null));
		canvas.addEventListener('pointerleave', () => {
			this.hover = null;
			if (!this.drag) hideTip();
			this.surface.touch();
		});
		listenToWheel(this);
		canvas.addEventListener('keydown', e => {
			if (!this.key(e)) return;
			e.preventDefault();
			e.stopPropagation();
		});
	}
	/* Begins a time span, or takes hold of an edge of the selected one. */
	press(e) {
		if (e.button !== 0) return;
		this.canvas.setPointerCapture(e.pointerId);
		const [x] = placeIn(this.canvas, e),
			edge = this.range
				? this.range.findIndex(v => Math.abs(this.xOf(v) - x) < 5)
				: -1;
		this.drag = {
			from: edge >= 0 ? this.range[1 - edge] : this.timeAt(x),
			x,
			span: null,
		};
		hideTip();
	}
	dragTo(x, e) {
		const { drag } = this,
			t = this.timeAt(Math.max(0, Math.min(x, this.surface.width)));
		if (!drag.span && Math.abs(x - drag.x) <= 3) return;
		drag.span = [Math.min(t, drag.from), Math.max(t, drag.from)];
		showTip(
			e.clientX,
			e.clientY,
			el('b', {}, seconds(drag.span[1] - drag.span[0])),
			el('div', {}, drag.span.map(seconds).join(' to '))
		);
	}
	/* Shows the time and the innermost frames of the sample at a place. */
	tip(x, y, e) {
		const t = this.timeAt(Math.max(0, Math.min(x, this.surface.width))),
			{ tree } = this.p,
			{ node, time, begin } = this.series,
			i = this.sampleAt(x, y),
			track = this.tracks[Math.floor(y / TRACK)],
			path = i >= 0 ? pathOf(tree, node[i]) : [],
			waited = i >= 0 && begin ? time[i] - begin[i] : 0,
			frames = path.slice(-6).reverse(),
			outer = plural(path.length - 6, 'outer frame');
		showTip(
			e.clientX,
			e.clientY,
			el('b', {}, seconds(t)),
			el('div', {}, track ? track.label : ''),
			waited
				? el(
						'div',
						{},
						activityName(this.activity[node[i]]) +
							' for about ' +
							seconds(waited)
					)
				: '',
			...frames.map(k => el('div', {}, labelOf(tree, k))),
			path.length > 6 ? el('div', { class: 'soft' }, outer) : ''
		);
	}
	/* Selects the time span of a drag, or the frame of a click. */
	release(e) {
		const { drag } = this;
		this.drag = null;
		hideTip();
		if (!drag) return;
		if (drag.span) {
			this.options.range(drag.span);
			return;
		}
		const i = this.sampleAt(...placeIn(this.canvas, e));
		if (i >= 0) this.options.pick(this.series.node[i]);
		this.surface.touch();
	}
	/* Handles a key. Returns whether it has a meaning here. */
	key(e) {
		const [v0, v1] = this.view,
			whole = v1 - v0,
			step = whole / 50,
			[a, b] = this.range || [v0, v0 + whole / 10],
			{ firstTime, lastTime } = this.p,
			d = e.key === 'ArrowRight' ? step : e.key === 'ArrowLeft' ? -step : 0;
		if (e.key === 'Escape' && this.range) this.options.range(null);
		else if (d && e.shiftKey)
			this.options.range([a, Math.min(lastTime, Math.max(a + step, b + d))]);
		else if (d) {
			const s = Math.max(firstTime - a, Math.min(d, lastTime - b));
			this.options.range(this.range ? [a + s, b + s] : [a, b]);
		} else return false;
		return true;
	}
}
