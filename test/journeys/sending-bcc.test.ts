import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

test("blind copies are delivered and stand nowhere in the bytes of any copy", async () => {
  const id = await accepted(world, {
    to: ["open@there.test"],
    cc: ["copy@other.test"],
    bcc: ["Hidden Person <hidden@there.test>", "secret@other.test"],
  });
  const recipients = ["open@there.test", "copy@other.test", "hidden@there.test", "secret@other.test"];
  for (const address of recipients) assert.equal(world.sink.received(address).length, 1, address);
  for (const { data } of world.sink.deliveries) {
    assert.doesNotMatch(data.toString("latin1"), /hidden|secret|bcc/i);
    assert.match(data.toString("latin1"), /^Cc: copy@other\.test\r$/m);
  }
  const email = await getEmail(world, id);
  assert.deepEqual(email.bcc, ["Hidden Person <hidden@there.test>", "secret@other.test"]);
});

test("an address in several places, in whatever case, is delivered to once", async () => {
  await accepted(world, {
    to: ["twice@there.test", "Twice@There.test"],
    cc: ["TWICE@there.test"],
    bcc: ["twice@there.test", "once@there.test"],
  });
  assert.equal(world.sink.received("twice@there.test").length, 1);
  assert.equal(world.sink.received("once@there.test").length, 1);
  const lines = world.sink.commands.filter(({ line }) => /^RCPT TO:<twice@/i.test(line));
  assert.equal(lines.length, 1);
});
