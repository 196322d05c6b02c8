import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

for (const how of ["close", "reset"] as const) {
  test(`a connection that breaks after the final dot (${how}): tried again, and flagged as a possible duplicate`, async () => {
    const address = `${how}@there.test`;
    world.sink.script = ({ verb, recipient, seen }) =>
      verb === "dot" && recipient === address && seen === 1 ? how : undefined;
    const [id, calm] = await Promise.all([
      accepted(world, { to: [address] }),
      accepted(world, { to: [`calm-${how}@there.test`] }),
    ]);
    const told = await untilTold(world, id!, "email.delivered");
    assert.deepEqual(
      told.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate]),
      [
        ["email.delayed", 1, undefined],
        ["email.delivered", 2, true],
      ],
    );
    assert.equal((await getEmail(world, id!)).status, "EMAIL_STATUS_SENT");
    const copies = world.sink.deliveries.filter(({ recipients, complete }) => complete && recipients.includes(address));
    assert.equal(copies.length, 2);
    assert.deepEqual(copies[0]!.raw, copies[1]!.raw, "a receiver can tell the copies by their Message-ID");
    const [other] = await untilTold(world, calm!, "email.delivered");
    assert.equal(other!.payload.possibleDuplicate, false, "who shared nothing with it is not in doubt");
  });
}

test("a connection that breaks inside the message leaves no doubt", async () => {
  world.sink.script = ({ verb, recipient, seen, received }) => {
    if (recipient !== "cut@there.test") return undefined;
    if (verb === "data") cut = seen === 1;
    return verb === "bytes" && cut && received > 0 ? "reset" : undefined;
  };
  let cut = false;
  const id = await accepted(world, { to: ["cut@there.test"], body: "A long line of words. ".repeat(50_000) });
  const told = await untilTold(world, id, "email.delivered");
  assert.deepEqual(
    told.map(({ type, payload }) => [type, payload.possibleDuplicate]),
    [
      ["email.delayed", undefined],
      ["email.delivered", false],
    ],
  );
  assert.equal(world.sink.received("cut@there.test").length, 1);
});
