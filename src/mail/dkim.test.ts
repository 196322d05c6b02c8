import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { needs, pathOf } from "../../test/harness/foreign.ts";
import { relaxedBodyHash } from "./body-hash.ts";
import { digestMessage, dkimSigningInput, signDkim } from "./dkim.ts";
import { relaxedField } from "./dkim-canonical.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: "spki", format: "der" }).toString("base64")}`;
const identity = { domain: "example.com", selector: "ph1", signedAt: new Date("2024-03-01T09:05:07Z") };

const head = [
  "From: Ann <ann@example.com>",
  "To: bob@example.net,",
  " carol@example.net",
  "Subject: =?UTF-8?Q?gr=C3=BC=C3=9Fe?=",
  "Date: Sun, 01 Mar 2026 09:05:07 +0000",
  "Message-ID: <1@example.com>",
  "List-Unsubscribe: <https://example.com/u>",
  "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
  "MIME-Version: 1.0",
  "Content-Type: text/plain; charset=utf-8",
];
const message = (body: string, lines = head) => Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`, "latin1");

async function signed(raw: Buffer): Promise<Buffer> {
  return Buffer.concat([Buffer.from(await signDkim(raw, identity, privateKey)), raw]);
}

async function verdict(raw: Buffer): Promise<string> {
  const resolver = async (name: string, type: string) => {
    if (name === "ph1._domainkey.example.com" && type === "TXT") return [[record]];
    throw Object.assign(new Error(`unexpected query ${name} ${type}`), { code: "ENOTFOUND" });
  };
  const { results } = await dkimVerify(raw, { resolver });
  assert.equal(results.length, 1);
  return results[0]!.status.result;
}

test("the field lists its parameters and the signed fields, in short lines", async () => {
  const field = await signDkim(message("Hello\r\n"), identity, privateKey);
  assert.match(
    field,
    /^DKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/relaxed; d=example\.com;\r\n s=ph1; t=1709283907;\r\n h=From:From:/,
  );
  assert.match(field, /[^\r\n]\r\n$/);
  assert.doesNotMatch(field, /[;\s]l=/);
  for (const line of field.split("\r\n")) assert.ok(line.length <= 78, line);
  assert.equal(await signDkim(message("Hello\r\n"), identity, privateKey), field, "a retry has the same signature");
});

test("mailauth verifies every kind of body", async () => {
  for (const body of [
    "",
    "\r\n",
    "\r\n\r\n\r\n",
    "a",
    "a\r\n\r\n\r\n",
    "a  b\t c \r\n \r\n",
    " \r\n",
    "\tx",
    "x \t",
    "Gr\xfc\xdfe\xa0\r\n",
    "a\r\n.\r\nb\r\n",
    "x ".repeat(60_000),
  ]) {
    assert.equal(await verdict(await signed(message(body))), "pass", JSON.stringify(body.slice(0, 20)));
  }
});

test("mailauth verifies random bodies and header values", async () => {
  const text = fc.string({ unit: fc.constantFrom(..."ab \t\xa0\xc3", "\r\n", "  ", "\r\n \r\n"), maxLength: 120 });
  const value = fc.string({ unit: fc.constantFrom(..."ab \t\xa0", "\r\n "), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, value, async (body, subject) => {
      const lines = head.map((line) => (line.startsWith("Subject:") ? `Subject: x${subject}x` : line));
      assert.equal(await verdict(await signed(message(body, lines))), "pass");
    }),
    { numRuns: 60 },
  );
});

test("the signature survives the changes that mail servers make in transit", async () => {
  const raw = (await signed(message("two  spaces here\r\n"))).toString("latin1");
  assert.equal(await verdict(Buffer.from(raw.replace("two  spaces", "two spaces"), "latin1")), "pass");
  assert.equal(
    await verdict(Buffer.from(raw.replace("To: bob@example.net,\r\n carol", "to:  bob@example.net, carol"), "latin1")),
    "pass",
  );
  assert.equal(await verdict(Buffer.from(`Received: from a by b\r\nX-Spam: no\r\n${raw}\r\n\r\n`, "latin1")), "pass");
  assert.equal(await verdict(Buffer.from(`List-Post: <mailto:l@example.org>\r\n${raw}`, "latin1")), "pass");
});

test("changing or adding an identity field or content breaks the signature", async () => {
  const raw = (await signed(message("Hello\r\n"))).toString("latin1");
  for (const name of [
    "From",
    "To",
    "Cc",
    "Subject",
    "Date",
    "Message-ID",
    "Reply-To",
    "In-Reply-To",
    "References",
    "MIME-Version",
    "Content-Type",
    "List-Unsubscribe",
  ]) {
    assert.notEqual(await verdict(Buffer.from(`${name}: x@evil.example\r\n${raw}`, "latin1")), "pass", name);
    assert.notEqual(
      await verdict(Buffer.from(raw.replace("\r\n\r\n", `\r\n${name}: x@evil.example\r\n\r\n`), "latin1")),
      "pass",
      name,
    );
  }
  assert.notEqual(await verdict(Buffer.from(raw.replace("ann@", "eve@"), "latin1")), "pass");
  assert.notEqual(await verdict(Buffer.from(`${raw}and more\r\n`, "latin1")), "pass");
});

test("python3-dkim verifies every kind of body", { skip: needs("python3-dkim") }, async () => {
  const bodies = ["", "a", "Hello\r\n", "a  b\t c \r\n\r\n\r\n", "Gr\xfc\xdfe\r\n", `${"x ".repeat(5000)}\r\n`];
  const raws = await Promise.all(bodies.map((body) => signed(message(body))));
  const broken = Buffer.from(`Reply-To: x@evil.example\r\n${raws[2]!.toString("latin1")}`, "latin1");
  const input = JSON.stringify({ record, raws: [...raws, broken].map((raw) => raw.toString("base64")) });
  const child = spawnSync(pathOf("python3-dkim"), ["-c", VERIFY], { input, encoding: "utf8" });
  assert.equal(child.status, 0, child.error?.message ?? child.stderr);
  assert.deepEqual(JSON.parse(child.stdout), [...raws.map(() => true), false]);
});

const VERIFY = `
import base64, dkim, json, sys
job = json.load(sys.stdin)
answer = lambda name, timeout=5: job["record"].encode() if name == b"ph1._domainkey.example.com." else None
json.dump([dkim.DKIM(base64.b64decode(raw)).verify(dnsfunc=answer) for raw in job["raws"]], sys.stdout)
`;

test("header and body are canonicalized as in RFC 6376 §3.4.5", () => {
  assert.equal(relaxedField("A", " X"), "a:X");
  assert.equal(relaxedField("B", " Y\t\r\n\tZ  "), "b:Y Z");
  const relaxed = relaxedBodyHash(Buffer.from(" C \r\nD \t E\r\n\r\n\r\n"));
  assert.equal(relaxed, relaxedBodyHash(Buffer.from(" C\r\nD E\r\n")));
  assert.notEqual(relaxed, relaxedBodyHash(Buffer.from("C\r\nD E\r\n")));
  assert.equal(
    relaxedBodyHash(Buffer.alloc(0)),
    "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "the hash of the empty body in §3.4.4",
  );
});

test("a message that cannot be signed safely throws", () => {
  assert.throws(() => dkimSigningInput(digestMessage(Buffer.from("no end of header")), identity), /empty line/);
  assert.throws(
    () => dkimSigningInput(digestMessage(Buffer.from("To: a@example.com\r\n\r\n")), identity),
    /exactly one From/,
  );
  assert.throws(
    () => dkimSigningInput(digestMessage(Buffer.from("From: a\r\nFrom: b\r\n\r\n")), identity),
    /exactly one From/,
  );
  assert.throws(
    () => dkimSigningInput(digestMessage(Buffer.from("From: a\r\nnonsense\r\n\r\n")), identity),
    /without a name/,
  );
  assert.throws(
    () => dkimSigningInput(digestMessage(message("")), { ...identity, domain: "example.com; l=0" }),
    /ASCII/,
  );
  assert.throws(() => dkimSigningInput(digestMessage(message("")), { ...identity, selector: "a\r\nb" }), /ASCII/);
});
