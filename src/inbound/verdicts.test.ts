import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { relaxedBodyHash } from "../mail/body-hash.ts";
import { relaxedField } from "../mail/dkim-canonical.ts";
import { judge } from "./verdicts.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" }).toString("base64");

/** Every domain publishes the key and a policy. */
async function resolve(name: string, type?: string): Promise<unknown[]> {
  if (type === "TXT" && name.startsWith("s1._domainkey.")) return [[`v=DKIM1; k=rsa; p=${publicKey}`]];
  if (type === "TXT" && name.startsWith("_dmarc.")) return [["v=DMARC1; p=reject"]];
  throw Object.assign(new Error(name), { code: "ENOTFOUND" });
}

/** Signed by hand, because signDkim takes A-labels only. */
async function verdictsOf(from: string, signer: string) {
  const latin1 = (text: string) => Buffer.from(text).toString("latin1");
  const body = Buffer.from("Hello\r\n");
  const fromValue = ` ${latin1(from)}`;
  const value = ` v=1; a=rsa-sha256; c=relaxed/relaxed; d=${latin1(signer)}; s=s1; h=From; bh=${relaxedBodyHash(body)}; b=`;
  const input = `${relaxedField("From", fromValue)}\r\n${relaxedField("DKIM-Signature", value)}`;
  const signature = sign("sha256", Buffer.from(input, "latin1"), privateKey).toString("base64");
  const header = `DKIM-Signature:${value}${signature}\r\nFrom:${fromValue}\r\n\r\n`;
  const message = Buffer.concat([Buffer.from(header, "latin1"), body]);
  const client = { ip: "192.0.2.1", helo: "mx.there.test" };
  const verdicts = await judge({ message, sender: "", client }, { hostname: "mx.here.test", resolve });
  const { dkim, dkimDomain, dmarc, fromDomain } = verdicts;
  return { dkim, dkimDomain, dmarc, fromDomain };
}

test("a signing domain with letters outside of ASCII is not shown as the domain without these letters", async () => {
  const ascii = "xn--there-fsa.test";
  assert.deepEqual(await verdictsOf("ann@thereé.test", "thereé.test"), {
    dkim: "pass",
    dkimDomain: ascii,
    dmarc: "pass",
    fromDomain: ascii,
  });
  for (const character of ["\u200b", "\ufffd", "\u00ad"]) {
    const name = `there${character}.test`;
    const { dkim, dkimDomain, fromDomain } = await verdictsOf(`ann@${name}`, name);
    assert.equal(dkim, "pass");
    assert.notEqual(dkimDomain, "there.test");
    assert.notEqual(fromDomain, "there.test");
  }
});

test("names with and without the dot of the root are the same", async () => {
  const expected = { dkim: "pass", dkimDomain: "there.test", dmarc: "pass", fromDomain: "there.test" };
  assert.deepEqual(await verdictsOf("ann@there.test.", "there.test"), expected);
  assert.deepEqual(await verdictsOf("ann@there.test", "there.test."), expected);
});
