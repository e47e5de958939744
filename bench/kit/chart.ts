import { ticksOf } from './ticks.ts';

/** One line of a chart. */
export interface Series {
  name: string;
  points: readonly (readonly [x: number, y: number])[];
}

export interface Chart {
  title: string;
  x: string;
  y: string;
  /** Sizes that go by tens are shown so. */
  logX?: boolean;
  series: readonly Series[];
}

const WIDTH = 640;
const HEIGHT = 360;
const BOX = { left: 70, right: 20, top: 44, bottom: 48 };
/** Told apart without colour vision too, on light and dark pages. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];
/** With more points than this the dots would be all that is seen. */
const MOST_DOTS = 30;

type Place = (value: number) => number;

/** A line chart as an SVG document. */
export function svgOf({ title, x, y, logX = false, series }: Chart): string {
  const scaleX = logX ? Math.log10 : (value: number) => value;
  const all = series.flatMap(({ points }) => points);
  const xs = all.map(([value]) => scaleX(value));
  const [least, greatest] = [Math.min(...xs), Math.max(...xs)];
  const top = niceTop(Math.max(...all.map(([, value]) => value)));
  const atX: Place = (value) =>
    BOX.left + ((scaleX(value) - least) / (greatest - least || 1)) * (WIDTH - BOX.left - BOX.right);
  const atY: Place = (value) => HEIGHT - BOX.bottom - (value / top) * (HEIGHT - BOX.top - BOX.bottom);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const value = top * share;
    return `<path class="grid" d="M${BOX.left} ${atY(value)}H${WIDTH - BOX.right}"/>${label(BOX.left - 6, atY(value) + 4, short(value), 'end')}`;
  });
  const ticks = ticksOf(
    all.map(([value]) => value),
    logX,
  ).map((value) => label(atX(value), HEIGHT - BOX.bottom + 18, short(value), 'middle'));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12">
<style>svg{background:#fff}text{fill:#333}.grid{stroke:#ddd}</style>
<text x="${BOX.left}" y="22" font-size="15" font-weight="600">${title}</text>
${grid.join('\n')}
${ticks.join('\n')}
${linesOf(series, atX, atY)}
${label(WIDTH / 2, HEIGHT - 8, x, 'middle')}
<text x="16" y="${HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 ${HEIGHT / 2})">${y}</text>
</svg>
`;
}

/** The lines, with dots where there is room for them and, where there are several, their names above. */
function linesOf(series: readonly Series[], atX: Place, atY: Place): string {
  let legendX = BOX.left;
  return series
    .map(({ name, points }, n) => {
      const colour = COLOURS[n % COLOURS.length] ?? '#000';
      const path = points.map(([px, py]) => `${atX(px).toFixed(1)},${atY(py).toFixed(1)}`).join(' ');
      const dots = points.map(
        ([px, py]) => `<circle cx="${atX(px).toFixed(1)}" cy="${atY(py).toFixed(1)}" r="3.5" fill="${colour}"/>`,
      );
      const legend = series.length === 1 ? '' : legendAt(legendX, name, colour);
      legendX += legendWidth(name);
      const width = points.length > MOST_DOTS ? 1.5 : 2;
      return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="${width}"/>${points.length > MOST_DOTS ? '' : dots.join('')}${legend}`;
    })
    .join('\n');
}

const legendAt = (x: number, name: string, colour: string): string =>
  `<path d="M${x} 34h14" stroke="${colour}" stroke-width="3"/><text x="${x + 19}" y="38">${name}</text>`;

/** Letters of this size are seldom wider than 7; too much room does no harm. */
const legendWidth = (name: string): number => 19 + name.length * 7 + 14;

const label = (x: number, y: number, text: string, anchor: 'middle' | 'end'): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${text}</text>`;

/** 1, 2 or 5 times a power of ten, at or above the value. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

function short(value: number): string {
  if (value >= 1_000_000) return `${Number((value / 1_000_000).toPrecision(3))}M`;
  if (value >= 10_000) return `${Number((value / 1_000).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}
