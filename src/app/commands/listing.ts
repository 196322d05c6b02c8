/** Lists of the API: reads pages up to a limit and prints them as a table for people, or as one JSON object per line for programs. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Problem } from "../../ops/problem.ts";
import { type Option, UsageError } from "../command.ts";
import { type Cell, fittedTable, jsonLine, table, write } from "../output.ts";
import type { Api } from "./api-client.ts";
import { readCount } from "./read-options.ts";

const shownByDefault = 50;
const pageSize = 100;
/** Rows that are aligned together, so that a list of any length needs little memory. */
const alignedRows = 500;

export const listOptions = {
  limit: { type: "string", help: "how many entries at most", value: String(shownByDefault) },
  all: { type: "boolean", help: "all entries, page by page" },
  json: { type: "boolean", help: "one JSON object per line, as in the API" },
} satisfies Record<string, Option>;

export type Column<Row> = {
  head: string;
  of(row: Row): Cell /** May be shortened to the terminal's width. */;
  cut?: true;
};

export type List<Row> = {
  method: string;
  request: JsonObject;
  columns: readonly Column<Row>[];
  /** Printed instead of an empty table: what will be here, and how to get the first one. */
  empty: string;
};

type Options = Record<string, string | boolean | undefined>;

/** Called before the API is opened, so that a mistake is reported at once. */
export function limitOf(options: Options): number {
  const limit = readCount("limit", options.limit);
  if (limit !== undefined && options.all) throw new UsageError("Use either --limit or --all, not both.");
  return options.all ? Number.POSITIVE_INFINITY : (limit ?? shownByDefault);
}

export async function printList<Row extends object>(api: Api, options: Options, list: List<Row>): Promise<void> {
  const limit = limitOf(options);
  let count = 0;
  let rows: Row[] = [];
  const flush = async () => {
    if (rows.length > 0) await write(show(list.columns, rows, count === rows.length));
    rows = [];
  };
  let more = false;
  for await (const row of pages<Row>(api, list.method, list.request, limit, () => {
    more = true;
  })) {
    count += 1;
    if (options.json) await write(jsonLine(row));
    else if (rows.push(row) === alignedRows) await flush();
  }
  if (!options.json) await flush();
  if (count === 0 && !options.json) await write(`${list.empty}\n`);
  if (more && options.limit === undefined)
    process.stderr.write(`There are more than ${count}. For all of them: --all\n`);
}

function show<Row>(columns: readonly Column<Row>[], rows: readonly Row[], withHead: boolean): string {
  const cells = rows.map((row) => columns.map((column) => column.of(row)));
  const cut = columns.flatMap((column, i) => (column.cut ? [i] : []));
  return fittedTable(withHead ? [columns.map(({ head }) => head), ...cells] : cells, cut);
}

/** The rows of a paged method, up to the limit. Calls `onMore` if the limit left some out. */
export async function* pages<Row>(
  api: Api,
  method: string,
  request: JsonObject,
  limit = Number.POSITIVE_INFINITY,
  onMore: () => void = () => {},
): AsyncGenerator<Row> {
  let left = limit;
  for (let pageToken = ""; ; ) {
    const size = Math.min(pageSize, left);
    const page = await api.call<Page<Row>>(method, { ...request, pageSize: size, pageToken });
    const data = page.data ?? [];
    yield* data.slice(0, size);
    left -= data.length;
    const next = page.nextPageToken ?? "";
    if (next === "") return;
    if (left <= 0) return onMore();
    if (next === pageToken) throw new Problem("internal", `${method} returned the same page twice.`);
    pageToken = next;
  }
}

type Page<Row> = { data?: Row[]; nextPageToken?: string };

/** `2026-11-18T11:24:00.123Z` without the fraction. */
export function timeText(text: string | undefined): string {
  return text?.replace(/\.\d+Z$/, "Z") ?? "";
}

/** A constant of the API in words: EMAIL_STATUS_SENT is `sent`. A constant of a newer version is shown as it is. */
export function constantText(value: string | undefined, prefix: string): string {
  if (value === undefined || value === `${prefix}UNSPECIFIED`) return "";
  return value.startsWith(prefix) ? value.slice(prefix.length).toLowerCase().replaceAll("_", " ") : value;
}

/** An object for people: one line for each field that has a value. */
export function fieldsText(fields: readonly (readonly [name: string, value: Cell])[]): string {
  const present = fields.filter(([, value]) => (typeof value === "object" ? value.text : (value ?? "")) !== "");
  return table(present, "");
}
