import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import type { Lookup } from "../../dns/record.ts";
import { findingOf, type ImportedKey, isFound, judgeImportedKeys } from "./imported-keys.ts";
import type { RecordFinding } from "./judge.ts";
import { type ExpectedRecord, importedKeyRecord } from "./records.ts";

const publicKey = generateKeyPairSync("rsa", { modulusLength: 1024 })
  .publicKey.export({ type: "spki", format: "der" })
  .toString("base64");
const key: ImportedKey = {
  id: "1",
  selector: "s1",
  publicKey,
  bits: 1024,
  primes: 2,
  finding: {},
  lastSignedAt: null,
  createdAt: new Date(0),
};
const record = importedKeyRecord({ domain: "news.shop.test", dnsZone: "shop.test" }, key);

const none = { kind: "nxdomain" as const, chain: [], ttlSeconds: 60 };
const text = (...strings: string[]): Lookup<"TXT"> => ({
  kind: "found",
  chain: [],
  ttlSeconds: 60,
  records: [{ name: record.name, ttl: 60, type: "TXT", strings }],
});
const alias: Lookup<"CNAME"> = {
  kind: "found",
  chain: [],
  ttlSeconds: 60,
  records: [{ name: record.name, ttl: 60, type: "CNAME", target: "elsewhere.test" }],
};

function check(finding: RecordFinding | undefined, previous: Partial<ImportedKey> = {}) {
  const findings = new Map<ExpectedRecord["key"], RecordFinding>(finding ? [[record.key, finding]] : []);
  const before = { domain: "news.shop.test", dnsZone: "shop.test", importedKeys: [{ ...key, ...previous }] };
  return judgeImportedKeys(before, findings);
}
const found = { finding: { ...findingOf(key), status: "found" as const } };

test("the record has the public key, at the selector, with the name as the provider's form expects it", () => {
  assert.deepEqual(
    [record.type, record.name, record.nameShort, record.value],
    ["TXT", "s1._domainkey.news.shop.test", "s1._domainkey", `v=DKIM1; k=rsa; p=${publicKey}`],
  );
});

test("a key is found by its public key, also behind a CNAME or in several strings", () => {
  const value = `v=DKIM1; k=rsa; p=${publicKey}`;
  for (const view of [
    { cname: none, txt: text(value) },
    { cname: none, txt: text(value.slice(0, 100), value.slice(100)) },
    { cname: none, txt: text(`p=${publicKey}; t=s`) },
    { cname: alias, txt: text(value) },
  ]) {
    const { keys, complete, changed, message } = check({ recursive: view });
    assert.deepEqual([keys[0]!.finding.status, complete, changed], ["found", true, true]);
    assert.equal(message, "The record of the imported DKIM key s1 was found, and the key signs.");
    assert.ok(isFound(keys[0]!));
  }
});

test("a key that is only tested signs, with a remark", () => {
  const noteOf = (flags: string) =>
    check({ recursive: { cname: none, txt: text(`v=DKIM1; ${flags} p=${publicKey}`) } }).keys[0]!.finding;
  for (const flags of ["t=y;", "t = s:Y;"]) {
    assert.equal(noteOf(flags).status, "found");
    assert.match(noteOf(flags).note, /only tested.*remove t=y/);
  }
  assert.equal(noteOf("t=s;").note, "");
});

test("another key, a revoked one, two records or a CNAME that leads nowhere do not count, and say why", () => {
  const two = text("v=DKIM1; p=AAAA");
  if (two.kind === "found") two.records.push({ name: record.name, ttl: 60, type: "TXT", strings: ["x"] });
  for (const [view, note] of [
    [{ cname: none, txt: text("v=DKIM1; k=rsa; p=MIIBAAAA") }, /different DKIM key/],
    [{ cname: none, txt: text("v=DKIM1; p=") }, /revoked/],
    [{ cname: none, txt: text(`v=DKIM1; k=ed25519; p=${publicKey}`) }, /different DKIM key/],
    [{ cname: none, txt: text(`v=DKIM1; h=sha1; p=${publicKey}`) }, /does not allow sha256/],
    [{ cname: none, txt: two }, /several TXT records/],
    [{ cname: alias, txt: none }, /the CNAME leads to no TXT record/],
  ] as const) {
    const { keys, complete, message } = check({ recursive: view });
    assert.deepEqual([keys[0]!.finding.status, complete, message], ["mismatch", false, ""]);
    assert.match(keys[0]!.finding.note, note);
  }
});

test("a lost record is reported, silence keeps the last status, and a check without the key changes nothing", () => {
  const lost = check({ recursive: { cname: none, txt: none } }, found);
  assert.equal(lost.message, "The record of the imported DKIM key s1 is gone, and the key no longer signs.");
  assert.deepEqual([lost.keys[0]!.finding.status, lost.complete], ["missing", false]);
  const timeout = { kind: "timeout" as const };
  const silent = check({ recursive: { cname: timeout, txt: timeout } }, found);
  assert.deepEqual([silent.keys[0]!.finding.status, silent.message, silent.changed], ["found", "", false]);
  assert.deepEqual(check(undefined, found).keys[0]!.finding.status, "found");
});

test("a domain without imported keys is complete and unchanged", () => {
  const result = judgeImportedKeys({ domain: "shop.test", importedKeys: [] }, new Map());
  assert.deepEqual(result, { keys: [], complete: true, changed: false, message: "" });
});

test("a key behind a CNAME keeps its status while DNS does not answer for the target", () => {
  const silent = { kind: "servfail" as const, reason: "servfail" as const };
  // The domain's own servers know the CNAME only.
  const view = { cname: alias, txt: silent };
  const kept = check({ recursive: view, authoritative: view }, found);
  assert.deepEqual([kept.keys[0]!.finding.status, kept.keys[0]!.finding.unanswered, kept.message], ["found", true, ""]);
  const loop = { kind: "servfail" as const, reason: "cname-loop" as const };
  for (const txt of [none, loop])
    assert.equal(check({ recursive: { cname: alias, txt } }, found).keys[0]!.finding.status, "mismatch");
});
