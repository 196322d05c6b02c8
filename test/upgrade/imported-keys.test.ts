/** During an upgrade, a program of an older commit does not know imported DKIM keys. It signs with its own key, and harms nothing. */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { after, test } from "node:test";
import { checkOut, type OlderCheckout } from "../harness/older-checkout.ts";
import { selector, senderDomain, senderPublicKey, startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

/** The last commit before keys could be imported. */
const olderCommit = "f6441e7422f32663430d61a034e58aa4da3a774e";
const checkoutOrReason = await checkOut(olderCommit);
const skip = typeof checkoutOrReason === "string" ? checkoutOrReason : false;
after(async () => {
  if (typeof checkoutOrReason !== "string") await checkoutOrReason.remove();
});

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();

async function selectorOf(testbed: Testbed, to: string): Promise<string | undefined> {
  const { body } = await testbed.send({ to: [to] });
  assert.equal(body.status, "EMAIL_STATUS_SENT", JSON.stringify(body));
  return /^DKIM-Signature:[\s\S]*?\bs=([^;]+);/m.exec(testbed.sink.received(to)[0]!.data.toString("latin1"))?.[1];
}

test("an older program signs with our key, and the new one with the imported key; keys of both are listed", {
  skip,
}, async () => {
  const testbed = await startTestbed({
    checkout: checkoutOrReason as OlderCheckout,
    env: { POSTHORN_VERIFY_INTERVAL_MS: "0" },
  });
  try {
    const { sql } = testbed.database;
    const older = testbed.program;
    const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" }).toString("base64");
    for (const [name, key] of [
      [selector, senderPublicKey],
      ["s1", spki],
    ])
      testbed.dns.setText(`${name}._domainkey.${senderDomain}`, "v=DKIM1; p=", ...(key!.match(/.{1,255}/g) ?? []));
    const accepting = await testbed.startNode({ POSTHORN_ROLES: "api", POSTHORN_DKIM_PRIMES: "2" });
    const [row] = await sql<{ id: string }[]>`select id from domains where domain = ${senderDomain}`;
    const id = `dom_${row!.id}`;
    const imported = await accepting.call("DomainService/ImportDkimKey", { id, selector: "s1", privateKeyPem });
    assert.equal(imported.status, 200, JSON.stringify(imported.body));
    // The older program checks the domain, too, and knows its own records only.
    const verified = await accepting.call("DomainService/VerifyDomain", { id });
    assert.equal((verified.body.domain as { summary: { canSend: boolean } }).summary.canSend, true);
    const { body: found } = await accepting.call("DomainService/GetDkimKeys", { id });
    assert.deepEqual((found.keys as { signing: boolean }[])[0]!.signing, true, JSON.stringify(found));
    assert.equal((await older.call("DomainService/VerifyDomain", { id })).status, 200);
    assert.equal(await selectorOf(testbed, "a@there.test"), selector);

    const added = await older.call("DomainService/AddDomain", { domain: "older.test" });
    const newer = await accepting.call("DomainService/AddDomain", { domain: "newer.test" });
    for (const [{ body }, primes] of [
      [added, 3],
      [newer, 2],
    ] as const) {
      const { body: listed } = await accepting.call("DomainService/GetDkimKeys", body.domain);
      const keys = listed.keys as { primes: number }[];
      assert.deepEqual(
        keys.map((key) => key.primes),
        [primes, primes],
      );
    }
    await older.stop();
    await testbed.startNode();
    let sent = 0;
    await until("the imported key to sign", async () => (await selectorOf(testbed, `n${sent++}@there.test`)) === "s1");
  } finally {
    await testbed.stop();
  }
});
