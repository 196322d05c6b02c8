import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createAuthoritative } from "../dns/authoritative.ts";
import { type Authority, createAuthority } from "../dns/authority.ts";
import { createResolver } from "../dns/resolver.ts";
import type { ServerAddress } from "../dns/servers.ts";
import { createDomainCheck } from "./check.ts";
import { isReserved, localZones, type PublishedZone, publishedRecords } from "./publish.ts";
import { judgeRecord } from "./rules/judge.ts";
import { expectedRecords } from "./rules/records.ts";
import { serviceZone } from "./service-zone.ts";

const zone = "mail.posthorn.test";
const expected = expectedRecords({ domain: "news.shop.example", token: "tok", zone });
const published = new Map<string, PublishedZone>();
let authority: Authority;
let at: ServerAddress;

before(async () => {
  const input = { zone, hostname: `mx.${zone}`, publicIps: ["127.0.0.1"], serial: 1 };
  const findZone = localZones({
    service: serviceZone(input, { dkimKey: () => undefined, isReported: () => undefined }),
    published: async (origins) => origins.map((origin) => published.get(origin)).find((found) => found !== undefined),
    serial: 1,
    nameServers: [`ns1.${zone}`],
  });
  authority = createAuthority({ host: "127.0.0.1", port: 0, findZone });
  at = await authority.start();
});
after(() => authority.stop());

test("records are missing before they are published and found right after, without any other DNS server", async () => {
  const resolver = createResolver({ servers: [], routes: (name) => (isReserved(name) ? [at] : []) });
  const authoritative = createAuthoritative({
    resolver,
    allowAddress: () => false,
    knownServers: (name) => (isReserved(name) ? [at] : undefined),
  });
  const check = createDomainCheck({ resolver, authoritative });
  const statuses = async () => {
    const { records: findings } = await check(expected);
    return expected.map((record) => judgeRecord(record, findings.get(record.key) ?? assert.fail()).status);
  };
  assert.deepEqual(
    await statuses(),
    expected.map(() => "missing"),
  );
  published.set("news.shop.example", { origin: "news.shop.example", records: publishedRecords(expected) });
  assert.deepEqual(
    await statuses(),
    expected.map(() => "found"),
  );
});

test("published records are unchanged after a round trip through JSON", () => {
  const records = publishedRecords(expected);
  assert.deepEqual(JSON.parse(JSON.stringify(records)), records);
});

test("the local DNS answers only for reserved names and refuses others", async () => {
  for (const name of ["a.test", "b.example", "www.example.com", "localhost"]) assert.ok(isReserved(name), name);
  for (const name of ["posthorn.dev", "example.de", "nottest"]) assert.ok(!isReserved(name), name);
  const refused = await createResolver({ servers: [at] }).lookup("posthorn.dev", "A");
  assert.deepEqual(refused, { kind: "servfail", reason: "refused" });
});
