/** Talks to the server that sent this page, and to nothing else. */

import type { Operation } from "./types";

/** An answer that says no, in one sentence with its remedy. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly remedy: string,
    /** Which error it is, as the server calls it, and the operations that stand in the way of an undo. */
    readonly kind = "",
    readonly later: Operation[] = [],
  ) {
    super(remedy ? `${detail} ${remedy}` : detail);
  }
}

export interface Answer<T> {
  value: T;
  /** The id of the operation that the request wrote; empty where it wrote none. */
  operation: string;
}

export type Values = Record<string, string | number | boolean | readonly string[] | null | undefined>;

interface Options {
  query?: Values;
  body?: unknown;
  version?: number;
  signal?: AbortSignal;
}

const OWN_PAGE = { "x-nacre-page": "1" };

export function path(parts: TemplateStringsArray, ...names: string[]): string {
  return parts.reduce((text, part, at) => text + encodeURIComponent(names[at - 1] ?? "") + part);
}

function withQuery(address: string, values: Values = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  }
  return query.size ? `${address}${address.includes("?") ? "&" : "?"}${query}` : address;
}

const kindOf = (type: string | undefined) => type?.split(":").at(-1) ?? "";

async function problemOf(answer: Response): Promise<Problem> {
  try {
    const about = await answer.json();
    return new Problem(answer.status, about.title ?? "", about.detail ?? "", about.remedy ?? "", kindOf(about.type), about.facts?.later ?? []);
  } catch {
    return new Problem(answer.status, "", `The server answered with ${answer.status}.`, "Try again in a moment.");
  }
}

export async function send<T>(verb: string, address: string, options: Options = {}): Promise<Answer<T>> {
  const headers: Record<string, string> = { ...OWN_PAGE };
  let body: BodyInit | undefined;
  if (options.body instanceof Blob) body = options.body;
  else if (options.body !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(options.body);
  }
  if (options.version !== undefined) headers["if-match"] = `"${options.version}"`;
  let answer: Response;
  try {
    answer = await fetch(withQuery(address, options.query), { method: verb, headers, body, signal: options.signal });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "No connection", "The server does not answer.", "Start it again, or check the connection.");
  }
  if (!answer.ok) throw await problemOf(answer);
  const value = await answer.json();
  const wrapped = value !== null && typeof value === "object" && Object.keys(value).join() === "result";
  return { value: wrapped ? value.result : value, operation: answer.headers.get("nacre-operation") ?? "" };
}

export async function get<T>(address: string, query?: Values, signal?: AbortSignal): Promise<T> {
  return (await send<T>("GET", address, { query, signal })).value;
}

/** A question that is too long or too private for an address. */
export async function ask<T>(address: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await send<T>("POST", address, { body, signal })).value;
}
