import assert from "node:assert/strict";
import { test } from "node:test";
import { lineOf } from "./with-store.ts";

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
      "0007_a.sql: waiting for another node that applies it",
      "0007_a.sql: waiting for a lock on emails: session 7 (report, active) has been in a transaction for 61 s: select 1",
      "0007_a.sql: waiting for a lock on emails",
    ],
  );
});
