/** Registering, publishing and verifying domains on one machine without internet access, through the command line and the API. */
import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { domainOf, statusesOf, type WireDomain } from "../harness/domain-answers.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { startTestbed } from "../harness/testbed.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url });
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

async function posthorn(line: string, env: Record<string, string> = {}) {
  return await runCommand(line.split(" "), { dataDir: program.dataDir, databaseUrl: database.url, env });
}

async function printed(line: string): Promise<string> {
  const { code, stdout, stderr } = await posthorn(line);
  assert.equal(code, 0, `posthorn ${line}: ${stderr}`);
  return stdout;
}

const json = async (line: string) => JSON.parse(await printed(`${line} --json`)) as WireDomain;

test("a new instance can send from example.test immediately", async () => {
  const { body } = await program.call("DomainService/ListDomains");
  const [example] = body.data as WireDomain[];
  assert.deepEqual([example?.domain, example?.status, body.total], ["example.test", "DOMAIN_STATUS_READY", 1]);
  assert.equal(statusesOf(example!), Array(7).fill("FOUND").join(" "));
  assert.match(program.output(), new RegExp(`DNS +127\\.0\\.0\\.1:${program.ports.dns}`));
  const events = await program.call("EmailService/ListEvents");
  assert.deepEqual(
    (events.body.data as { event: { type: string } }[]).map(({ event }) => event.type),
    ["domain.updated"],
  );
});

test("a reserved name goes from registration to READY on the command line, and the API agrees", async () => {
  const shown = await printed("domains add Shop.Example");
  assert.match(shown, /^shop\.example {2}PENDING {2}cannot send/);
  const added = await json("domains records shop.example");
  for (const { type, name, value } of [...added.records.dkimRecords, added.records.dmarcRecord])
    assert.match(shown, new RegExp(`^PENDING +required +${type} +${name} +${value}$`, "m"));
  assert.match(await printed("domains verify shop.example"), /^MISSING +required +CNAME/m);
  assert.match(await printed("dns publish shop.example"), /^Posthorn's own DNS now serves 8 records of shop\.example/);

  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${program.ports.dns}`]);
  assert.deepEqual(await resolver.resolveTxt("_dmarc.shop.example"), [[added.records.dmarcRecord.value]]);

  const verified = await json("domains verify shop.example");
  assert.equal(verified.status, "DOMAIN_STATUS_READY");
  const got = domainOf(await program.call("DomainService/GetDomain", { id: verified.id }));
  assert.deepEqual(got, verified, "the command line and the API return the same domain");
  assert.match(
    await printed("domains list"),
    new RegExp(`^${verified.id} +READY +yes +yes +\\S+ +shop\\.example$`, "m"),
  );
  const file = await printed("domains records shop.example --zone-file");
  assert.equal(file.match(/^\S+\.\t60\tIN\t(CNAME|TXT|MX)\t/gm)?.length, 8);
  const { body } = await program.call("DomainService/GetZoneFile", { id: verified.id });
  assert.deepEqual([body.fileName, body.content], ["shop.example.zone", file]);
});

test("a deleted domain and its published records are no longer found", async () => {
  assert.match(await printed("domains delete shop.example"), /^shop\.example deleted/);
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${program.ports.dns}`]);
  await assert.rejects(() => resolver.resolveTxt("_dmarc.shop.example"), { code: "ENOTFOUND" });
  assert.equal((await posthorn("domains records shop.example")).code, 2);
});

test("command line errors are one sentence without a stack trace", async () => {
  const stderrOf = async (line: string, env?: Record<string, string>) => {
    const { code, stderr } = await posthorn(line, env);
    assert.notEqual(code, 0, line);
    assert.doesNotMatch(stderr, /\n +at /, line);
    return stderr;
  };
  assert.match(await stderrOf("domains add co.uk"), /public suffix/);
  assert.match(await stderrOf("domains add example.test"), /example\.test is already registered/);
  assert.match(await stderrOf("domains verify nothing.test"), /no domain "nothing\.test"/);
  assert.equal((await program.call("DomainService/AddDomain", { domain: "real-shop.com" })).status, 200);
  assert.match(await stderrOf("dns publish real-shop.com"), /not a reserved name/);
  assert.match(await stderrOf("dns publish example.test", { POSTHORN_DELIVERY: "direct" }), /capture mode only/);
  assert.match(await stderrOf("domains zone", { POSTHORN_DELIVERY: "direct" }), /POSTHORN_PUBLIC_IPS/);
});

test("PublishToLocalDns publishes and verifies, except names of another workspace and names that are not reserved", async () => {
  const add = async (domain: string, key?: string) =>
    domainOf(await program.call("DomainService/AddDomain", { domain }, key === undefined ? {} : { key }));
  const publish = async ({ id }: WireDomain, key?: string) =>
    await program.call("DomainService/PublishToLocalDns", { id }, key === undefined ? {} : { key });
  const ours = await add("one-click.test");
  assert.equal((ours as WireDomain & { localDns: boolean }).localDns, true);
  for (let i = 0; i < 2; i++) assert.equal(domainOf(await publish(ours)).status, "DOMAIN_STATUS_READY");

  const theirKey = await makeWorkspace(database.sql, "Others");
  const theirs = await publish(await add("one-click.test", theirKey), theirKey);
  assert.equal(theirs.body.code, "failed_precondition");
  assert.match(String(theirs.body.message), /for another workspace/);
  const { body } = await program.call("DomainService/ListDomains", { pageSize: 100 });
  const shop = (body.data as (WireDomain & { localDns: boolean })[]).find(({ domain }) => domain === "real-shop.com")!;
  assert.equal(shop.localDns, false);
  assert.equal((await publish(shop)).body.code, "failed_precondition");
  await program.call("DomainService/DeleteDomain", { id: ours.id });
});

test("domains are listed in pages, and ids of another type are not found", async () => {
  for (const name of ["a.test", "b.test"]) await program.call("DomainService/AddDomain", { domain: name });
  const list = async (request: object) => {
    const { body } = await program.call("DomainService/ListDomains", request);
    return [(body.data as WireDomain[])?.map(({ domain }) => domain).join(" "), body.total];
  };
  assert.deepEqual(await list({}), ["b.test a.test real-shop.com example.test", 4]);
  assert.deepEqual(await list({ page: 1, pageSize: 3 }), ["b.test a.test real-shop.com", 4]);
  assert.deepEqual(await list({ page: 2, pageSize: 3 }), ["example.test", 4]);
  assert.deepEqual(await list({ page: 2_147_483_647, pageSize: 1000 }), ["", 4]);
  const refused = await program.call("DomainService/ListDomains", { page: -1, pageSize: -1 });
  assert.equal(refused.body.code, "invalid_argument");
  assert.match(String(refused.body.message), /pageSize: .*; page: /);
  for (const id of ["nonsense", "em_01938a4e-7d1c-7b52-9a3e-5f0c2d8e4b17"])
    assert.equal((await program.call("DomainService/GetDomain", { id })).body.code, "not_found");
});

test("outside capture mode, publishing to the local DNS is rejected and not offered", async (t) => {
  const testbed = await startTestbed();
  t.after(() => testbed.stop());
  const { body } = await testbed.call("DomainService/ListDomains", {});
  const [domain] = body.data as { id: string; localDns: boolean }[];
  assert.equal(domain!.localDns, false);
  const refused = await testbed.call("DomainService/PublishToLocalDns", { id: domain!.id });
  assert.equal(refused.body.code, "failed_precondition");
  assert.match(String(refused.body.message), /capture mode/);
});
