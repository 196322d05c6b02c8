import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessageFacts } from "./message-facts.ts";

const read = (text: string) => readMessageFacts(Buffer.from(text, "latin1"), { text: "", html: "" });

test("header fields, the longest line and the signed fields are read", async () => {
  const head =
    "DKIM-Signature: v=1; a=rsa-sha256;\r\n h=From:To\r\n :list-unsubscribe; bh=x; b=y\r\nFrom: a@b.test\r\n";
  const facts = await read(`${head}Subject: x\r\n folded\r\n\r\nHello\r\n${"x".repeat(1200)}\r\n`);
  assert.deepEqual(
    facts.fields.map(({ name }) => name),
    ["DKIM-Signature", "From", "Subject"],
  );
  assert.equal(facts.fields[2]!.value, " x\r\n folded");
  assert.deepEqual(facts.signedFields, ["from", "to", "list-unsubscribe"]);
  assert.deepEqual([facts.longestLine, facts.hasBareLineEnds, facts.hasRawHeader], [1200, false, false]);
});

test("bare line ends and 8-bit headers are found, wherever they are", async () => {
  const bare = async (body: string) => (await read(`From: a@b.test\r\n\r\n${body}`)).hasBareLineEnds;
  assert.deepEqual(await Promise.all(["a\nb\r\n", "a\rb\r\n", "a\r\r\n", "\n", "a\r"].map(bare)), [
    true,
    true,
    true,
    true,
    true,
  ]);
  assert.deepEqual(await Promise.all(["", "a\r\n\r\nb", "\r\n"].map(bare)), [false, false, false]);
  assert.equal((await read("Subject: \xe4\r\n\r\n")).hasRawHeader, true);
  assert.equal((await read("Subject: a\r\n\r\n\xe4")).hasRawHeader, false);
});

test("a message without an empty line, an empty one and a large one are read", async () => {
  assert.equal((await read("From: a@b.test")).fields.length, 1);
  assert.deepEqual((await read("")).fields, []);
  assert.deepEqual((await read(": no name\r\nno colon\r\n\r\n")).fields, []);
  const large = await read(`From: a@b.test\r\n\r\n${`${"x".repeat(76)}\r\n`.repeat(60_000)}`);
  assert.deepEqual([large.longestLine, large.hasBareLineEnds], [76, false]);
});

test("a large message is read in linear time, whatever its line ends", async () => {
  for (const end of ["\n", "\r", "\n\r", `${"x".repeat(76)}\n`]) {
    const facts = await readMessageFacts(Buffer.alloc(8_000_000, end), { text: "", html: "" });
    assert.equal(facts.hasBareLineEnds, true, JSON.stringify(end));
  }
});
