/** Keys on nodes of an older commit and of the current one: limited keys are never accepted without their limits. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { checkOut, type OlderCheckout } from "../harness/older-checkout.ts";
import type { RunningProgram } from "../harness/program.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

/** The last commit of schema version 1. */
const checkoutOrReason = await checkOut("8e1c90549fe626eda94e3d877052539a04514f10");
const skip = typeof checkoutOrReason === "string" ? checkoutOrReason : false;
after(async () => {
  if (typeof checkoutOrReason !== "string") await checkoutOrReason.remove();
});

describe("keys while nodes of two versions run", { skip }, () => {
  let testbed: Testbed;
  let older: RunningProgram;
  let newer: RunningProgram;
  before(async () => {
    testbed = await startTestbed();
    newer = testbed.program;
    older = await testbed.startNode({}, checkoutOrReason as OlderCheckout);
  });
  after(async () => await testbed?.stop());

  const create = async (node: RunningProgram, request: object) => {
    const { status, body } = await node.call("KeyService/CreateKey", { name: "k", ...request });
    assert.equal(status, 200, JSON.stringify(body));
    return { secret: body.secret as string, id: (body.key as { id: string }).id };
  };
  const sendAt = async (node: RunningProgram, key: string, from = "a@sender.test") => {
    const email = { from, to: ["a@there.test"], subject: "s", body: "b", async: true };
    return (await node.call("EmailService/SendEmail", email, { key })).status;
  };
  const send = { permission: "KEY_PERMISSION_SEND" };

  it("keys without limits, or with one domain, work on both, whichever node creates them", async () => {
    for (const node of [older, newer]) {
      const plain = await create(node, send);
      const bound = await create(node, { ...send, domain: "sender.test" });
      for (const target of [older, newer]) {
        assert.equal(await sendAt(target, plain.secret), 200);
        assert.equal(await sendAt(target, bound.secret), 200);
        assert.equal(await sendAt(target, bound.secret, "a@other.test"), 403);
      }
    }
  });

  it("limited keys are unknown to the older node, which still lists them", async () => {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const limited = [
      { ...send, allowedRecipients: ["there.test"] },
      { ...send, allowedAddresses: ["127.0.0.0/8", "::1"] },
      { ...send, expiresAt },
      { permission: "KEY_PERMISSION_FULL", domains: ["sender.test"] },
      { scopes: ["KEY_SCOPE_SEND"] },
    ];
    for (const request of limited) {
      const { secret } = await create(newer, request);
      assert.equal(await sendAt(newer, secret), 200, JSON.stringify(request));
      assert.equal(await sendAt(older, secret), 401, JSON.stringify(request));
    }
    const { status, body } = await older.call("KeyService/ListKeys", { pageSize: 100 });
    assert.equal(status, 200);
    assert.ok((body.data as unknown[]).length >= limited.length);
  });

  it("a key that gets limits is refused by the older node, and one that is rotated works on both", async () => {
    const { secret, id } = await create(newer, send);
    assert.equal(await sendAt(older, secret), 200);
    const rotated = await newer.call("KeyService/RotateKey", { id });
    for (const node of [older, newer])
      for (const key of [secret, rotated.body.secret as string]) assert.equal(await sendAt(node, key), 200);
    await newer.call("KeyService/UpdateKey", { id, allowedRecipients: ["there.test"] });
    assert.deepEqual([await sendAt(newer, secret), await sendAt(older, secret)], [200, 401]);
  });
});
