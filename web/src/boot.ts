/** The first script, and the smallest: the browser paints the frame of index.html before it reads the rest of the page. */
import "./style.css";

const way = location.hash.slice(1);
const [, , view = ""] = way.split("?")[0]!.split("/");
const shell = document.getElementById("shell")!;
if (view && view !== "search") shell.querySelector("main")!.hidden = true;

/** Who uses the page, asked while the rest is loaded; null where a link signs in first. */
export const firstSession = new URLSearchParams(way).has("login")
  ? null
  : fetch("/session", { headers: { "x-nacre-page": "1" } }).catch(() => null);

function load(): void {
  void import("./main");
}

if (document.hidden) load(); // nothing would be painted
else requestAnimationFrame(() => setTimeout(load));
