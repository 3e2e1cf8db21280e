// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Does what the tracks and the chart have in common: the time scale, its steps, and the wheel. */

/* Returns the threads that have samples of any event, those with most samples first. */
const busyThreads = p =>
	p.threads.filter(t => t.all).sort((a, b) => b.all - a.all || a.number - b.number);

/* Returns the time from the first sample to the last, at least a microsecond. */
const wholeTime = p => [p.firstTime, Math.max(p.lastTime, p.firstTime + 1e-6)];

/* Returns the usual time between two samples of a running thread. */
function usualStep(p, series, thread) {
	const { time } = series,
		first = series.first[thread.number],
		last = series.last[thread.number],
		steps = [],
		every = Math.max(1, Math.floor((last - first) / 1000));
	for (let i = first + 1; i < last; i += every) steps.push(time[i] - time[i - 1]);
	steps.sort((a, b) => a - b);
	return steps.length ? steps[steps.length >> 1] : p.lastTime - p.firstTime || 1e-3;
}

/* Returns round times for a scale: [[time, text], ...] */
function timeTicks(from, to, width) {
	const rough = (to - from) / Math.max(1, width / 110),
		power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough),
		ticks = [];
	for (let t = Math.ceil(from / step) * step; t <= to; t += step)
		ticks.push([t, seconds(Math.abs(t) < step / 2 ? 0 : t)]);
	return ticks;
}

/* Draws the time scale of a view: the time span [from, to]. */
function drawTimeScale(ctx, width, [from, to]) {
	ctx.font = FONT;
	ctx.textBaseline = 'middle';
	for (const [t, text] of timeTicks(from, to, width)) {
		const x = ((t - from) / (to - from)) * width;
		ctx.fillStyle = css('--line');
		ctx.fillRect(x, 0, 1, 18);
		ctx.fillStyle = css('--soft');
		ctx.fillText(text, x + 4, 9);
	}
}

/* Returns where an event is, relative to an element. */
function placeIn(element, e) {
	const r = element.getBoundingClientRect();
	return [e.clientX - r.left, e.clientY - r.top];
}

/* Makes the wheel zoom (with Ctrl) and move a view. target: {canvas, surface, view, look()}. */
function listenToWheel(target) {
	const onWheel = e => {
		const [x] = placeIn(target.canvas, e),
			[v0, v1] = target.view,
			{ width } = target.surface;
		if (e.ctrlKey || e.metaKey) {
			const t = v0 + (x / width) * (v1 - v0),
				f = Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 120);
			target.look([t - (t - v0) * f, t + (v1 - t) * f]);
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			const d = ((e.deltaX || e.deltaY) / width) * (v1 - v0);
			target.look([v0 + d, v1 + d]);
		} else return;
		e.preventDefault();
		hideTip();
	};
	target.canvas.addEventListener('wheel', onWheel, { passive: false });
}
