import assert from "node:assert/strict";
import { test } from "node:test";
import type { DmarcRow } from "../../mail/reports/dmarc-aggregate.ts";
import { noMessages } from "./counts.ts";
import { domainLimit, reporterLimit, rowsLeft, unauthenticatedLimit, withinRows } from "./limits.ts";

const row = (ip: string, messages: number): DmarcRow => ({
  ip,
  headerFrom: ip === "" ? "" : "example.com",
  counts: { ...noMessages, messages },
  dkimDomains: ["a.example"],
  spfDomains: [],
  overrides: [],
});
const used = (newRows: number) => ({ reports: 0, newRows, events: 0 });

test("stored rows stay, the largest new ones are added, and the rest is counted together", () => {
  const input = [row("192.0.2.1", 1), row("192.0.2.2", 5), row("192.0.2.3", 3), row("192.0.2.4", 2), row("", 7)];
  const { rows, added } = withinRows(input, ({ ip }) => ip === "192.0.2.1", 1);
  assert.equal(added, 1);
  assert.deepEqual(rows.map(({ ip, counts }) => [ip, counts.messages]).sort(), [
    ["", 12],
    ["192.0.2.1", 1],
    ["192.0.2.2", 5],
  ]);
  assert.equal(input[4]!.counts.messages, 7, "the input is not changed");
});

test("a reporter has its own limit within that of the domain", () => {
  assert.equal(rowsLeft("a.example", { reporter: used(0), domain: used(0) }), reporterLimit.newRows);
  assert.equal(rowsLeft("a.example", { reporter: used(0), domain: used(domainLimit.newRows - 3) }), 3);
  assert.equal(rowsLeft("a.example", { reporter: used(reporterLimit.newRows + 1), domain: used(0) }), 0);
  assert.equal(rowsLeft("", { reporter: used(0), domain: used(0) }), unauthenticatedLimit.newRows);
});
