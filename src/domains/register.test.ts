import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeBareWorkspace } from "../../test/harness/mail.ts";
import { commandLine } from "../audit/record.ts";
import { Problem } from "../ops/problem.ts";
import { createSecrets } from "../postgres/sealing.ts";
import { createKeyGate, createKeyMaker } from "./key-pair.ts";
import { createRegistrar } from "./register.ts";
import { readPublicKeys } from "./store/dkim-keys.ts";
import { readSigning } from "./store/sending.ts";

const secrets = createSecrets("a secret of the registrar's tests");
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const registrarOf = () =>
  createRegistrar({
    sql: database.sql,
    secrets,
    nowMs: Date.now,
    makeKeys: createKeyMaker({ gate: createKeyGate(), primes: 3 }),
    zone: "mail.posthorn.test",
    region: "local",
  });

async function problemOf(request: { domain: string; mailFromLabel?: string }): Promise<Problem> {
  const workspaceId = await makeBareWorkspace(database.sql);
  try {
    await registrarOf().register({ workspaceId, mailFromLabel: "", actor: commandLine, ...request });
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return assert.fail(`${request.domain} was registered`);
}

test("a registration gets its own token and two DKIM key pairs whose private keys are stored sealed", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  let wrote = 0;
  const row = await registrarOf().register(
    { workspaceId, domain: " Bücher.Example. ", mailFromLabel: "Returns", actor: commandLine },
    () => wrote++,
  );
  assert.equal(wrote, 1);
  assert.deepEqual([row.domain, row.mailFromLabel, row.region], ["xn--bcher-kva.example", "returns", "local"]);
  assert.match(row.token, /^[a-z2-7]{20}$/);
  assert.match(row.note, /ph1\._domainkey/);
  const publicKeys = await readPublicKeys(sql, workspaceId, row.id);
  const signing = await readSigning(sql, workspaceId, row.id);
  for (const [i, key] of (signing?.keys ?? assert.fail()).entries()) {
    assert.ok(!key.privateKeySealed.includes("PRIVATE KEY"));
    const privateKey = createPrivateKey(secrets.open(key.privateKeySealed, `dkim ${key.id}`));
    assert.equal(privateKey.asymmetricKeyDetails?.modulusLength, 2048);
    const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" }).toString("base64");
    assert.equal(publicKey, publicKeys[i]);
  }
  assert.notEqual(publicKeys[0], publicKeys[1]);
  await assert.rejects(
    () =>
      registrarOf().register({ workspaceId, domain: "xn--bcher-kva.example", mailFromLabel: "", actor: commandLine }),
    (error: Problem) => error.code === "already_exists",
  );
});

test("a registration whose deadline has passed stores nothing", async () => {
  const workspaceId = await makeBareWorkspace(database.sql);
  const tooLate = () => {
    throw new Problem("deadline_exceeded", "too late");
  };
  const registering = registrarOf().register(
    { workspaceId, domain: "late.test", mailFromLabel: "", actor: commandLine },
    tooLate,
  );
  await assert.rejects(() => registering, /too late/);
  assert.equal((await database.sql`select 1 from domains where workspace_id = ${workspaceId}`).length, 0);
});

test("invalid names are rejected, and one error lists every violation", async () => {
  for (const domain of ["", "localhost", "192.0.2.1", "co.uk", "a..test", "*.shop.test", "me@shop.test", "-x.test"]) {
    const problem = await problemOf({ domain });
    assert.equal(problem.code, "invalid_argument", domain);
    assert.deepEqual(
      problem.violations.map((violation) => violation.field),
      ["domain"],
      domain,
    );
  }
  for (const domain of ["mail.posthorn.test", "spf.mail.posthorn.test"])
    assert.match((await problemOf({ domain })).message, /belongs to this service/);
  const both = await problemOf({ domain: "co.uk", mailFromLabel: "a.b" });
  assert.deepEqual(
    both.violations.map((violation) => violation.field),
    ["domain", "mailFromLabel"],
  );
  const long = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(40)}.test`;
  assert.deepEqual(
    (await problemOf({ domain: long, mailFromLabel: "e".repeat(63) })).violations.map(({ field }) => field),
    ["mailFromLabel"],
  );
});

test("key pairs are made for one domain at a time, in turns, and only the workspace with too many requests is refused", async () => {
  const make = createKeyMaker({ gate: createKeyGate({ maxWaiting: 2 }), primes: 3 });
  const order: string[] = [];
  const making = ["flood", "flood", "flood", "calm"].map((workspace) =>
    make(workspace).then(() => order.push(workspace)),
  );
  await assert.rejects(make("flood"), { code: "resource_exhausted", retryAfterMs: 5000 });
  await Promise.all(making);
  assert.deepEqual(order, ["flood", "flood", "calm", "flood"]);
});
