import assert from "node:assert/strict";
import { test } from "node:test";
import { backfillLine } from "./migrate.ts";

test("the line of an outstanding backfill shows its progress and what it waits for", () => {
  const state = { name: "outcomes", rows: 500 };
  assert.equal(
    backfillLine({ ...state, waitsFor: [] }),
    "Backfill outcomes is outstanding: 500 rows done; nodes with the role housekeeping continue it.",
  );
  assert.equal(
    backfillLine({ ...state, waitsFor: [{ host: "b", pid: 9, schemaVersion: 1 }] }),
    "Backfill outcomes is outstanding: 500 rows done; waiting until the nodes with an older program are upgraded: b (process 9).",
  );
});
