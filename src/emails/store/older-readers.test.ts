import assert from "node:assert/strict";
import { test } from "node:test";
import { readMigrations } from "../../postgres/migration-files.ts";
import { objectsSince } from "./older-readers.ts";

test("content goes to object storage only when every program has the schema for it", async () => {
  const last = (await readMigrations()).find(({ name }) => name.endsWith("_inbound_objects.sql"));
  assert.equal(objectsSince, last?.version);
});
