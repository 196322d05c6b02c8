import assert from "node:assert/strict";
import { test } from "node:test";
import { addCounts, addEvents, type Counts, type EventGroup, keepLargest, noCounts, otherSites } from "./stats.ts";

const group = (type: string, extra: Partial<EventGroup> = {}): EventGroup => ({
  ...{ type, remoteMx: null, timeBucket: null, recipients: 1 },
  ...extra,
});
const delivered = (count: number): Counts => ({ ...noCounts(), delivered: count });

test("an event counts by its type, in all and at the site of its server", () => {
  let hour = { all: noCounts(), sites: new Map<string, Counts>() };
  const mx = "ASPMX.L.GOOGLE.COM.";
  hour = addEvents(hour, group("email.delivered", { remoteMx: mx, timeBucket: 2, recipients: 3 }));
  hour = addEvents(hour, group("email.bounced", { remoteMx: "alt1.aspmx.l.google.com", recipients: 2 }));
  hour = addEvents(hour, group("email.delayed", { remoteMx: "" }));
  hour = addEvents(hour, group("email.complained"));
  for (const type of ["email.replied", "email.received", "domain.updated", "email.emails", "email.accepted"])
    hour = addEvents(hour, group(type));
  assert.deepEqual(hour.all, { ...noCounts(), delivered: 3, bounced: 2, delayed: 1, complained: 1, times: [0, 0, 3] });
  assert.deepEqual([...hour.sites], [["google.com", { ...noCounts(), delivered: 3, bounced: 2, times: [0, 0, 3] }]]);
});

test("the largest sites keep their names, the rest is added up and nothing is lost", () => {
  const sites = new Map([
    ["small.test", delivered(1)],
    ["large.test", delivered(9)],
    [otherSites, delivered(50)],
    ["tiny.test", delivered(1)],
    ["middle.test", { ...noCounts(), delayed: 4 }],
  ]);
  const kept = keepLargest(sites, 2);
  assert.deepEqual([...kept.keys()], ["large.test", "middle.test", otherSites]);
  assert.equal(kept.get(otherSites)!.delivered, 52);
  assert.deepEqual([...kept.values()].reduce(addCounts), [...sites.values()].reduce(addCounts));
  assert.deepEqual([...keepLargest(kept, 2).keys()], [...kept.keys()], "once more changes nothing");
  assert.deepEqual([...keepLargest(new Map([["a.test", delivered(1)]])).keys()], ["a.test"]);
});
