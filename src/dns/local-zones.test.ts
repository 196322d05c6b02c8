import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { askedRecords } from "../rules/dns-records.ts";
import { judgeRecord } from "../rules/record-judge.ts";
import { createAuthoritative } from "./authoritative.ts";
import { type Authority, createAuthority } from "./authority.ts";
import { createDomainCheck } from "./domain-check.ts";
import { isReserved, localZones, type PublishedZone, publishedRecords } from "./local-zones.ts";
import { createResolver } from "./resolver.ts";
import type { ServerAddress } from "./servers.ts";
import { serviceZone } from "./zone.ts";

const zone = "mail.posthorn.test";
const asked = askedRecords({ domain: "news.shop.example", token: "tok", zone });
const published = new Map<string, PublishedZone>();
let authority: Authority;
let at: ServerAddress;

before(async () => {
  const input = { zone, hostname: `mx.${zone}`, publicIps: ["127.0.0.1"], serial: 1 };
  const findZone = localZones({
    service: serviceZone(input, () => undefined),
    published: async (origins) => origins.map((origin) => published.get(origin)).find((found) => found !== undefined),
    serial: 1,
    nameServers: [`ns1.${zone}`],
  });
  authority = createAuthority({ host: "127.0.0.1", port: 0, findZone });
  at = await authority.start();
});
after(() => authority.stop());

test("unpublished is absent, published is found, at once and without any other server", async () => {
  const resolver = createResolver({ servers: [], routes: (name) => (isReserved(name) ? [at] : []) });
  const authoritative = createAuthoritative({
    resolver,
    allowAddress: () => false,
    known: (name) => (isReserved(name) ? [at] : undefined),
  });
  const check = createDomainCheck({ resolver, authoritative });
  const statuses = async () => {
    const findings = await check(asked);
    return asked.map((record) => judgeRecord(record, findings.get(record.key) ?? assert.fail()).status);
  };
  assert.deepEqual(
    await statuses(),
    asked.map(() => "missing"),
  );
  published.set("news.shop.example", { origin: "news.shop.example", records: publishedRecords(asked) });
  assert.deepEqual(
    await statuses(),
    asked.map(() => "found"),
  );
});

test("published records survive being stored as JSON", () => {
  const records = publishedRecords(asked);
  assert.deepEqual(JSON.parse(JSON.stringify(records)), records);
});

test("only reserved names are ours to serve", async () => {
  for (const name of ["a.test", "b.example", "www.example.com", "localhost"]) assert.ok(isReserved(name), name);
  for (const name of ["posthorn.dev", "example.de", "nottest"]) assert.ok(!isReserved(name), name);
  const refused = await createResolver({ servers: [at] }).lookup("posthorn.dev", "A");
  assert.deepEqual(refused, { kind: "servfail", reason: "refused" });
});
