import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { needs } from "../harness/foreign.ts";
import { python } from "../harness/python.ts";
import { accepted } from "../harness/sending.ts";
import type { Delivery } from "../harness/sink-script.ts";
import { selector, senderDomain, senderPublicKey, startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
const signed: Delivery[] = [];
before(async () => {
  testbed = await startTestbed();
  const requests = [
    { to: ["plain@there.test"] },
    { to: ["both@there.test"], html: "<p>Grüße</p>", body: "Grüße \t\r\n\r\n\r\n" },
    { to: ["empty@there.test"], subject: "", body: " " },
    {
      to: ["dots@there.test"],
      body: ".\n..\nx".repeat(500),
      headers: { "X-A": "  b  " },
      replyToAddresses: ["r@sender.test"],
    },
    { to: ["file@there.test"], attachments: [{ filename: "ä.bin", base64Content: "AAECAw==" }] },
    { to: ["jürgen@there.test"], subject: "Örtlich" },
  ];
  for (const request of requests) {
    await accepted(testbed, request);
    signed.push(testbed.sink.received(request.to[0]!)[0]!);
  }
});
after(async () => await testbed.stop());

const recordName = `${selector}._domainkey.${senderDomain}`;
const record = `v=DKIM1; k=rsa; p=${senderPublicKey}`;

/** A resolver that knows only the sender's DKIM record. */
async function resolver(name: string, type: string): Promise<string[][]> {
  if (name === recordName && type === "TXT") return [[record]];
  throw Object.assign(new Error(`no ${type} at ${name}`), { code: "ENOTFOUND" });
}

async function verdictOf(message: Buffer): Promise<{ result: string; aligned: unknown; domain: string }> {
  const { results } = (await dkimVerify(message, { resolver })) as {
    results: { status: { result: string; aligned: unknown }; signingDomain: string }[];
  };
  assert.equal(results.length, 1);
  const [{ status, signingDomain }] = results as [(typeof results)[number]];
  return { result: status.result, aligned: status.aligned, domain: signingDomain };
}

test("every message has one signature that mailauth verifies, aligned with From", async () => {
  for (const { data, recipients } of signed) {
    assert.deepEqual(
      await verdictOf(data),
      { result: "pass", aligned: senderDomain, domain: senderDomain },
      recipients.join(),
    );
  }
});

test("Debian's python3-dkim verifies the same bytes", { skip: needs("python3-dkim") }, async () => {
  const script = `
import base64, dkim, json, sys
record = sys.argv[2].encode()
lookup = lambda name, timeout=5: record if name.decode().rstrip(".") == sys.argv[1] else None
print(json.dumps([dkim.verify(base64.b64decode(m), dnsfunc=lookup) for m in json.load(sys.stdin)]))
`;
  const messages = Buffer.from(JSON.stringify(signed.map(({ data }) => data.toString("base64"))));
  assert.deepEqual(
    await python<boolean[]>(script, messages, [recordName, record]),
    signed.map(() => true),
  );
});

test("a second From, an added Reply-To or one changed character breaks the signature", async () => {
  const { data } = signed[0]!;
  const text = data.toString("latin1");
  const changed = [
    `From: evil@sender.test\r\n${text}`,
    `Reply-To: evil@there.test\r\n${text}`,
    text.replace("Hello there", "Hello There"),
    text.replace("Subject: Hello", "Subject: Hallo"),
  ];
  for (const message of changed) {
    assert.notEqual(message, text);
    assert.notEqual((await verdictOf(Buffer.from(message, "latin1"))).result, "pass");
  }
});
