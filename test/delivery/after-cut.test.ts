/** When the database has lost its newest writes, recipients that were due may have their email already: the next attempt is in doubt. Later
 * emails are not. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cutLogs } from "../../src/postgres/log-origin.ts";
import { makeDue, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_ROLES: "api,housekeeping" } });
});
after(async () => await testbed?.stop());

test("mail that was due at the cut is flagged as a possible duplicate, and mail sent after it is not", async () => {
  const sent = async (subject: string) => (await testbed.send({ subject, async: true })).body.id as string;
  const due = await sent("due");
  await cutLogs(testbed.database.sql);
  const later = await sent("later");
  testbed.call = testbed.program.call;
  await testbed.startNode({ POSTHORN_ROLES: "delivery" });
  const events = await testbed.untilEvents("two outcomes", (all) => all.length >= 2);
  const flags = new Map(
    events.map(({ event }) => [event.emailId, (event.delivered as { possibleDuplicate: boolean }).possibleDuplicate]),
  );
  assert.deepEqual([flags.get(due), flags.get(later)], [true, false]);
});

test("mail that was scheduled before the cut is flagged too, because a lost UpdateEmail may have sent it earlier", async () => {
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  const scheduled = async (to: string) => (await testbed.send({ to: [to], scheduledAt })).body.id as string;
  const before = await scheduled("before@there.test");
  await cutLogs(testbed.database.sql);
  const afterwards = await scheduled("after@there.test");
  await makeDue(testbed);
  for (const [id, isPossible] of [
    [before, true],
    [afterwards, false],
  ] as const) {
    const events = await untilEvent(testbed, id, "email.delivered");
    assert.equal(events[0]!.payload.possibleDuplicate, isPossible);
  }
});
