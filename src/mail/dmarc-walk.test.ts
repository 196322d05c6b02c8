import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import fc from "fast-check";
import { walkDmarc, walkDomains } from "./dmarc-walk.ts";

type Zone = Record<string, string[] | "servfail">;

function walk(domain: string, zone: Zone) {
  const steps = walkDomains(domain).map((name) => {
    const texts = zone[name] ?? [];
    return { domain: name, texts: texts === "servfail" ? undefined : texts };
  });
  return walkDmarc(domain, steps);
}

test("a walk has at most eight names; a long name continues with its last seven labels", () => {
  assert.deepEqual(walkDomains("example"), ["example"]);
  assert.deepEqual(walkDomains("a.example.com"), ["a.example.com", "example.com", "com"]);
  const eight = "a.b.c.d.e.f.example.com";
  assert.deepEqual(walkDomains(eight).slice(0, 2), [eight, "b.c.d.e.f.example.com"]);
  // The example of RFC 9989 §4.10.
  assert.deepEqual(walkDomains("a.b.c.d.e.f.g.h.i.j.mail.example.com"), [
    "a.b.c.d.e.f.g.h.i.j.mail.example.com",
    "g.h.i.j.mail.example.com",
    "h.i.j.mail.example.com",
    "i.j.mail.example.com",
    "j.mail.example.com",
    "mail.example.com",
    "example.com",
    "com",
  ]);
  assert.equal(walkDomains(Array.from({ length: 120 }, () => "a").join(".")).length, 8);
});

const reject = ["v=DMARC1; p=reject"];

test("the policy is that of the domain, of its organizational domain, or of the public suffix", () => {
  const own = walk("news.shop.example", { "news.shop.example": ["v=DMARC1; p=none"], "shop.example": reject });
  assert.deepEqual([own.applied?.domain, own.organization], ["news.shop.example", "shop.example"]);
  const inherited = walk("a.b.shop.example", { "b.shop.example": ["v=DMARC1; p=none"], "shop.example": reject });
  assert.deepEqual([inherited.applied?.domain, inherited.organization], ["shop.example", "shop.example"]);
  const suffix = walk("a.shop.example", { example: ["v=DMARC1; p=reject; psd=y"] });
  assert.deepEqual([suffix.applied?.domain, suffix.organization], ["example", "shop.example"]);
  const below = walk("a.shop.example", { "shop.example": reject, example: ["v=DMARC1; p=none; psd=y"] });
  assert.deepEqual([below.applied?.domain, below.organization], ["shop.example", "shop.example"]);
  const none = walk("a.shop.example", {});
  assert.deepEqual([none.applied, none.organization], [undefined, "a.shop.example"]);
});

test("psd=n ends the walk, and a record without a policy applies", () => {
  const ended = walk("a.b.shop.example", { "b.shop.example": ["v=DMARC1; psd=n"], "shop.example": reject });
  assert.deepEqual(
    [ended.applied?.kind, ended.applied?.domain, ended.organization],
    ["invalid", "b.shop.example", "b.shop.example"],
  );
});

test("several records, or a malformed one, do not end the walk", () => {
  const two = ["v=DMARC1; p=none; psd=n", "v=DMARC1; p=none"];
  assert.equal(
    walk("a.shop.example", { "a.shop.example": two, "shop.example": reject }).applied?.domain,
    "shop.example",
  );
  const twice = ["v=DMARC1; p=none; p=none; psd=n"];
  assert.equal(
    walk("a.shop.example", { "a.shop.example": twice, "shop.example": reject }).applied?.domain,
    "shop.example",
  );
});

test("without an answer the walk is incomplete, and keeps what it has found", () => {
  assert.deepEqual(walk("a.shop.example", { "a.shop.example": "servfail", "shop.example": reject }), {
    applied: undefined,
    incomplete: true,
  });
  const own = walk("a.shop.example", { "a.shop.example": reject, "shop.example": "servfail" });
  assert.deepEqual([own.applied?.domain, own.incomplete, own.organization], ["a.shop.example", true, undefined]);
  const parent = walk("a.shop.example", { "shop.example": reject, example: "servfail" });
  assert.deepEqual([parent.applied?.domain, parent.incomplete], ["shop.example", true]);
});

/** mailauth judges inbound mail. A domain check must come to the same policy as a receiver that uses it. */
const mailauth = createRequire(import.meta.url)("mailauth/lib/dmarc/get-dmarc-record.js");

async function asMailauth(domain: string, zone: Zone, strict: boolean) {
  const resolve = async (name: string) => {
    const texts = zone[name.replace(/^_dmarc\./, "")];
    if (texts === "servfail") throw Object.assign(new Error(), { code: "ESERVFAIL" });
    if (texts === undefined) throw Object.assign(new Error(), { code: "ENOTFOUND" });
    return texts.map((text) => [text]);
  };
  const found = await mailauth.discoverPolicy(domain, mailauth.createRecordLookup(resolve, { strict }));
  const tags = found.record ? mailauth.getPolicyTags(found.record) : null;
  return {
    organization: found.orgDomain ?? undefined,
    at: found.recordDomain ?? undefined,
    policy: tags && [tags.p, tags.sp ?? tags.p, tags.np ?? tags.sp ?? tags.p],
    testing: found.record ? found.record.t === "y" : false,
  };
}

function ours(domain: string, zone: Zone) {
  const { applied, organization } = walk(domain, zone);
  const record = applied?.kind === "policy" ? applied.record : undefined;
  return {
    organization,
    at: applied?.domain,
    policy: record ? [record.policy, record.subdomainPolicy, record.nonexistentPolicy] : null,
    testing: record?.testing,
  };
}

const policy = fc.constantFrom("none", "quarantine", "reject", "Reject", "maybe", "");
const tag = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom("p", "sp", "np"), policy).map((pair) => pair.join("=")) },
  {
    weight: 4,
    arbitrary: fc.constantFrom("psd=y", "psd=n", "psd=u", "psd = N", "t=y", "t=n", "adkim=s", "pct=0", "ri=x"),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "rua=mailto:a@b.test",
      "rua=x, mailto:a@b.test!5m",
      "rua=a@b.test",
      "rua=",
      "rua=mailto:",
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom("junk", "=x", " ", "x=1=2") },
);
const version = fc.constantFrom("v=DMARC1", "V = DMARC1 ", "v=DMARC1", "v=DMARC1", "v=dmarc1", "v=DMARC2");
const text = fc
  .tuple(version, fc.array(tag, { maxLength: 5 }))
  .map(([start, tags]) => [start, ...tags].join("; "))
  .filter((record) => record.length > 0);
const texts = fc.array(fc.oneof({ weight: 5, arbitrary: text }, fc.constant("v=spf1 -all")), {
  minLength: 1,
  maxLength: 2,
});
const domain = fc
  .array(fc.constantFrom("a", "b", "c"), { minLength: 0, maxLength: 9 })
  .map((labels) => [...labels, "shop", "co", "example"].join("."));
const scripted = domain.chain((name) =>
  fc.tuple(
    fc.constant(name),
    fc.dictionary(fc.constantFrom(...walkDomains(name)), texts, { maxKeys: 5, noNullPrototype: true }),
  ),
);

test("our walk and that of mailauth find the same policy and organizational domain", async () => {
  await fc.assert(
    fc.asyncProperty(scripted, async ([name, zone]) => {
      const expected = await asMailauth(name, zone, true);
      const actual = ours(name, zone);
      // Without a policy, `t` has no meaning.
      assert.deepEqual({ ...actual, testing: actual.testing ?? expected.testing }, expected);
    }),
    { numRuns: 2000 },
  );
});

test("after a failed lookup, both keep the record of the domain itself", async () => {
  const withFailure = scripted.chain(([name, zone]) =>
    fc.tuple(fc.constant(name), fc.constant(zone), fc.constantFrom(...walkDomains(name))),
  );
  await fc.assert(
    fc.asyncProperty(withFailure, async ([name, records, failing]) => {
      const zone: Zone = { ...records, [failing]: "servfail" };
      const expected = await asMailauth(name, zone, true).catch(() => "unknown" as const);
      const actual = walk(name, zone);
      if (expected === "unknown") assert.equal(actual.incomplete && actual.applied?.domain !== name, true);
      else assert.deepEqual([actual.applied?.domain, actual.organization], [expected.at, expected.organization]);
    }),
    { numRuns: 500 },
  );
});

test("both ignore the case of tag names", async () => {
  const zone = { "shop.example": ["v=DMARC1; P=reject; SP=none; Psd=n"] };
  assert.deepEqual(ours("a.shop.example", zone), await asMailauth("a.shop.example", zone, false));
});
