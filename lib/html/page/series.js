// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the samples of each event. Different events do not add up, so the page shows one at a time.
 * The exception is the time on CPUs and the time off them, if both have the same period: their sum
 * is all time.
 *
 * A series has the samples of an event, or of that sum, as columns: time, node, weight (null: all
 * are 1) and place. The samples of thread t are those from first[t] to last[t], in order of time.
 *
 * A sample of a wait was taken at its end. Its weight tells to one period how long the wait was. So
 * in a series with waits, begin has the time at which each sample begins. Other samples take no
 * time. In threads for which overlaps is true, waits overlap: pcce-merge joined them.
 */
const WAITS = /^(off-cpu|lock)(:|$)/,
	ON_CPU = /^(cpu|task)-clock(:|$)/,
	PAIRED = 1e-4; /* seconds between samples that were taken at the same time */

/* Makes times of the ticks since the sample before. */
function placeInTime(series, tick) {
	const { time } = series;
	series.first.forEach((first, t) => {
		let now = 0;
		for (let i = first; i < series.last[t]; i++) {
			now += time[i];
			time[i] = (now * tick) / 1e9;
		}
	});
}

/* Whether waits of a thread overlap by more than the error of their length: it was joined from
 * several. */
function hasOverlaps({ time, weight, period }, first, last) {
	for (let i = first + 1; i < last; i++) {
		const begin = time[i] - (weight ? weight[i] : 1) * period;
		if (begin < time[i - 1] - 3 * period && time[i] - time[i - 1] >= PAIRED)
			return true;
	}
	return false;
}

/*
 * Fills in when waits began and ended. If a thread got no CPU when its wait had ended, the next
 * sample is of that, and was taken at the same time.
 */
function placeWaits(series, begin, activity) {
	const { time, node, weight, period } = series;
	series.begin = begin;
	series.first.forEach((first, t) => {
		const last = series.last[t];
		series.overlaps[t] = hasOverlaps(series, first, last);
		for (let i = last - 1; i >= first; i--) {
			const paired =
				!series.overlaps[t] &&
				i + 1 < last &&
				activity[node[i + 1]] === NO_CPU &&
				time[i + 1] - time[i] < PAIRED;
			if (paired) time[i] = Math.min(time[i], begin[i + 1]);
			begin[i] = time[i] - (weight ? weight[i] : 1) * period;
		}
		/* No wait begins before the one before it has ended. */
		for (let i = first + 1; i < last && !series.overlaps[t]; i++) {
			begin[i] = Math.max(begin[i], time[i - 1]);
			time[i] = Math.max(time[i], begin[i]);
		}
	});
}

/* Returns the sum of two series: the samples of each thread in order of time. */
function mergeSeries(a, b) {
	const count = s => s.first.reduce((sum, first, t) => sum + s.last[t] - first, 0),
		n = count(a) + count(b),
		weighted = a.weight || b.weight,
		out = {
			period: a.period,
			time: new Float64Array(n),
			begin: new Float64Array(n),
			node: new Uint32Array(n),
			weight: weighted ? new Float64Array(n) : null,
			place: a.place.length ? new Uint32Array(n) : a.place,
			first: new Uint32Array(a.first.length),
			last: new Uint32Array(a.first.length),
			overlaps: b.overlaps,
		};
	let at = 0;
	const take = (s, i, before) => {
		out.time[at] = Math.max(s.time[i], before);
		out.begin[at] = s.begin ? Math.max(s.begin[i], before) : s.time[i];
		out.node[at] = s.node[i];
		if (weighted) out.weight[at] = s.weight ? s.weight[i] : 1;
		if (s.place.length) out.place[at] = s.place[i];
		return out.time[at++];
	};
	for (let t = 0; t < a.first.length; t++) {
		let i = a.first[t],
			k = b.first[t],
			before = -Infinity;
		out.first[t] = at;
		while (i < a.last[t] || k < b.last[t])
			before =
				k >= b.last[t] || (i < a.last[t] && a.time[i] <= b.time[k])
					? take(a, i++, before)
					: take(b, k++, b.overlaps[t] ? -Infinity : before);
		out.last[t] = at;
	}
	return out;
}

/* ---- choices ---- */

/* The event of a recording of one event. */
function onlyEvent({ event = '', unit, frequency, samples }) {
	const timed = (ON_CPU.test(event) || WAITS.test(event)) && frequency;
	return {
		name: event,
		bytes: unit === 'bytes',
		scale: timed ? 1e9 / frequency : 0,
		samples,
	};
}

function labelThreads(p) {
	p.threads.forEach((t, number) => {
		t.number = number;
		t.counts = [].concat(t.samples);
		t.all = t.counts.reduce((a, b) => a + b, 0);
		const id = t.tid === t.pid ? t.pid : t.pid + '/' + t.tid;
		t.label = (t.name || 'thread') + ' ' + id;
	});
}

/*
 * Sets choices: the events, and the sum of two. Each has
 *   name, bytes (whether weights are bytes), samples (their number)
 *   seconds   of one unit of weight; 0: it is no time
 *   timed     weights are shown as time
 *   self      weights by node
 *   series
 */
function listChoices(p, head, columns, selves) {
	const events = head.events || [onlyEvent(p.facts)],
		several = events.length > 1,
		time = columns['sample.time'] || new Float64Array(0),
		begin = events.some(e => WAITS.test(e.name)) ? new Float64Array(time.length) : null;
	labelThreads(p);
	let at = 0;
	const first = p.threads.map(t => t.counts.map(count => (at += count) - count)),
		activity = begin && activityOf(p.tree);
	p.choices = events.map(({ name, bytes, scale, samples }, e) => {
		const series = {
			period: scale / 1e9,
			time,
			begin: null,
			node: columns['sample.node'] || new Uint32Array(0),
			weight: columns['sample.weight'] || null,
			place: columns['sample.place'] || new Uint32Array(0),
			first: Uint32Array.from(first, of => of[e]),
			last: Uint32Array.from(first, (of, t) => of[e] + p.threads[t].counts[e]),
			overlaps: first.map(() => false),
		};
		placeInTime(series, head.tick);
		if (WAITS.test(name)) placeWaits(series, begin, activity);
		return {
			name,
			bytes,
			samples,
			seconds: series.period,
			timed: !!scale && !p.tree.before && (several || WAITS.test(name)),
			self: selves[e],
			series,
		};
	});
	if (several) p.choices = p.choices.filter(c => c.samples);
	addSum(p);
}

/* Adds the choice of all time, if the recording has it. */
function addSum(p) {
	const on = p.choices.find(c => ON_CPU.test(c.name) && c.seconds),
		off = p.choices.find(c => /^off-cpu/.test(c.name) && c.seconds);
	p.sum = null;
	p.sumOf = [];
	if (!on || !off || Math.abs(on.seconds / off.seconds - 1) > 1e-3) return;
	p.sum = {
		...on,
		name: 'all time',
		samples: on.samples + off.samples,
		self: on.self.map((w, i) => w + off.self[i]),
		series: mergeSeries(on.series, off.series),
	};
	p.sumOf = [on, off];
	p.choices.push(p.sum);
}

/* Shows one of the choices. */
function choose(p, number) {
	const chosen = p.choices[number];
	p.chosen = chosen;
	p.series = chosen.series;
	p.sampleSeconds = chosen.seconds;
	for (const t of p.threads) t.samples = p.series.last[t.number] - p.series.first[t.number];
}

/* Returns the time from the beginning of the first sample to the end of the last one. */
function spanOf(choices) {
	let from = 0,
		to = 0;
	for (const { series } of choices)
		series.first.forEach((first, t) => {
			const last = series.last[t];
			if (first === last) return;
			if (series.begin) from = Math.min(from, series.begin[first]);
			to = Math.max(to, series.time[last - 1]);
		});
	return [from, to];
}

/* ---- samples ---- */

/* Returns how much of a sample is in a time span. */
function partIn({ time, begin }, i, [from, to]) {
	const length = time[i] - begin[i];
	if (!(length > 0)) return time[i] >= from && time[i] < to ? 1 : 0;
	return Math.max(0, Math.min(time[i], to) - Math.max(begin[i], from)) / length;
}

/*
 * Calls each(i, weight, thread) for each sample of these threads (null: all) in this time span
 * (null: the whole time). The weight of a wait that is partly in the span is that part.
 */
function eachSample(p, series, threads, range, each) {
	const { time, begin, weight } = series;
	for (const t of p.threads) {
		if (threads && !threads.has(t.number)) continue;
		let i = series.first[t.number],
			last = series.last[t.number];
		if (range) {
			const end = lowerBound(time, range[1], i, last);
			i = lowerBound(time, range[0], i, end);
			/* The next one can have begun in the span. */
			if (!begin) last = end;
			else if (!series.overlaps[t.number]) last = Math.min(last, end + 1);
		}
		if (range && begin) eachPart(series, i, last, range, t.number, each);
		else for (; i < last; i++) each(i, weight ? weight[i] : 1, t.number);
	}
}

function eachPart(series, i, last, range, thread, each) {
	const { weight } = series;
	for (; i < last; i++) {
		const part = partIn(series, i, range);
		if (part) each(i, weight ? weight[i] * part : part, thread);
	}
}

/* Calls add(bin, weight) for the bins that a sample is in. Bin 0 begins at the time `from`. All
 * have this length. */
function eachBin({ time, begin }, i, weight, from, length, bins, add) {
	const last = Math.min(bins - 1, Math.floor((time[i] - from) / length));
	if (!begin || begin[i] >= time[i]) {
		if (last >= 0) add(last, weight);
		return;
	}
	const density = weight / (time[i] - begin[i]);
	for (let b = Math.max(0, Math.floor((begin[i] - from) / length)); b <= last; b++) {
		const a = Math.max(begin[i], from + b * length),
			z = Math.min(time[i], from + (b + 1) * length);
		if (z > a) add(b, density * (z - a));
	}
}
