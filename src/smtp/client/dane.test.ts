import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { PeerCertificate } from "node:tls";
import fc from "fast-check";
import { makeSelfSigned } from "../server/certificate.ts";
import { checkNames, createDanePolicy, matchChain, type TlsaRecord } from "./dane.ts";

const fixture = (name: string) => readFileSync(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url));
const [own, authority] = [new X509Certificate(fixture("mx.pem")), new X509Certificate(fixture("ca.pem"))];
const stranger = new X509Certificate(makeSelfSigned("mx.example.test", Date.now()).cert);
const chain = [own.raw, authority.raw];

function record(usage: number, selector: number, matching: number, certificate: X509Certificate): TlsaRecord {
  const selected = selector === 0 ? certificate.raw : certificate.publicKey.export({ type: "spki", format: "der" });
  const hash = { 1: "sha256", 2: "sha512" }[matching];
  const data = hash ? createHash(hash).update(selected).digest() : selected;
  return { usage, selector, matching, data };
}

const policyOf = (...records: TlsaRecord[]) =>
  createDanePolicy({ base: "mx.example.test", records, names: ["example.test"] });

test("every selector and matching type is compared with the right bytes", () => {
  for (const selector of [0, 1])
    for (const matching of [0, 1, 2]) {
      const match = (usage: number, certificate: X509Certificate) =>
        matchChain(policyOf(record(usage, selector, matching, certificate)), chain);
      assert.deepEqual(match(3, own), { match: true });
      assert.deepEqual(match(3, stranger), { match: false, anchors: [] });
      assert.deepEqual(match(3, authority), { match: false, anchors: [] }, "usage 3 is the server's own certificate");
      assert.deepEqual(match(2, authority), { match: false, anchors: [authority.raw] });
    }
});

test("an authority that the record contains need not be presented", () => {
  const found = matchChain(policyOf(record(2, 0, 0, authority)), [own.raw]);
  assert.deepEqual(found, { match: false, anchors: [authority.raw] });
  assert.deepEqual(matchChain(policyOf(record(2, 0, 1, authority)), [own.raw]), { match: false, anchors: [] });
});

test("the last certificate of the chain is the anchor if a record contains the key that signed it", () => {
  const byKey = policyOf(record(2, 1, 0, authority));
  assert.deepEqual(matchChain(byKey, [own.raw]), { match: false, anchors: [own.raw] });
  assert.deepEqual(matchChain(byKey, chain), { match: false, anchors: [authority.raw] }, "the authority is presented");
  assert.deepEqual(matchChain(byKey, [own.raw, stranger.raw]), { match: false, anchors: [] }, "only the last one");
  assert.deepEqual(matchChain(policyOf(record(2, 1, 0, stranger)), [own.raw]), { match: false, anchors: [] });
  assert.deepEqual(
    matchChain(policyOf(record(2, 1, 1, authority)), [own.raw]),
    { match: false, anchors: [] },
    "a hash",
  );
  const noKey = { ...record(2, 1, 0, authority), data: Buffer.from([0x30, 0x02, 0x05, 0x00]) };
  assert.deepEqual(matchChain(policyOf(noKey), [own.raw]), { match: false, anchors: [] });
});

test("usage 3 wins, and either of two records is enough during a rollover", () => {
  const policy = policyOf(record(2, 0, 1, authority), record(3, 1, 1, stranger), record(3, 1, 1, own));
  assert.deepEqual(matchChain(policy, chain), { match: true });
  assert.deepEqual(matchChain(policy, []), { match: false, anchors: [] });
});

test("SHA-256 does not count next to SHA-512 of the same usage and selector", () => {
  const kinds = (...records: TlsaRecord[]) => policyOf(...records).records.map((one) => Object.values(one).slice(0, 3));
  const weak = record(3, 1, 1, stranger);
  assert.deepEqual(kinds(weak, record(3, 1, 2, own)), [[3, 1, 2]]);
  assert.deepEqual(matchChain(policyOf(weak, record(3, 1, 2, own)), [stranger.raw]), { match: false, anchors: [] });
  assert.equal(kinds(weak, record(3, 0, 2, own)).length, 2, "another selector");
  assert.equal(kinds(weak, record(2, 1, 2, authority)).length, 2, "another usage");
  assert.equal(kinds(weak, record(3, 1, 0, own)).length, 2, "a whole key is no digest");
  assert.equal(
    kinds(weak, { ...record(3, 1, 2, own), data: weak.data }).length,
    1,
    "an unusable record does not count",
  );
});

test("records with other usages, unknown parameters or malformed data are unusable", () => {
  const digest = record(3, 1, 1, own).data;
  const unusable: TlsaRecord[] = [
    record(0, 0, 1, own),
    record(1, 1, 1, own),
    record(4, 1, 1, own),
    { usage: 3, selector: 2, matching: 1, data: digest },
    { usage: 3, selector: 1, matching: 3, data: digest },
    { usage: 3, selector: 1, matching: 1, data: digest.subarray(1) },
    { usage: 3, selector: 1, matching: 2, data: digest },
    { usage: 3, selector: 1, matching: 1, data: Buffer.alloc(0) },
    { usage: 3, selector: 0, matching: 0, data: own.raw.subarray(0, -1) },
    { usage: 3, selector: 0, matching: 0, data: Buffer.concat([own.raw, Buffer.from([0])]) },
    { usage: 2, selector: 0, matching: 0, data: Buffer.from([0x30, 0x00]) },
    { usage: 3, selector: 1, matching: 0, data: Buffer.from([0x30, 0x01]) },
  ];
  assert.deepEqual(policyOf(...unusable).records, []);
  assert.equal(policyOf(...unusable, record(3, 1, 1, own)).records.length, 1);
});

test("the key is that of the usable records, in any order; names count for usage 2 only", () => {
  const [a, b, c] = [record(3, 1, 1, own), record(3, 1, 1, stranger), record(2, 0, 1, authority)];
  const keyOf = (records: TlsaRecord[], names: string[], base = "mx.test") =>
    createDanePolicy({ base, records, names }).key;
  assert.equal(keyOf([a, b], ["one.test"]), keyOf([b, a, record(1, 1, 1, own)], ["two.test"]));
  assert.notEqual(keyOf([a], []), keyOf([a, b], []));
  assert.notEqual(keyOf([a], []), keyOf([a], [], "mx2.test"));
  assert.notEqual(keyOf([a, c], ["one.test"]), keyOf([a, c], ["two.test"]));
  assert.notEqual(keyOf([], []), keyOf([a], []));
});

test("at most ten certificates are compared, and at most eight anchors are used", () => {
  const deep = [...Array.from({ length: 10 }, () => stranger.raw), authority.raw];
  assert.deepEqual(matchChain(policyOf(record(2, 0, 1, authority)), deep), { match: false, anchors: [] });
  const anchors = Array.from(
    { length: 9 },
    (_, i) => new X509Certificate(makeSelfSigned(`ca${i}.test`, Date.now()).cert),
  );
  const found = matchChain(policyOf(...anchors.map((one) => record(2, 0, 0, one))), [own.raw]);
  assert.equal(!found.match && found.anchors.length, 8);
});

test("of the whole certificates in a set, twenty are parsed and count", () => {
  const many = Array.from({ length: 25 }, (_, i) =>
    record(3, 0, 0, new X509Certificate(makeSelfSigned(`${i}.test`, Date.now()).cert)),
  );
  const policy = policyOf(record(1, 0, 0, own), ...many, record(3, 1, 1, own));
  assert.equal(policy.records.length, 21);
  assert.deepEqual(matchChain(policy, chain), { match: true });
});

test("one of the names must be in the certificate", () => {
  const certificate = { subject: {}, subjectaltname: "DNS:mx.example.test, DNS:*.wild.test" } as PeerCertificate;
  assert.equal(checkNames(["other.test", "mx.example.test"], certificate), undefined);
  assert.equal(checkNames(["mx.wild.test"], certificate), undefined);
  for (const names of [["other.test"], ["a.b.wild.test"], ["wild.test"], []])
    assert.ok(names.length === 0 || checkNames(names, certificate) instanceof Error);
});

test("any record and any chain are judged without an error", () => {
  const byte = fc.nat(255);
  const data = fc.oneof(fc.uint8Array({ maxLength: 80 }), fc.constantFrom(own.raw, authority.raw));
  const records = fc.array(fc.record({ usage: fc.nat(4), selector: fc.nat(2), matching: fc.nat(3), data }));
  const presented = fc.array(fc.oneof(fc.uint8Array({ maxLength: 80 }), fc.constant(own.raw)), { maxLength: 4 });
  fc.assert(
    fc.property(records, presented, byte, (list, certificates, noise) => {
      const policy = policyOf(...list, { usage: noise, selector: noise, matching: noise, data: Buffer.from([noise]) });
      for (const { usage } of policy.records) assert.ok(usage === 2 || usage === 3);
      matchChain(
        policy,
        certificates.map((one) => Buffer.from(one)),
      );
    }),
    { seed: 2, numRuns: 500 },
  );
});
