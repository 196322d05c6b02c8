/** Unsubscribing with addresses in every spelling: the entry and the later emails have to meet. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, linkOf, post, publicUrl, request } from "../harness/unsubscribe.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
});
after(async () => await testbed.stop());

const unsubscribe = { topic: "news" };

async function linkTo(address: string): Promise<string> {
  const id = await accepted(testbed, { to: [address], unsubscribe, async: true });
  const { body } = await testbed.call("EmailService/GetEmailContent", { id });
  return linkOf(Buffer.from(body.raw as string, "base64"));
}

async function isSuppressed(address: string): Promise<void> {
  const id = await accepted(testbed, { to: [address], unsubscribe, async: true });
  await untilEvent(testbed, id, "email.suppressed");
}

// The last two: the lower-case form has another length, and a letter whose lower-case form depends on its place in a word.
const spellings = [
  "Ann.Lee+News@There.test",
  "bob@bücher.test",
  "Ünal@there.test",
  "İlk@there.test",
  "ΟΔΥΣΣΕΥΣ@there.test",
];

for (const address of spellings) {
  test(`${address} leaves by link`, async () => {
    const path = await linkTo(address);
    assert.equal((await request(testbed, path)).status, 200);
    const { text } = await post(testbed, path);
    assert.match(text, /^You are unsubscribed/);
    assert.match((await request(testbed, path)).text, /Subscribe to news again/);
    await isSuppressed(address);
    const [entry] = await entriesOf(testbed);
    const removed = await testbed.call("SuppressionService/RemoveUnsubscribe", { address, topic: "news" });
    assert.equal(removed.status, 200, `${JSON.stringify(removed.body)} ${JSON.stringify(entry)}`);
  });

  test(`${address} is unsubscribed by a caller`, async () => {
    const added = await testbed.call("SuppressionService/AddUnsubscribe", { address, topic: "news" });
    assert.equal(added.status, 200, JSON.stringify(added.body));
    await isSuppressed(address);
    const { address: stored } = added.body.unsubscribe as { address: string };
    // Callers remove what the list shows.
    const removed = await testbed.call("SuppressionService/RemoveUnsubscribe", { address: stored, topic: "news" });
    assert.equal(removed.status, 200, JSON.stringify(removed.body));
  });
}
