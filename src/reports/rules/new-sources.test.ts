import assert from "node:assert/strict";
import { test } from "node:test";
import type { DmarcRow } from "../../mail/reports/dmarc-aggregate.ts";
import { noMessages } from "./counts.ts";
import { failingSources, sourceEvents } from "./new-sources.ts";

const row = (ip: string, headerFrom: string, counts: Partial<DmarcRow["counts"]>): DmarcRow => ({
  ip,
  headerFrom,
  counts: { ...noMessages, ...counts },
  dkimDomains: [],
  spfDomains: [`bounce.${headerFrom}`],
  overrides: [],
});
const about = { domainId: "dom_1", domain: "example.com", reporter: "r.example", organization: "R", reportId: "1" };

const rows = [
  row("192.0.2.1", "example.com", { messages: 10, aligned: 10, delivered: 10 }),
  row("192.0.2.2", "example.com", { messages: 4, aligned: 1, delivered: 1, rejected: 3 }),
  row("192.0.2.2", "news.example.com", { messages: 5, quarantined: 5 }),
  row("192.0.2.3", "example.com", { messages: 1, delivered: 1 }),
  row("", "", { messages: 100, delivered: 100 }),
];

test("sources with failing mail, the largest first", () => {
  assert.deepEqual(
    failingSources(rows).map(({ ip, failed, row: { headerFrom } }) => [ip, failed, headerFrom]),
    [
      ["192.0.2.2", 8, "news.example.com"],
      ["192.0.2.3", 1, "example.com"],
    ],
  );
});

test("events are limited, and the last one counts the rest", () => {
  const sources = failingSources(rows);
  const [one, ...others] = sourceEvents(sources, 1, about, (ip) => ip === "192.0.2.2");
  assert.deepEqual(others, []);
  assert.deepEqual(one, {
    ...about,
    ip: "192.0.2.2",
    own: true,
    headerFrom: "news.example.com",
    messages: 8,
    dkimDomains: [],
    spfDomains: ["bounce.news.example.com"],
    disposition: "quarantined",
    moreSources: 1,
  });
  assert.deepEqual(
    sourceEvents(sources, 3, about, () => false).map(({ moreSources }) => moreSources),
    [0, 0],
  );
  assert.deepEqual(
    sourceEvents(sources, 0, about, () => false),
    [],
  );
});
