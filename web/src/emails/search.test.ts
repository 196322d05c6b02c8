/** The filters of the log in the URL, as a request and as text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { EmailOutcome } from "../../../src/gen/v1/email_pb.ts";
import { hasFilters, noFilters, periodText, rangeOf, readEmailSearch, toRequest } from "./search.ts";

const now = new Date("2026-06-15T12:00:00Z");

test("a URL becomes a request, and unknown parameters have no effect", () => {
  const search = readEmailSearch({
    ...{ q: "ann", outcome: "bounced,complained,nonsense", domain: "a.test", sender: "key_1", since: "day" },
    ...{ destination: "b.test", site: "google.com", open: "yes" },
    ...{ key: "order", value: 4711, other: "x" },
  });
  const { createdAfter, createdBefore, ...rest } = toRequest(search, now);
  assert.deepEqual(rest, {
    search: "ann",
    outcomes: [EmailOutcome.BOUNCED, EmailOutcome.COMPLAINED],
    domain: "a.test",
    destination: "b.test",
    site: "google.com",
    open: true,
    keyId: "key_1",
    metadataKey: "order",
    metadataValue: "4711",
  });
  assert.equal(timestampDate(createdAfter!).toISOString(), "2026-06-14T12:00:00.000Z");
  assert.equal(createdBefore, undefined);
});

test("a metadata value without its key is not sent: the server would reject it", () => {
  assert.equal(toRequest({ value: "4711" }, now).metadataValue, "");
});

test("filters without an effect are dropped", () => {
  for (const [raw, search] of [
    [{ since: "constructor" }, {}],
    [{ since: "year", from: "2026-06-01" }, { from: "2026-06-01" }],
    [{ since: "week" }, { since: "week" }],
    [{ outcome: "bounce" }, {}],
    [{ outcome: "bounce,sent" }, { outcome: "sent" }],
    [{ value: "4711" }, {}],
    [
      { key: "order", value: "4711" },
      { key: "order", value: "4711" },
    ],
    [{ key: "order" }, { key: "order" }],
  ] as const)
    assert.deepEqual(readEmailSearch(raw), search);
});

test("days include their last moment, and times are exact", () => {
  const day = rangeOf({ from: "2026-06-01", until: "2026-06-01" }, now);
  assert.equal(day.createdBefore!.getTime() - day.createdAfter!.getTime(), 86_400_000);
  assert.equal(day.createdAfter!.getHours(), 0, "a day of the person's calendar");
  const times = rangeOf({ from: "2026-06-01T10:00:00Z", until: "2026-06-01T11:00:00Z" }, now);
  assert.deepEqual(times, {
    createdAfter: new Date("2026-06-01T10:00:00Z"),
    createdBefore: new Date("2026-06-01T11:00:00Z"),
  });
  assert.deepEqual(rangeOf({ from: "yesterday", until: "" }, now), {
    createdAfter: undefined,
    createdBefore: undefined,
  });
});

test("the period has a short text", () => {
  for (const [search, text] of [
    [{}, "Any time"],
    [{ since: "week" }, "Last 7 days"],
    [{ since: "week", from: "2026-06-01" }, "Last 7 days"],
    [{ from: "2026-06-01" }, "Since 1 Jun 2026"],
    [{ until: "2026-06-01" }, "Until 1 Jun 2026"],
    [{ from: "2026-06-01", until: "2026-06-03" }, "1 Jun 2026 – 3 Jun 2026"],
    [{ from: "2026-06-01", until: "2026-06-01" }, "1 Jun 2026"],
    [{ from: "nonsense" }, "Any time"],
  ] as const)
    assert.equal(periodText(search), text);
});

test("clearing the filters leaves none", () => {
  assert.equal(hasFilters(readEmailSearch({ ...noFilters })), false);
  assert.equal(hasFilters(readEmailSearch({ from: "2026-06-01" })), true);
});
