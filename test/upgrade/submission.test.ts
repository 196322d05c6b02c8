/** During an upgrade a program of an older commit may lease mail that was submitted over SMTP. It cannot send it, and must not send half of it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { checkOut, type OlderCheckout } from "../harness/older-checkout.ts";
import { untilEvent } from "../harness/sending.ts";
import { submit } from "../harness/submission.ts";
import { startTestbed } from "../harness/testbed.ts";

/** The last commit before mail could be submitted. */
const olderCommit = "4e697fcd80334bb703eb947f0a3d881b47587329";
const checkoutOrReason = await checkOut(olderCommit);
const skip = typeof checkoutOrReason === "string" ? checkoutOrReason : false;
after(async () => {
  if (typeof checkoutOrReason !== "string") await checkoutOrReason.remove();
});

test("submitted mail waits for a program that can send it", { skip }, async () => {
  const testbed = await startTestbed({ checkout: checkoutOrReason as OlderCheckout });
  try {
    const older = testbed.program;
    const accepting = await testbed.startNode({ POSTHORN_ROLES: "api" });
    const { id } = await submit(
      testbed,
      { from: "news@sender.test", to: "ann@there.test", subject: "Kept", text: "the whole text" },
      { node: accepting },
    );
    const delays = (await untilEvent(testbed, id, "email.delayed")).map(({ payload }) => payload.category);
    assert.equal(delays[0], "internal");
    assert.equal(testbed.sink.received("ann@there.test").length, 0);
    await older.stop();
    await testbed.startNode();
    await testbed.untilEvents("the delivery", (all) =>
      all.some(({ event }) => event.type === "email.delivered" && event.emailId === id),
    );
    const [arrived] = testbed.sink.received("ann@there.test");
    assert.match(arrived!.data.toString("latin1"), /^Subject: Kept\r\n(?:.*\r\n)*the whole text\r\n/m);
  } finally {
    await testbed.stop();
  }
});
