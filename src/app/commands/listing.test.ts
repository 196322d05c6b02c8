import assert from "node:assert/strict";
import { test } from "node:test";
import type { Api } from "./api-client.ts";
import { constantText, fieldsText, limitOf, pages, timeText } from "./listing.ts";

/** An API whose pages have these numbers of rows, and how it is called. */
function paged(sizes: number[]) {
  const calls: { pageSize: number; pageToken: string }[] = [];
  const call = async (_method: string, request: object) => {
    const asked = request as { pageSize: number; pageToken: string };
    calls.push(asked);
    const page = Number(asked.pageToken || 0);
    const data = Array.from({ length: Math.min(sizes[page]!, asked.pageSize) }, (_, i) => `${page}.${i}`);
    return { data, nextPageToken: page + 1 < sizes.length ? String(page + 1) : "" };
  };
  return { api: { call } as unknown as Api, calls };
}

async function read(sizes: number[], limit?: number) {
  const { api, calls } = paged(sizes);
  let more = false;
  const rows: string[] = [];
  for await (const row of pages<string>(api, "A/B", {}, limit, () => (more = true))) rows.push(row);
  return { rows: rows.length, more, asked: calls.map(({ pageSize }) => pageSize) };
}

test("pages are read up to the limit, also across empty ones", async () => {
  assert.deepEqual(await read([3]), { rows: 3, more: false, asked: [100] });
  assert.deepEqual(await read([100, 0, 7]), { rows: 107, more: false, asked: [100, 100, 100] });
  assert.deepEqual(await read([100, 100, 7], 150), { rows: 150, more: true, asked: [100, 50] });
  assert.deepEqual(await read([0, 5], 5), { rows: 5, more: false, asked: [5, 5] });
  assert.deepEqual(await read([5, 5], 5), { rows: 5, more: true, asked: [5] });
});

test("a server that repeats a page does not keep the command running", async () => {
  const api = { call: async () => ({ data: ["x"], nextPageToken: "same" }) } as unknown as Api;
  await assert.rejects(async () => {
    for await (const _ of pages(api, "A/B", {}));
  }, /returned the same page twice/);
});

test("limits, times and constants", () => {
  assert.deepEqual([limitOf({}), limitOf({ limit: "3" }), limitOf({ all: true })], [50, 3, Number.POSITIVE_INFINITY]);
  assert.throws(() => limitOf({ all: true, limit: "3" }), /either --limit or --all/);
  assert.deepEqual([timeText("2026-11-18T11:24:00.123Z"), timeText(undefined)], ["2026-11-18T11:24:00Z", ""]);
  assert.deepEqual(
    ["A_B_SIX_HOURS", "A_B_UNSPECIFIED", undefined, "NEW_KIND"].map((value) => constantText(value, "A_B_")),
    ["six hours", "", "", "NEW_KIND"],
  );
  assert.equal(
    fieldsText([
      ["Id", "1"],
      ["None", ""],
      ["Gone", undefined],
      ["Long name", "x\ny"],
    ]),
    "Id         1\nLong name  x\\ny\n",
  );
});
