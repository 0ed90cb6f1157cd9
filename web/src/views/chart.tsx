/** A chart, drawn by a library that is loaded when the first one is shown. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ChartOptions, Series } from "../chart";
import { ErrorNote } from "../parts";

interface Drawn extends ChartOptions {
  times: number[];
  series: Series[];
  label: string;
}

export function Chart({ times, series, label, ...options }: Drawn) {
  const place = useRef<HTMLDivElement>(null);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    let remove = () => {};
    let gone = false;
    import("../chart").then(
      ({ draw }) => {
        if (!gone && place.current) remove = draw(place.current, times, series, options);
      },
      (failed) => (error.value = failed),
    );
    return () => {
      gone = true;
      remove();
    };
  }, [JSON.stringify(times), JSON.stringify(series)]);
  if (error.value) return <ErrorNote error={error.value} />;
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}
