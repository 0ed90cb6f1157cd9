/** Draws how much there was over time; loaded only where a chart is shown. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  label: string;
  values: number[];
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Returns how to remove it. */
export function draw(place: HTMLElement, times: number[], series: Series[]): () => void {
  const colours = ["--accent", "--second", "--third"].map(colour);
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: 180,
      cursor: { drag: { x: false, y: false } },
      scales: { y: { range: (_plot, _low, high) => [0, Math.max(high, 4)] } },
      axes: [axis, { ...axis, size: 44 }],
      series: [{}, ...series.map((each, at) => ({
        label: each.label, stroke: colours[at], width: 1.500, points: { show: false },
        fill: at === 0 ? `${colours[at]}22` : undefined,
        paths: uPlot.paths.stepped!({ align: 1 }),
      }))],
    },
    [times, ...series.map((each) => each.values)] as uPlot.AlignedData,
    place,
  );
  const watch = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 180 }));
  watch.observe(place);
  return () => {
    watch.disconnect();
    plot.destroy();
  };
}
