/** How far a job of the server is. */
import { number } from "../parts";
import type { Job } from "../types";

export function Progress({ of, label }: { of: Job<unknown>; label: string }) {
  return (
    <div class="progress" role="status">
      <span>{label}: {of.what || "working"}{of.total > 0 && `, ${number(of.done)} of ${number(of.total)}`}…</span>
      {of.total > 0 ? <progress max={of.total} value={of.done} aria-label={label} /> : <progress aria-label={label} />}
    </div>
  );
}
