import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeBareWorkspace } from "../../test/harness/mail.ts";
import { commandLine } from "../audit/record.ts";
import { createAuthoritative } from "../dns/authoritative.ts";
import { createAuthority } from "../dns/authority.ts";
import { createResolver } from "../dns/resolver.ts";
import { silentLog } from "../ops/log.ts";
import { createSecrets } from "../postgres/sealing.ts";
import { createDomainCheck } from "./check.ts";
import { createChecker } from "./checker.ts";
import { type ExampleDeps, ensureExampleDomain } from "./example.ts";
import { createKeyGate, createKeyMaker } from "./key-pair.ts";
import { localZones } from "./publish.ts";
import { createRegistrar } from "./register.ts";
import { createServedNames, nameServersOf, serviceZone } from "./service-zone.ts";
import { deleteDomain, findDomain } from "./store/domains.ts";
import { findPublishedZone } from "./store/published-zones.ts";

const zone = "mail.posthorn.test";
let database: TestDatabase;
/** How many of the next checks time out. */
let late = 0;
let stopDns: () => Promise<void>;
let deps: Omit<ExampleDeps, "workspaceId" | "local">;

before(async () => {
  database = await createTestDatabase();
  const { sql } = database;
  const input = { zone, hostname: `mail.${zone}`, publicIps: ["127.0.0.1"], serial: 1 };
  const findZone = localZones({
    service: serviceZone(input, createServedNames({ sql })),
    published: (origins) => findPublishedZone(sql, origins),
    serial: 1,
    nameServers: nameServersOf(input),
  });
  const authority = createAuthority({ host: "127.0.0.1", port: 0, findZone });
  stopDns = authority.stop;
  const servers = [await authority.start()];
  const resolver = createResolver({ servers });
  const authoritative = createAuthoritative({ resolver, allowAddress: () => false, knownServers: () => servers });
  const log = silentLog();
  const check = createDomainCheck({ resolver, authoritative });
  const lateCheck = createDomainCheck({ resolver, authoritative, timeoutMs: 0 });
  deps = {
    sql,
    log,
    zone,
    registrar: createRegistrar({
      sql,
      zone,
      region: "local",
      nowMs: Date.now,
      makeKeys: createKeyMaker({ gate: createKeyGate(), primes: 3 }),
      secrets: createSecrets("a secret of the example's tests"),
    }),
    checker: createChecker({
      sql,
      log,
      zone,
      verifyIntervalMs: 30_000,
      nowMs: Date.now,
      findZone: async () => undefined,
      check: (...args) => (late > 0 && late-- ? lateCheck : check)(...args),
    }),
  };
});
after(async () => {
  await stopDns();
  await database.drop();
});
beforeEach(() => database.sql`delete from settings where name = 'example_domain'`);

test("a new local instance can send from example.test at once, even if several nodes start together", async () => {
  const workspaceId = await makeBareWorkspace(database.sql);
  const names = await Promise.all([1, 2].map(() => ensureExampleDomain({ ...deps, workspaceId, local: true })));
  assert.deepEqual(new Set(names), new Set(["example.test"]));
  const row = await findDomain(database.sql, workspaceId, "example.test");
  assert.deepEqual([row?.status, row?.canReceive], ["ready", true]);
  const verified = await deps.checker.verify(workspaceId, row!.id);
  assert.equal(verified?.wasRefreshed, true, "the setup does not count as a call of VerifyDomain");

  assert.equal(await ensureExampleDomain({ ...deps, workspaceId, local: true }), "example.test");
  await deleteDomain(database.sql, workspaceId, row!.id);
  assert.equal(
    await ensureExampleDomain({ ...deps, workspaceId, local: true }),
    undefined,
    "a deleted example domain is not added again",
  );
});

test("an instance that is not local or already has a domain never gets the example domain", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  assert.equal(await ensureExampleDomain({ ...deps, workspaceId, local: false }), undefined);
  assert.equal(await ensureExampleDomain({ ...deps, workspaceId, local: true }), undefined);
  await sql`delete from settings where name = 'example_domain'`;
  await deps.registrar.register({ workspaceId, domain: "own.test", mailFromLabel: "", actor: commandLine });
  assert.equal(await ensureExampleDomain({ ...deps, workspaceId, local: true }), undefined);
  assert.equal(await findDomain(sql, workspaceId, "example.test"), undefined);
});

test("a failed check does not fail the start, and the next start checks the example domain", async () => {
  const workspaceId = await makeBareWorkspace(database.sql);
  const broken = { ...deps.checker, refresh: () => Promise.reject(new Error("broken")) };
  assert.equal(await ensureExampleDomain({ ...deps, checker: broken, workspaceId, local: true }), undefined);
  assert.equal(await ensureExampleDomain({ ...deps, workspaceId, local: true }), "example.test");
});

test("a check that times out is repeated", async () => {
  late = 2;
  const workspaceId = await makeBareWorkspace(database.sql);
  assert.equal(await ensureExampleDomain({ ...deps, workspaceId, local: true }), "example.test");
  assert.equal(late, 0);
  assert.equal((await findDomain(database.sql, workspaceId, "example.test"))?.status, "ready");
});
