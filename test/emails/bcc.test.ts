import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

test("bcc recipients get the email, and no copy of the message contains their addresses", async () => {
  const id = await accepted(testbed, {
    to: ["open@there.test"],
    cc: ["copy@other.test"],
    bcc: ["Hidden Person <hidden@there.test>", "secret@other.test"],
  });
  const recipients = ["open@there.test", "copy@other.test", "hidden@there.test", "secret@other.test"];
  for (const address of recipients) assert.equal(testbed.sink.received(address).length, 1, address);
  for (const { data } of testbed.sink.deliveries) {
    assert.doesNotMatch(data.toString("latin1"), /hidden@|hidden person|secret|^bcc:/im);
    assert.match(data.toString("latin1"), /^Cc: copy@other\.test\r$/m);
  }
  const email = await getEmail(testbed, id);
  assert.deepEqual(email.bcc, ["Hidden Person <hidden@there.test>", "secret@other.test"]);
});

test("an address that occurs several times, in any case, gets one copy", async () => {
  await accepted(testbed, {
    to: ["twice@there.test", "Twice@There.test"],
    cc: ["TWICE@there.test"],
    bcc: ["twice@there.test", "once@there.test"],
  });
  assert.equal(testbed.sink.received("twice@there.test").length, 1);
  assert.equal(testbed.sink.received("once@there.test").length, 1);
  const lines = testbed.sink.commands.filter(({ line }) => /^RCPT TO:<twice@/i.test(line));
  assert.equal(lines.length, 1);
});
