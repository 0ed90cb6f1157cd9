/** Draws how much there was over time; loaded only where a chart is shown. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  label: string;
  values: number[];
}

export interface ChartOptions {
  /** Square roots: one day with very much leaves the others visible. */
  roots?: boolean;
  /** The numbers below are days, not times. */
  days?: boolean;
  /** The curve is smooth, and its values are between 0 and 1. */
  share?: boolean;
  /** What a time begins; a day unless said otherwise. */
  unit?: string;
}

const MOST_TICKS = 4;

/** Whole numbers that lie evenly on a scale of square roots. */
function rootTicks(high: number): number[] {
  const ticks = Array.from({ length: MOST_TICKS + 1 }, (_, at) => {
    const exact = high * (at / MOST_TICKS) ** 2;
    const unit = 10 ** Math.max(0, Math.floor(Math.log10(exact || 1)) - (exact >= 100 ? 1 : 0));
    return Math.round(exact / unit) * unit;
  });
  return [...new Set(ticks)];
}

const DAY = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });
const ROOTS: uPlot.Axis = {
  splits: (_plot, _axis, _low, high) => rootTicks(high),
  filter: (_plot, splits) => splits,
  values: (_plot, splits) => splits.map((each) => each.toLocaleString("en")),
};

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A step goes to the next time: without one more, the last would have no width. */
function withLastStep(times: number[], series: Series[]): number[][] {
  if (!times.length) return [times, ...series.map((each) => each.values)];
  const last = times.at(-1)!;
  const step = times.length > 1 ? last - times.at(-2)! : 86_400;
  return [[...times, last + step], ...series.map((each) => [...each.values, each.values.at(-1) ?? 0])];
}

/** Returns how to remove it. */
export function draw(place: HTMLElement, times: number[], series: Series[], options: ChartOptions): () => void {
  const colours = ["--accent", "--second", "--third"].map(colour);
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: 180,
      cursor: { drag: { x: false, y: false } },
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "UTC"),
      scales: {
        x: { time: !options.days },
        y: {
          range: (_plot, _low, high) => [0, options.share ? 1 : Math.max(high, 4)],
          ...(options.roots ? { distr: 100, fwd: Math.sqrt, bwd: (value: number) => value * value } : {}),
        },
      },
      axes: [
        options.days ? axis : { ...axis, values: (_plot, at) => at.map((each) => DAY.format(each * 1000)) },
        { ...axis, size: 52, ...(options.roots ? ROOTS : {}) },
      ],
      series: [options.days ? { label: "days" } : { label: options.unit && options.unit !== "day" ? `${options.unit} from` : "day", value: (_plot, at) => (at === null ? "--" : DAY.format(at * 1000)) }, ...series.map((each, at) => ({
        label: each.label, stroke: colours[at], width: 1.500, points: { show: false },
        fill: at === 0 ? `${colours[at]}22` : undefined,
        paths: options.share ? uPlot.paths.linear!() : uPlot.paths.stepped!({ align: 1 }),
      }))],
    },
    (options.share ? [times, ...series.map((each) => each.values)] : withLastStep(times, series)) as uPlot.AlignedData,
    place,
  );
  place.dataset.drawn = String(times.length);
  const watch = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 180 }));
  watch.observe(place);
  return () => {
    watch.disconnect();
    plot.destroy();
  };
}
