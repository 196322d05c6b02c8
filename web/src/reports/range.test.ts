import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { dayName, dayOf, periodText, rangeOf, ranges, readReportSearch, requestOf, spanOf } from "./range.ts";

const now = Date.parse("2026-03-08T10:20:30Z");

test("each range has complete days, ends with today, and stays the same until the day ends", () => {
  const requests = ranges.map((range) => {
    const { from, to } = requestOf(range, now);
    assert.deepEqual(requestOf(range, now + 3_600_000), { from, to });
    return [range.id, timestampDate(from).toISOString(), timestampDate(to).toISOString()];
  });
  assert.deepEqual(requests, [
    ["30d", "2026-02-07T00:00:00.000Z", "2026-03-09T00:00:00.000Z"],
    ["90d", "2025-12-09T00:00:00.000Z", "2026-03-09T00:00:00.000Z"],
  ]);
  assert.equal(rangeOf("a year").id, "30d");
});

test("a day of the URL is a range, and a day that does not exist is ignored", () => {
  const { from, to } = spanOf("2026-02-28")!;
  assert.deepEqual([dayOf(from), dayOf(to)], ["2026-02-28", "2026-03-01"]);
  for (const day of ["2026-02-30", "yesterday", "2026-2-3", "9999-99-99", "", "2026-02-28T00:00:00Z"])
    assert.equal(spanOf(day), undefined, day);
  const search = { range: "90d", day: "2026-02-28", show: "failing" };
  assert.deepEqual(readReportSearch({ ...search, other: "x" }), search);
  assert.deepEqual(readReportSearch({ day: "2026-02-30", show: "failing" }), { show: "failing" });
});

test("days are named in UTC, with the year if it is another one", () => {
  assert.equal(dayName(spanOf("2026-03-01")!.from, now), "1 Mar");
  assert.equal(dayName(spanOf("2025-12-31")!.from, now), "31 Dec 2025");
});

test("a period of a day has its name, any other its start and end", () => {
  const period = (begin: string, end: string) =>
    periodText(timestampFromDate(new Date(begin)), timestampFromDate(new Date(end)), now);
  assert.equal(period("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"), "1 Mar");
  assert.equal(period("2026-03-01T00:00:00Z", "2026-03-01T23:59:59Z"), "1 Mar");
  assert.equal(period("2026-03-01T08:00:00Z", "2026-03-02T08:00:00Z"), "2026-03-01 08:00 to 2026-03-02 08:00 UTC");
  assert.equal(period("2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z"), "2026-03-01 00:00 to 2026-03-01 01:00 UTC");
});
