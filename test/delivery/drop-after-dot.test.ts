/** A connection that breaks before the reply to the final dot leaves the attempt in doubt. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

for (const how of ["close", "reset"] as const) {
  test(`a connection that breaks after the final dot (${how}): retried, and reported as a possible duplicate`, async () => {
    const address = `${how}@there.test`;
    testbed.sink.script = ({ verb, recipient, seen }) =>
      verb === "dot" && recipient === address && seen === 1 ? how : undefined;
    const [id, otherId] = await Promise.all([
      accepted(testbed, { to: [address] }),
      accepted(testbed, { to: [`other-${how}@there.test`] }),
    ]);
    const events = await untilEvent(testbed, id!, "email.delivered");
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate]),
      [
        ["email.delayed", 1, true],
        ["email.delivered", 2, true],
      ],
    );
    assert.equal((await getEmail(testbed, id!)).status, "EMAIL_STATUS_SENT");
    const copies = testbed.sink.deliveries.filter(
      ({ recipients, complete }) => complete && recipients.includes(address),
    );
    assert.equal(copies.length, 2);
    assert.deepEqual(copies[0]!.raw, copies[1]!.raw, "a receiver can recognize the second copy by its Message-ID");
    const [other] = await untilEvent(testbed, otherId!, "email.delivered");
    assert.equal(other!.payload.possibleDuplicate, false, "an email outside the broken transaction is not in doubt");
  });
}

test("a connection that breaks inside the message: retried, and not in doubt", async () => {
  testbed.sink.script = ({ verb, recipient, seen, received }) => {
    if (recipient !== "cut@there.test") return undefined;
    if (verb === "data") cut = seen === 1;
    return verb === "bytes" && cut && received > 0 ? "reset" : undefined;
  };
  let cut = false;
  const id = await accepted(testbed, { to: ["cut@there.test"], body: "A long line of words. ".repeat(50_000) });
  const events = await untilEvent(testbed, id, "email.delivered");
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload.possibleDuplicate]),
    [
      ["email.delayed", false],
      ["email.delivered", false],
    ],
  );
  assert.equal(testbed.sink.received("cut@there.test").length, 1);
});
