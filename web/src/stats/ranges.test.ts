import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { bucketName, rangeOf, ranges, requestOf } from "./ranges.ts";

const now = Date.parse("2026-03-08T10:20:30Z");

test("each range has complete buckets, ends with the current one, and stays the same until the next bucket starts", () => {
  const requests = ranges.map((range) => {
    const { from, to } = requestOf(range, now);
    assert.deepEqual(requestOf(range, now + 60_000), { from, to, bucket: range.bucket });
    const buckets = (timestampMs(to) - timestampMs(from)) / (range.bucketHours * 3_600_000);
    return [range.id, timestampDate(from).toISOString(), timestampDate(to).toISOString(), buckets];
  });
  assert.deepEqual(requests, [
    ["24h", "2026-03-07T11:00:00.000Z", "2026-03-08T11:00:00.000Z", 24],
    ["7d", "2026-03-01T12:00:00.000Z", "2026-03-08T12:00:00.000Z", 28],
    ["30d", "2026-02-07T00:00:00.000Z", "2026-03-09T00:00:00.000Z", 30],
  ]);
});

test("an unknown range falls back to the first, and days are named in UTC", () => {
  assert.equal(rangeOf("a year").id, "24h");
  assert.equal(bucketName(requestOf(rangeOf("30d"), now).from, rangeOf("30d")), "7 Feb");
});
