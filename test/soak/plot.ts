// Draws lines over time as an SVG that reads on a light page and on a dark one.

export interface Line {
  /** Minutes, and a value of the panel's unit. */
  readonly points: readonly (readonly [number, number])[];
}

export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
}

interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** The largest minute and the largest value. */
  readonly most: readonly [number, number];
}

const [PANEL_WIDTH, PANEL_HEIGHT] = [420, 170];
const MARGIN = { left: 44, right: 16, top: 34, bottom: 30 };
const TICKS = 4;

/** With its own background, because that of the page is unknown. */
const STYLE = `
  text { font: 11px system-ui, sans-serif; fill: #59636e }
  .title { font-weight: 600; font-size: 12px; fill: #1f2328 }
  .ground { fill: #ffffff } .grid { stroke: #d1d9e0; stroke-width: 1 }
  path { fill: none; stroke-width: 1.5; stroke-linejoin: round }
  .line0 { stroke: #0969da } .line1 { stroke: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 } .title { fill: #f0f6fc }
    .ground { fill: #0d1117 } .grid { stroke: #3d444d }
    .line0 { stroke: #4493f8 } .line1 { stroke: #f0883e }
  }
`;

/** In rows of two. */
export function plot(panels: readonly Panel[], description: string): string {
  const [width, height] = [2 * PANEL_WIDTH, Math.ceil(panels.length / 2) * PANEL_HEIGHT];
  const drawn = panels.map((panel, index) =>
    draw(panel, frameFor(panel, [(index % 2) * PANEL_WIDTH, Math.floor(index / 2) * PANEL_HEIGHT])),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(description)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${width}" height="${height}" rx="6"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

/** The first of 1, 2, 2.5, 5, 10, 20, … that is not less. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5].find((step) => step * power >= value) ?? 10) * power;
}

/** Into so many stretches of equal length; those in which nothing was measured are left out. */
export function bucket<Value>(
  timed: readonly { readonly at: number; readonly value: Value }[],
  width: number,
  of: (values: readonly Value[]) => number,
): [number, number][] {
  const buckets = new Map<number, Value[]>();
  for (const { at, value } of timed) {
    const index = Math.floor(at / width);
    const values = buckets.get(index);
    if (values) values.push(value);
    else buckets.set(index, [value]);
  }
  return [...buckets].map(([index, values]) => [(index + 0.5) * width, of(values)]);
}

function frameFor({ lines }: Panel, [x, y]: readonly [number, number]): Frame {
  const points = lines.flatMap((line) => line.points);
  return {
    left: x + MARGIN.left,
    top: y + MARGIN.top,
    width: PANEL_WIDTH - MARGIN.left - MARGIN.right,
    height: PANEL_HEIGHT - MARGIN.top - MARGIN.bottom,
    most: [
      points.reduce((most, [minute]) => Math.max(most, minute), 0) || 1,
      roundUp(points.reduce((most, [, value]) => Math.max(most, value), 0)),
    ],
  };
}

function draw({ title, unit, lines }: Panel, frame: Frame): string {
  const paths = lines.map(
    ({ points }, index) => `<path class="line${index % 2}" d="${pathOf(points, frame)}"/>`,
  );
  const heading = `<text class="title" x="${frame.left}" y="${frame.top - 14}">${escaped(title)}, ${escaped(unit)}</text>`;
  return [heading, ...gridOf(frame), ...paths].join('\n');
}

export function pathOf(points: Line['points'], { left, top, width, height, most }: Frame): string {
  return points
    .map(([minute, value], index) => {
      const x = left + (minute / most[0]) * width;
      const y = top + height - (value / most[1]) * height;
      return `${index === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');
}

function gridOf({ left, top, width, height, most }: Frame): string[] {
  const rules = Array.from({ length: TICKS + 1 }, (_, index) => {
    const y = top + height - (index / TICKS) * height;
    const value = Number(((most[1] * index) / TICKS).toPrecision(3));
    return (
      `<line class="grid" x1="${left}" x2="${left + width}" y1="${y}" y2="${y}"/>` +
      `<text x="${left - 6}" y="${y + 4}" text-anchor="end">${value}</text>`
    );
  });
  const end = `<text x="${left + width}" y="${top + height + 16}" text-anchor="end">${Number(most[0].toFixed(1))} minutes</text>`;
  return [...rules, `<text x="${left}" y="${top + height + 16}">0</text>`, end];
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}
