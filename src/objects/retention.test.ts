import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeUuid } from "../postgres/ids.ts";
import { partitionOf } from "../postgres/partitions.ts";
import { forgetDroppedObjects } from "./retention.ts";
import { dayMs } from "./rules/name.ts";
import { type ContentKind, listObjectDays } from "./store/objects.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

async function addObject(content: ContentKind, day: string): Promise<void> {
  const [id, workspaceId, ownerId] = [makeUuid(Date.now()), makeUuid(Date.now()), makeUuid(Date.now())];
  await database.sql`
    insert into content_objects (workspace_id, owner_id, part, content, id, line, day, bytes, key_sealed)
    values (${workspaceId}, ${ownerId}, 0, ${content}, ${id}, 'aaaaaaaaaaaa', ${day}::date, 1, '')`;
}

test("objects stay as long as the partition of their day, on every day of a week", async () => {
  const { startMs, endMs } = partitionOf("inbound_contents", Date.now());
  const days: string[] = [];
  for (let ms = startMs; ms < endMs; ms += dayMs) days.push(new Date(ms).toISOString().slice(0, 10));
  assert.equal(days.length, 7);
  const today = new Date().toISOString().slice(0, 10);
  for (const day of days) await addObject("inbound", day);
  await addObject("emails", today);
  assert.equal(await forgetDroppedObjects(database.sql), 0);
  assert.deepEqual(await listObjectDays(database.sql, "inbound"), days);
  for (const content of ["emails", "inbound"] as const) await addObject(content, "2020-01-02");
  assert.equal(await forgetDroppedObjects(database.sql), 2);
  assert.deepEqual(await listObjectDays(database.sql, "emails"), [today]);
});
