import assert from "node:assert/strict";
import { test } from "node:test";
import { isStale, misplacedNames, nextCheckAt } from "./check-plan.ts";
import { expectedRecords } from "./records.ts";

const now = new Date("2026-01-01T00:00:00Z");
const minutes = (count: number): Date => new Date(now.getTime() + count * 60_000);

test("background checks back off to one hour, and run every six hours once the domain is ready", () => {
  const due = (status: string, checksInStatus: number, jitter = 0.5) =>
    nextCheckAt({ status, checksInStatus, now, jitter });
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 100].map((count) => due("pending", count)),
    [5, 5, 10, 20, 40, 60, 60].map(minutes),
  );
  assert.deepEqual(due("failed", 9), minutes(60));
  assert.deepEqual(due("ready", 1), minutes(360));
  assert.deepEqual([due("pending", 1, 0), due("pending", 1, 1)], [minutes(4.5), minutes(5.5)]);
});

test("a status is stale after five minutes; without a check, the age counts from the registration", () => {
  assert.ok(!isStale({ checkedAt: minutes(-5), registeredAt: minutes(-60) }, now));
  assert.ok(isStale({ checkedAt: minutes(-5.1), registeredAt: minutes(-60) }, now));
  assert.ok(!isStale({ checkedAt: null, registeredAt: minutes(-1) }, now));
  assert.ok(isStale({ checkedAt: null, registeredAt: minutes(-6) }, now));
});

test("a misplaced record has the provider's zone appended, or lacks the labels between the domain and the zone", () => {
  const records = expectedRecords({ domain: "news.shop.example", token: "t", zone: "mail.test" });
  assert.deepEqual(
    records.map((record) => misplacedNames(record)),
    [
      ["ph1._domainkey.news.shop.example.shop.example", "ph1._domainkey.shop.example"],
      ["ph2._domainkey.news.shop.example.shop.example", "ph2._domainkey.shop.example"],
      ["news.shop.example.shop.example"],
      ["_dmarc.news.shop.example.shop.example"],
      ["news.shop.example.shop.example"],
      ["bounce.news.shop.example.shop.example"],
      ["bounce.news.shop.example.shop.example"],
    ],
  );
  const own = expectedRecords({ domain: "shop.example", token: "t", zone: "mail.test" });
  assert.deepEqual(misplacedNames(own[0]!), ["ph1._domainkey.shop.example.shop.example"]);
  assert.deepEqual(misplacedNames(own[2]!), []);
});
