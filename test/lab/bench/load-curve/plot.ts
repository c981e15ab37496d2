// The p99 at each rate as an SVG: a panel for each store at 1 ms, ours as a line and by hand as dots.
import { median } from '../statistics.js';
import type { Side } from './cell.js';
import { MAX_P99, NOT_ANSWERED } from './limits.js';
import { type Group, TITLES } from './report.js';

const PANEL = { width: 250, height: 190, left: 40, right: 12, top: 30, bottom: 34 };
const COLUMNS = 3;
const RATES = [250, 1_000, 4_000, 16_000];
const TIMES = [1, 10, 100, 1_000];
/** Of the axes: the ends of both are those of {@link RATES} and {@link TIMES}. */
const MAX_MS = 1_000;
const SHOWN_MS = 1;

const STYLE = `text{font:11px system-ui,sans-serif;fill:#333}.title{font-weight:600;font-size:12px}.grid{stroke:#e3e3e3}
.limit{stroke:#b3261e;stroke-dasharray:4 3}.ours{fill:none;stroke:#1a56db;stroke-width:2}.byHand{fill:none;stroke:#777;stroke-width:2;stroke-dasharray:2 3}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.ours{stroke:#7aa7ff}.byHand{stroke:#aaa}}`;

export function plot(groups: readonly Group[], caption: string): string {
  const shown = groups.filter(({ store, ms }) => store === 'memory' || ms === SHOWN_MS);
  const rows = Math.ceil(shown.length / COLUMNS);
  const [width, height] = [COLUMNS * PANEL.width, rows * PANEL.height + 24];
  const panels = shown.map((group, index) => {
    const [x, y] = [(index % COLUMNS) * PANEL.width, Math.floor(index / COLUMNS) * PANEL.height];
    return `<g transform="translate(${x} ${y})">${panel(group)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${caption}">
<style>${STYLE}</style>
${panels.join('\n')}
<text x="8" y="${height - 8}">${caption}</text>
</svg>
`;
}

function panel(group: Group): string {
  const grid = [
    ...TIMES.map((ms) => {
      const y = yOf(ms);
      const line = `<path class="${ms === MAX_P99 ? 'limit' : 'grid'}" d="M${PANEL.left} ${y}H${PANEL.width - PANEL.right}"/>`;
      return `${line}<text x="${PANEL.left - 4}" y="${y + 4}" text-anchor="end">${ms}</text>`;
    }),
    ...RATES.map((rate) => {
      const x = xOf(rate);
      const line = `<path class="grid" d="M${x} ${PANEL.top}V${PANEL.height - PANEL.bottom}"/>`;
      return `${line}<text x="${x}" y="${PANEL.height - PANEL.bottom + 14}" text-anchor="middle">${rate.toLocaleString('en')}</text>`;
    }),
  ];
  const title = `<text class="title" x="${PANEL.left}" y="18">${TITLES[group.store].replaceAll('`', '')}</text>`;
  return `${title}${grid.join('')}${curve(group, 'byHand')}${curve(group, 'ours')}`;
}

/** Through the medians of all epochs, up to the first rate that is too much. */
function curve({ results }: Group, side: Side): string {
  const byRate = new Map<number, number[]>();
  for (const { rate, p99 } of results.flatMap((result) => result[side].steps))
    byRate.set(rate, [...(byRate.get(rate) ?? []), p99]);
  const points = [...byRate]
    .map(([rate, times]) => ({ rate, ms: median(times) }))
    .sort((one, other) => one.rate - other.rate);
  const beyond = points.findIndex(({ ms }) => ms >= NOT_ANSWERED);
  const shown = beyond === -1 ? points : points.slice(0, beyond + 1);
  const path = shown.map(({ rate, ms }, index) => `${index === 0 ? 'M' : 'L'}${xOf(rate)} ${yOf(ms)}`);
  return `<path class="${side}" d="${path.join('')}"/>`;
}

function xOf(rate: number): number {
  return scale(rate, RATES, PANEL.left, PANEL.width - PANEL.right);
}

function yOf(ms: number): number {
  return scale(Math.min(Math.max(ms, 1), MAX_MS), TIMES, PANEL.height - PANEL.bottom, PANEL.top);
}

/** Logarithmic, from the first mark to the last. */
function scale(value: number, marks: readonly number[], from: number, to: number): number {
  const [low, high] = [Math.log(marks[0] ?? 1), Math.log(marks.at(-1) ?? 1)];
  const share = Math.min(1, Math.max(0, (Math.log(value) - low) / (high - low)));
  return Math.round((from + share * (to - from)) * 10) / 10;
}
