import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { addDomain, deleteDomain } from "./domains.ts";
import { findPublishedZone, publishZone } from "./published-zones.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const text = (name: string, value: string) => ({ name, ttl: 60, type: "TXT" as const, strings: [value] });

async function publish(origin: string, value: string) {
  const domain = newDomain(await makeBareWorkspace(database.sql), origin);
  await addDomain(database.sql, domain);
  const zone = { origin, workspaceId: domain.workspaceId, domainId: domain.id, records: [text(origin, value)] };
  const again = async (takeOver: boolean) => await publishZone(database.sql, zone, { takeOver });
  return { ...domain, ...(await again(true)), again };
}

const closest = async (name: string) => {
  const labels = name.split(".");
  return await findPublishedZone(
    database.sql,
    labels.map((_, i) => labels.slice(i).join(".")),
  );
};

test("the closest published zone answers, with its records unchanged", async () => {
  await publish("shop.test", "outer");
  await publish("eu.shop.test", "inner");
  assert.deepEqual(await closest("_dmarc.shop.test"), { origin: "shop.test", records: [text("shop.test", "outer")] });
  assert.equal((await closest("_dmarc.eu.shop.test"))?.origin, "eu.shop.test");
  assert.equal(await closest("other.test"), undefined);
});

test("the last publisher of a name is served, and its records disappear when its domain is deleted", async () => {
  const first = await publish("taken.test", "first");
  assert.equal(first.replaced, false);
  assert.equal((await first.again(true))?.replaced, false);
  const second = await publish("taken.test", "second");
  assert.equal(second.replaced, true);
  assert.equal((await second.again(false))?.replaced, false);
  assert.equal(await first.again(false), undefined, "the records of another workspace are not replaced");
  await deleteDomain(database.sql, first.workspaceId, first.id);
  assert.deepEqual((await closest("taken.test"))?.records, [text("taken.test", "second")]);
  await deleteDomain(database.sql, second.workspaceId, second.id);
  assert.equal(await closest("taken.test"), undefined);
});
