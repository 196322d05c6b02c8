import assert from "node:assert/strict";
import { test } from "node:test";
import { backfillLine, lineOf } from "./migrate.ts";

test("each step of a migration is one line", () => {
  const migration = "0007_a.sql";
  const index = "emails_p1_a";
  const blocker = { pid: 7, application: "report", state: "active", openForMs: 61_400, query: "select 1" };
  assert.deepEqual(
    [
      lineOf({ kind: "applied", migration, tookMs: 12 }),
      lineOf({ kind: "index", migration, index, table: "emails_p1", step: 2, of: 9 }),
      lineOf({ kind: "building", migration, index, phase: "building index: scanning table", percent: 40 }),
      lineOf({ kind: "building", migration, index, phase: "waiting for old snapshots", percent: undefined }),
      lineOf({ kind: "queued", migration }),
      lineOf({ kind: "waiting", migration, tables: ["emails"], blocker }),
      lineOf({ kind: "waiting", migration, tables: ["emails"], blocker: undefined }),
    ],
    [
      "0007_a.sql: applied in 12 ms",
      "0007_a.sql: building emails_p1_a on emails_p1 (2 of 9)",
      "0007_a.sql: emails_p1_a: building index: scanning table, 40 %",
      "0007_a.sql: emails_p1_a: waiting for old snapshots",
      "0007_a.sql: another node builds this index; waiting for it",
      "0007_a.sql: waiting for a lock on emails: session 7 (report, active) has been in a transaction for 61 s: select 1",
      "0007_a.sql: waiting for a lock on emails",
    ],
  );
});

test("an outstanding backfill says how far it is and what it waits for", () => {
  const state = { name: "outcomes", rows: 500, finished: false };
  assert.equal(
    backfillLine({ ...state, waitsFor: [] }),
    "Backfill outcomes is outstanding: 500 rows done; nodes with the role housekeeping go on with it.",
  );
  assert.equal(
    backfillLine({ ...state, waitsFor: [{ host: "b", pid: 9, schemaVersion: 1 }] }),
    "Backfill outcomes is outstanding: 500 rows done; waits until the nodes with an older program are upgraded: b (process 9).",
  );
});
