/** The journey of a DKIM key that a customer brings: import, DNS, signing, fallback, export and removal, and who may do what. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { signDkim } from "../../src/mail/dkim.ts";
import { domainOf, recordsOf, type WireDomain, type WireRecord } from "../harness/domain-answers.ts";
import { locate, pathOf } from "../harness/foreign.ts";
import { openBrowser, signUpFirst } from "../harness/people.ts";
import { type Answer, runCommand } from "../harness/program.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

type WireKey = {
  id: string;
  selector: string;
  bits: number;
  primes: number;
  imported: boolean;
  signing: boolean;
  status: string;
  portable: boolean;
  createdAt: string;
  lastSignedAt?: string;
  signsFrom?: string;
  record?: WireRecord;
  note: string;
};

/** A key that the openssl program makes; on a machine without it, one that Node makes. */
function makePem(bits: number, type: "pkcs1" | "pkcs8" = "pkcs8"): string {
  if (!locate("openssl"))
    return generateKeyPairSync("rsa", { modulusLength: bits }).privateKey.export({ type, format: "pem" }).toString();
  const openssl = (args: string[], input?: string) =>
    execFileSync(pathOf("openssl"), args, { input, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"] });
  const made = openssl(["genpkey", "-algorithm", "RSA", "-pkeyopt", `rsa_keygen_bits:${bits}`]);
  return type === "pkcs1" ? openssl(["rsa", "-traditional"], made) : made;
}

const spkiOf = (pem: string) => createPublicKey(pem).export({ type: "spki", format: "der" }).toString("base64");

function publish(testbed: Testbed, { records }: Pick<WireDomain, "records">): void {
  for (const { type, name, value, priority } of recordsOf({ records } as WireDomain)) {
    if (type === "TXT") testbed.dns.setText(name, ...(value.match(/.{1,255}/g) ?? []));
    else testbed.dns.set(name, type as "CNAME", type === "MX" ? `${priority} ${value}` : value);
  }
}

const publishKey = (testbed: Testbed, { name, value }: WireRecord) =>
  testbed.dns.setText(name, ...(value.match(/.{1,255}/g) ?? []));

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_VERIFY_INTERVAL_MS: "0", POSTHORN_DKIM_PRIMES: "2" } });
});
after(async () => await testbed?.stop());

async function ok(method: string, request: object, key?: string): Promise<Answer["body"]> {
  const { status, body } = await testbed.call(`DomainService/${method}`, request, key ? { key } : {});
  assert.equal(status, 200, `${method}: ${JSON.stringify(body)}`);
  return body;
}
const keysOf = async (id: string) => (await ok("GetDkimKeys", { id })).keys as WireKey[];
const short = (keys: readonly WireKey[]) =>
  keys.map((key) => [key.selector, key.status.replace("RECORD_STATUS_", ""), key.signing]);

async function readyDomain(domain: string): Promise<WireDomain> {
  const added = domainOf(await testbed.call("DomainService/AddDomain", { domain }));
  publish(testbed, added);
  const verified = domainOf(await testbed.call("DomainService/VerifyDomain", { id: added.id }));
  assert.equal(verified.status, "DOMAIN_STATUS_READY", JSON.stringify(verified.summary));
  return verified;
}

let sent = 0;
/** Sends an email and returns the message that the receiver got. */
async function sendFrom(domain: string): Promise<Buffer> {
  const to = `n${sent++}@there.test`;
  const { status, body } = await testbed.send({ from: `news@${domain}`, to: [to] });
  assert.deepEqual([status, body.status], [200, "EMAIL_STATUS_SENT"], JSON.stringify(body));
  return testbed.sink.received(to)[0]!.data;
}
const selectorIn = (message: Buffer) => /^DKIM-Signature:[\s\S]*?\bs=([^;]+);/m.exec(message.toString("latin1"))?.[1];

/** Nodes cache the key of a domain for some seconds. */
const untilSigns = (domain: string, selector: string) =>
  until(`${selector} to sign`, async () => {
    const message = await sendFrom(domain);
    return selectorIn(message) === selector ? message : undefined;
  });

async function verdictOf(message: Buffer, name: string, record: string): Promise<string> {
  const resolver = async (query: string, type: string): Promise<string[][]> => {
    if (query === name && type === "TXT") return [[record]];
    throw Object.assign(new Error(`no ${type} at ${query}`), { code: "ENOTFOUND" });
  };
  const { results } = (await dkimVerify(message, { resolver })) as { results: { status: { result: string } }[] };
  return results.map(({ status }) => status.result).join();
}

describe("a key that a customer brings", () => {
  const pem = makePem(2048, "pkcs1");
  let domain: WireDomain;
  let key: WireKey;
  const verify = async () => domainOf(await testbed.call("DomainService/VerifyDomain", { id: domain.id }));
  const events = async () =>
    (await testbed.events())
      .filter(({ event }) => event.type === "domain.updated")
      .map(({ event }) => event.domainUpdated as { domain: string; message: string; canSend: boolean })
      .filter((one) => one.domain === domain.domain);

  before(async () => {
    domain = await readyDomain("shop.test");
  });

  it("is stored with the record to publish, and does not sign before the record exists", async () => {
    const { key: imported, message } = await ok("ImportDkimKey", {
      id: domain.id,
      selector: "S1.Mail",
      privateKeyPem: pem,
    });
    key = imported as WireKey;
    assert.deepEqual(
      [key.selector, key.bits, key.primes, key.imported, key.signing, key.status, key.portable, key.note],
      ["s1.mail", 2048, 2, true, false, "RECORD_STATUS_PENDING", true, ""],
    );
    const record = key.record ?? assert.fail();
    assert.deepEqual(
      [record.type, record.name, record.value, record.nameInZone],
      ["TXT", "s1.mail._domainkey.shop.test", `v=DKIM1; k=rsa; p=${spkiOf(pem)}`, "s1.mail._domainkey"],
    );
    assert.match(String(message), /Publish the TXT record s1\.mail\._domainkey\.shop\.test/);
    const verified = await verify();
    assert.deepEqual([verified.status, verified.summary.canSend], ["DOMAIN_STATUS_READY", true]);
    assert.equal(recordsOf(verified).length, 7, "the domain's own records stay the same");
    assert.deepEqual(short(await keysOf(domain.id)), [
      ["s1.mail", "MISSING", false],
      ["ph1", "FOUND", true],
      ["ph2", "FOUND", false],
    ]);
    assert.equal(selectorIn(await sendFrom("shop.test")), "ph1");
  });

  it("does not sign while the name holds another key", async () => {
    testbed.dns.setText(key.record!.name, `v=DKIM1; p=${spkiOf(makePem(1024))}`);
    await verify();
    const [first] = await keysOf(domain.id);
    assert.deepEqual([first!.status, first!.signing], ["RECORD_STATUS_MISMATCH", false]);
    assert.match(first!.record!.problem, /different DKIM key/);
    assert.match(first!.record!.instructions, /Replace the current value: v=DKIM1/);
  });

  it("is in the zone file and on the shared page", async () => {
    const { content } = await ok("GetZoneFile", { id: domain.id });
    assert.match(
      String(content),
      /Replace the existing record with:\n; s1\.mail\._domainkey\.shop\.test\.\t60\tIN\tTXT/,
    );
    const { url } = await ok("CreateDomainLink", { id: domain.id });
    const token = new URL(String(url), testbed.program.url).hash.slice(1);
    const shown = await openBrowser(testbed.program).post("/shared/domain", { token });
    const records = shown.body.importedKeyRecords as WireRecord[];
    assert.deepEqual(
      records.map(({ name, status }) => [name, status]),
      [["s1.mail._domainkey.shop.test", "RECORD_STATUS_MISMATCH"]],
    );
  });

  it("signs once a check finds the record behind a CNAME, and a foreign verifier accepts the signature", async () => {
    testbed.dns.remove(key.record!.name);
    testbed.dns.set(key.record!.name, "CNAME", "keys.elsewhere.test");
    testbed.dns.setText("keys.elsewhere.test", ...(key.record!.value.match(/.{1,255}/g) ?? []));
    await verify();
    assert.deepEqual(short(await keysOf(domain.id)), [
      ["s1.mail", "FOUND", true],
      ["ph1", "FOUND", false],
      ["ph2", "FOUND", false],
    ]);
    const message = await untilSigns("shop.test", "s1.mail");
    assert.equal(await verdictOf(message, key.record!.name, key.record!.value), "pass");
    assert.match(
      (await events()).at(-1)!.message,
      /^The record of the imported DKIM key s1\.mail was found, and the key signs\./,
    );
    await until("the time of the signature", async () => (await keysOf(domain.id))[0]!.lastSignedAt);
  });

  it("is left alone by a rotation, which says so", async () => {
    const { message } = await ok("RotateDkim", { id: domain.id });
    assert.match(String(message), /The imported key s1\.mail keeps signing/);
    const keys = await keysOf(domain.id);
    assert.deepEqual(
      keys.map(({ selector, signing, signsFrom }) => [selector, signing, signsFrom !== undefined]),
      [
        ["s1.mail", true, false],
        ["ph2", false, true],
        ["ph1", false, false],
      ],
    );
  });

  it("keeps signing while DNS does not answer, and gives way to ph1 when the record is gone", async () => {
    testbed.dns.behave(key.record!.name, "servfail");
    await verify();
    assert.deepEqual(short(await keysOf(domain.id))[0], ["s1.mail", "FOUND", true]);
    testbed.dns.behave(key.record!.name, undefined);
    testbed.dns.remove(key.record!.name);
    const verified = await verify();
    assert.deepEqual([verified.status, verified.summary.canSend], ["DOMAIN_STATUS_READY", true]);
    assert.deepEqual(short(await keysOf(domain.id))[0], ["s1.mail", "MISSING", false]);
    assert.match(
      (await events()).at(-1)!.message,
      /^The record of the imported DKIM key s1\.mail is gone, and the key no longer signs\./,
    );
    await untilSigns("shop.test", "ph1");
  });

  it("is looked for again in the background, without a call", async () => {
    publishKey(testbed, key.record!);
    await testbed.database.sql`update domains set next_check_at = service_time() where domain = 'shop.test'`;
    await until("a background check", async () => (await keysOf(domain.id))[0]!.signing);
    const [row] = await testbed.database.sql<{ hours: number }[]>`
      select extract(epoch from next_check_at - service_time())::float8 / 3600 as hours from domains where domain = 'shop.test'`;
    assert.ok(row!.hours > 5, "a ready domain with all keys found is checked every six hours");
  });

  it("is deleted by RemoveDkimKey, and the keys of the service cannot be removed", async () => {
    const [, own] = await keysOf(domain.id);
    const refused = await testbed.call("DomainService/RemoveDkimKey", { id: own!.id });
    assert.equal(refused.body.code, "failed_precondition");
    assert.match(String(refused.body.message), /RotateDkim/);
    const { message } = await ok("RemoveDkimKey", { id: key.id });
    assert.match(String(message), /Keep its TXT record in DNS for 7 days/);
    assert.equal((await testbed.database.sql`select 1 from imported_dkim_keys where selector = 's1.mail'`).length, 0);
    assert.equal((await testbed.call("DomainService/RemoveDkimKey", { id: key.id })).body.code, "not_found");
    await untilSigns("shop.test", "ph1");
  });

  it("leaves its private key neither in the log nor in the audit log", async () => {
    const secret = pem.split("\n").filter((line) => /^[A-Za-z0-9+/]{60,}$/.test(line));
    assert.ok(secret.length > 10);
    const dump = JSON.stringify([
      await testbed.database.sql`select * from audit_entries`,
      await testbed.database.sql`select * from idempotency`,
      await testbed.database.sql`select * from events`,
      await testbed.database.sql`select * from published_zones`,
    ]);
    for (const line of secret) assert.ok(!testbed.program.output().includes(line) && !dump.includes(line));
  });
});

describe("an import", () => {
  let domain: WireDomain;
  const good = makePem(2048);
  before(async () => {
    domain = await readyDomain("import.test");
  });
  const problemOf = async (request: object) => {
    const { body } = await testbed.call("DomainService/ImportDkimKey", {
      id: domain.id,
      selector: "s1",
      privateKeyPem: good,
      ...request,
    });
    return [body.code, String(body.message)] as const;
  };

  it("is refused with the field and the fix, all fields at once, and never repeats the key", async () => {
    const { body } = await testbed.call("DomainService/ImportDkimKey", {});
    assert.equal(body.code, "invalid_argument");
    for (const field of ["id: is required", "selector: is required", "privateKeyPem: is required"])
      assert.match(String(body.message), new RegExp(field));
    for (const [selector, expected] of [
      ["ph1", /selector of the keys that this service makes/],
      ["PH2", /selector of the keys that this service makes/],
      ["a..b", /empty label/],
      ["a b", /letters, digits and hyphens/],
      ["a_b", /letters, digits and hyphens/],
      ["-a", /hyphen/],
      ["ü", /letters, digits and hyphens/],
      ["a".repeat(64), /at most 63/],
      [Array(5).fill("a".repeat(60)).join("."), /is too long/],
      ["s\r\nBcc: x", /letters, digits and hyphens/],
    ] as const) {
      const [code, message] = await problemOf({ selector });
      assert.equal(code, "invalid_argument", message);
      assert.match(message, expected);
    }
    const broken = good.replace(/\n[A-Za-z0-9+/]{8}/, "\nAAAAAAAA");
    const [code, message] = await problemOf({ privateKeyPem: broken });
    assert.equal(code, "invalid_argument");
    for (const line of good.split("\n").filter((one) => one.length > 40)) assert.ok(!message.includes(line));
    assert.deepEqual((await keysOf(domain.id)).length, 2, "a refused request leaves nothing behind");
  });

  it("warns about a small key, and limits the keys of a domain, also for imports at the same time", async () => {
    const { key } = await ok("ImportDkimKey", { id: domain.id, selector: "small", privateKeyPem: makePem(1024) });
    assert.match((key as WireKey).note, /1024 bits.*RFC 8301 advises 2048/);
    const [code, message] = await problemOf({ selector: "small" });
    assert.deepEqual([code, /RemoveDkimKey/.test(message)], ["already_exists", true]);
    const answers = await Promise.all(
      ["a", "b", "c", "d"].map((selector) =>
        testbed.call("DomainService/ImportDkimKey", { id: domain.id, selector, privateKeyPem: good }),
      ),
    );
    assert.deepEqual(answers.map(({ status, body }) => (status === 200 ? "ok" : body.code)).sort(), [
      "ok",
      "ok",
      "resource_exhausted",
      "resource_exhausted",
    ]);
    assert.equal((await keysOf(domain.id)).filter(({ imported }) => imported).length, 3);
  });

  it("gives no control of a domain: a workspace that holds the key of another one can neither send nor receive with it", async () => {
    const { key: imported } = await ok("ImportDkimKey", {
      id: (await readyDomain("victim.test")).id,
      selector: "s1",
      privateKeyPem: good,
    });
    publishKey(testbed, (imported as WireKey).record!);
    const thief = await makeWorkspace(testbed.database.sql, "Thief");
    const stolen = (await ok("AddDomain", { domain: "victim.test" }, thief)).domain as WireDomain;
    await ok("ImportDkimKey", { id: stolen.id, selector: "s1", privateKeyPem: good }, thief);
    const { domain: checked } = (await ok("VerifyDomain", { id: stolen.id }, thief)) as unknown as {
      domain: WireDomain;
    };
    const { keys } = (await ok("GetDkimKeys", { id: stolen.id }, thief)) as unknown as { keys: WireKey[] };
    assert.equal(keys[0]!.status, "RECORD_STATUS_FOUND", "the record is in DNS");
    assert.deepEqual([checked.summary.canSend, checked.summary.canReceive], [false, false]);
    const { body } = await testbed.call(
      "EmailService/SendEmail",
      { from: "a@victim.test", to: ["b@there.test"], subject: "x", body: "x" },
      { key: thief },
    );
    assert.equal(body.code, "failed_precondition");
    for (const method of ["GetDkimKeys", "VerifyDomain"])
      assert.equal((await testbed.call(`DomainService/${method}`, { id: stolen.id })).body.code, "not_found");
    assert.equal((await testbed.call("DomainService/RemoveDkimKey", { id: keys[0]!.id })).body.code, "not_found");
  });
});

describe("an export", () => {
  it("is for a signed-in owner who has just proved who they are; keys and others get permission_denied", async () => {
    const domain = await readyDomain("export.test");
    const [own] = await keysOf(domain.id);
    const byKey = await testbed.call("DomainService/ExportDkimKey", { id: own!.id });
    assert.equal(byKey.body.code, "permission_denied");
    assert.match(String(byKey.body.message), /signed in to the dashboard/);

    const owner = await signUpFirst(testbed.program);
    const asOwner = (method: string, request: object) =>
      owner.browser.rpc(`DomainService/${method}`, request, owner.workspace);
    const exported = await asOwner("ExportDkimKey", { id: own!.id });
    assert.equal(exported.status, 200, JSON.stringify(exported.body));
    const { privateKeyPem, message, key } = exported.body as unknown as {
      privateKeyPem: string;
      message: string;
      key: WireKey;
    };
    assert.deepEqual([key.primes, key.portable, key.selector], [2, true, "ph1"]);
    assert.match(message, /store it like a password/);
    const entry = await owner.browser.rpc("AuditService/ListAuditEntries", {}, owner.workspace);
    const [latest] = entry.body.data as { action: string; targetId: string }[];
    assert.deepEqual([latest!.action, latest!.targetId], ["domain.dkim_key_exported", domain.id]);

    // What the exported key signs, receivers verify with the record that our DNS serves.
    const [{ publicKey }] = (await testbed.database.sql<{ publicKey: string }[]>`
      select public_key as "publicKey" from dkim_keys where id = ${own!.id.slice(3)}`) as [{ publicKey: string }];
    const raw = Buffer.from(
      "From: a@export.test\r\nSubject: x\r\nDate: Sun, 04 Jan 2026 10:00:00 +0000\r\n\r\nHello\r\n",
    );
    const identity = { domain: "export.test", selector: "ph1", signedAt: new Date() };
    const field = await signDkim(raw, identity, createPrivateKey(privateKeyPem));
    const signed = Buffer.concat([Buffer.from(field), raw]);
    assert.equal(await verdictOf(signed, "ph1._domainkey.export.test", `v=DKIM1; k=rsa; p=${publicKey}`), "pass");

    await testbed.database.sql`update people_sessions set proved_at = proved_at - interval '16 minutes'`;
    const stale = await asOwner("ExportDkimKey", { id: own!.id });
    assert.equal(stale.body.code, "failed_precondition", JSON.stringify(stale.body));
    await testbed.database.sql`update people_sessions set proved_at = service_time()`;
    await testbed.database.sql`update members set role = 'developer'`;
    assert.equal((await asOwner("ExportDkimKey", { id: own!.id })).body.code, "permission_denied");
    await testbed.database.sql`update members set role = 'owner'`;
    await asOwner("DeleteDomain", { id: domain.id });
    assert.equal((await asOwner("ExportDkimKey", { id: own!.id })).body.code, "not_found");
  });

  it("says of a key with three primes that others cannot import it, and openssl reads both kinds", async () => {
    const pems = new Map<number, string>();
    for (const primes of [2, 3]) {
      const env = { POSTHORN_DKIM_PRIMES: String(primes) };
      const node = await testbed.startNode(env);
      const name = `primes${primes}.test`;
      const added = domainOf(await node.call("DomainService/AddDomain", { domain: name }));
      const [key] = await keysOf(added.id);
      assert.deepEqual([key!.primes, key!.portable], [primes, primes === 2]);
      const file = join(node.dataDir, `${primes}.pem`);
      const done = await runCommand(["domains", "export-key", name, key!.selector, "--output", file], {
        dataDir: node.dataDir,
        databaseUrl: testbed.database.url,
        env,
      });
      assert.equal(done.code, 0, done.stderr);
      assert.equal(/POSTHORN_DKIM_PRIMES=2/.test(done.stderr + done.stdout), primes === 3, done.stderr + done.stdout);
      pems.set(primes, await readFile(file, "utf8"));
      assert.equal((await stat(file)).mode & 0o777, 0o600);
    }
    for (const [primes, pem] of locate("openssl") ? pems : []) {
      const text = execFileSync(pathOf("openssl"), ["rsa", "-check", "-noout", "-text"], {
        input: pem,
        encoding: "utf8",
      });
      assert.match(text, new RegExp(`2048 bit, ${primes} primes`));
      assert.match(text, /RSA key ok/);
    }
  });
});
