import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "../command.ts";
import { readChoice, readCount, readDuration, readMoment, readTime, readWords } from "./read-options.ts";

test("durations, days and moments are read, and nothing else", () => {
  assert.deepEqual([readDuration("90d"), readDuration("10s"), readDuration("0")], [90 * 86_400_000, 10_000, 0]);
  for (const text of ["", "d", "1w", "-1d", "1.5h", "9999999d"]) assert.equal(readDuration(text), undefined, text);
  assert.equal(readMoment("2026-11-01")?.toISOString(), "2026-11-01T00:00:00.000Z");
  assert.equal(readMoment("2026-11-01T12:00+01:00")?.toISOString(), "2026-11-01T11:00:00.000Z");
  for (const text of ["", "2026", "2026-11-01T12:00:00", "2026-13-01", "yesterday"])
    assert.equal(readMoment(text), undefined, text);
  const agoMs = Date.now() - Date.parse(readTime("after", "24h")!);
  assert.ok(Math.abs(agoMs - 86_400_000) < 60_000, String(agoMs));
  assert.throws(() => readTime("after", "soon"), /--after must be a day or a time .* not "soon"/);
});

test("choices become constants of the API", () => {
  assert.equal(readChoice("bucket", "six-hours", "B_", ["hour", "six-hours"]), "B_SIX_HOURS");
  assert.equal(readChoice("bucket", "SIX_HOURS", "B_", ["hour", "six-hours"]), "B_SIX_HOURS");
  assert.throws(
    () => readChoice("bucket", "week", "B_", ["hour", "day"]),
    /--bucket must be one of hour, day, not "week"/,
  );
});

test("counts and words are exact", () => {
  assert.deepEqual([readCount("limit", undefined), readCount("limit", "5")], [undefined, 5]);
  for (const value of ["0", "-1", "1.5", "x", "", "1e3"]) assert.throws(() => readCount("limit", value), UsageError);
  assert.deepEqual(readWords(["a"], ["an id"], "emails get em_…"), ["a"]);
  for (const words of [[], [""], ["a", "b"]])
    assert.throws(
      () => readWords(words, ["an id"], "emails get em_…"),
      /Give an id, for example: posthorn emails get em_…/,
    );
});
