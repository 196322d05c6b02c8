import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addDomain, deleteDomain } from "./domains.ts";
import {
  addLink,
  findSharedDomain,
  forgetExpiredLinks,
  listLinks,
  maxLinksPerDomain,
  noteView,
  revokeLink,
} from "./links.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function share(domain: string, days = 7) {
  const { sql } = database;
  const added = newDomain(await makeBareWorkspace(sql), domain);
  await addDomain(sql, added);
  const at = { workspaceId: added.workspaceId, domainId: added.id };
  const link = await addLink(sql, { ...at, id: makeUuid(Date.now()), tokenHash: `hash of ${domain}`, days });
  if (!link || link === "full") return assert.fail();
  return { ...at, link };
}

const list = (at: { workspaceId: string; domainId: string }) =>
  listLinks(database.sql, { ...at, before: undefined, limit: 10 });

test("a link shows its domain until it expires, and expired links are forgotten", async () => {
  const { sql } = database;
  const at = await share("open.test", 3);
  assert.equal((await findSharedDomain(sql, "hash of open.test"))?.row.domain, "open.test");
  assert.equal(at.link.expiresAt.getTime() - at.link.createdAt.getTime(), 3 * 86_400_000);
  await noteView(sql, "hash of open.test");
  const [seen] = await list(at);
  assert.ok(seen?.lastViewedAt);
  await noteView(sql, "hash of open.test");
  assert.deepEqual((await list(at))[0]?.lastViewedAt, seen.lastViewedAt, "at most once a minute");
  await sql`update domain_links set service_expires_at = service_time()`;
  assert.equal(await findSharedDomain(sql, "hash of open.test"), undefined);
  assert.deepEqual(await list(at), []);
  assert.equal(await forgetExpiredLinks(sql), 1);
});

test("a revoked link and a link of a deleted domain show nothing", async () => {
  const { sql } = database;
  const { workspaceId, link } = await share("revoked.test");
  const stranger = await makeBareWorkspace(sql);
  assert.equal(await revokeLink(sql, { workspaceId: stranger, id: link.id }), undefined, "not for another workspace");
  assert.equal((await revokeLink(sql, { workspaceId, id: link.id }))?.id, link.id);
  assert.equal(await findSharedDomain(sql, "hash of revoked.test"), undefined);
  const gone = await share("gone.test");
  await deleteDomain(sql, gone.workspaceId, gone.domainId);
  assert.equal(await findSharedDomain(sql, "hash of gone.test"), undefined);
  assert.equal((await sql`select 1 from domain_links where domain_id = ${gone.domainId}`).length, 0);
});

test("a domain has a limited number of links, and only its own workspace adds them", async () => {
  const { sql } = database;
  const { workspaceId, domainId } = await share("many.test");
  const add = (n: number, workspace = workspaceId) =>
    addLink(sql, { workspaceId: workspace, domainId, id: makeUuid(Date.now()), tokenHash: `many ${n}`, days: 1 });
  for (let n = 1; n < maxLinksPerDomain; n++) assert.notEqual(await add(n), "full");
  assert.equal(await add(99), "full");
  assert.equal(await add(100, await makeBareWorkspace(sql)), undefined);
});
