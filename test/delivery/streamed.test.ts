/** Large mail is read from the database while it is sent. What the receiver takes is always the whole message. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { readMessage } from "../../src/mail/message/read.ts";
import { holdLock, type Lock } from "../harness/held-lock.ts";
import { accepted, eventsOf, untilFinished } from "../harness/sending.ts";
import type { Delivery } from "../harness/sink-script.ts";
import { senderPublicKey, startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

const mib = 1024 * 1024;
let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

const request = (to: string, files: Buffer[]) => ({
  to: [to],
  async: true,
  attachments: files.map((file, i) => ({
    filename: `film-${i}.bin`,
    contentType: "video/mp4",
    base64Content: file.toString("base64"),
  })),
});
/** Only emails that are due at once are kept in memory for their first attempt. */
const fromStore = (to: string, files: Buffer[]) => ({
  ...request(to, files),
  scheduledAt: new Date(Date.now() + 3000).toISOString(),
});
const filesIn = (raw: Buffer) => readMessage(raw, 1_000_000).parts.map(({ content }) => content);

/** Calls `act` once, when the sink has received this much of a message. */
function whenReceived(bytes: number, act: () => void): void {
  let done = false;
  testbed.sink.script = ({ verb, received }) => {
    if (verb === "bytes" && received > bytes && !done) {
      done = true;
      act();
    }
    return undefined;
  };
}

test("files of 6 and 2 MiB and a small one arrive unchanged, signed, as GetEmailContent shows them", async () => {
  const files = [randomBytes(6 * mib), randomBytes(1000), randomBytes(2 * mib + 1)];
  const id = await accepted(testbed, request("whole@there.test", files));
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  const [{ data }] = testbed.sink.received("whole@there.test") as [Delivery];
  assert.ok(filesIn(data).every((file, i) => file.equals(files[i]!)));
  const { results } = await dkimVerify(data, { resolver: async () => [[`v=DKIM1; k=rsa; p=${senderPublicKey}`]] });
  assert.equal(results[0]!.status.result, "pass");
  const { body } = await testbed.call("EmailService/GetEmailContent", { id });
  const raw = Buffer.from(body.raw as string, "base64");
  assert.ok(data.subarray(data.length - raw.length).equals(raw));
});

test("a connection to the database that is lost in the middle of DATA ends the transfer, and the next one is complete", async () => {
  const file = randomBytes(25 * mib);
  const to = "again@there.test";
  const locking = Promise.withResolvers<Lock>();
  whenReceived(mib, () => {
    const text = "lock table email_contents in access exclusive mode";
    holdLock(testbed.database.url, text).then(locking.resolve, locking.reject);
  });
  const id = await accepted(testbed, fromStore(to, [file]));
  const lock = await locking.promise;
  await until("the read of the next pieces to be lost", async () => {
    const ended = await testbed.database.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'posthorn' and datname = current_database() and wait_event_type = 'Lock' and query like 'copy %'`;
    return ended.length > 0;
  });
  await until("the transfer to end", () =>
    testbed.sink.deliveries.some(({ recipients, complete }) => recipients.includes(to) && !complete),
  );
  await lock.release();
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  const received = testbed.sink.received(to);
  assert.equal(received.length, 1);
  assert.ok(filesIn(received[0]!.data)[0]!.equals(file));
  const types = (await eventsOf(testbed, id)).map(({ type }) => type);
  assert.deepEqual(types, ["email.delivered"]);
});

/** Resolves when the content was deleted, after the receiver has taken its beginning. */
function deletedDuringData(to: string): Promise<unknown> {
  const deleted = Promise.withResolvers<unknown>();
  whenReceived(mib, () => {
    deleted.resolve(
      testbed.database.sql`delete from email_contents where part = 1 and email_id = (
      select email_id from recipients where address = ${to})`.then((rows) => rows),
    );
  });
  return deleted.promise;
}

test("the first attempt of a new email reads nothing from the store", async () => {
  const to = "memory@there.test";
  const deleted = deletedDuringData(to);
  const file = randomBytes(25 * mib);
  const id = await accepted(testbed, request(to, [file]));
  await deleted;
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  assert.ok(filesIn(testbed.sink.received(to)[0]!.data)[0]!.equals(file));
});

test("content that is deleted in the middle of DATA fails the email, and the receiver takes nothing", async () => {
  const to = "gone@there.test";
  const deleted = deletedDuringData(to);
  const id = await accepted(testbed, fromStore(to, [randomBytes(25 * mib)]));
  await deleted;
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_FAILED");
  const [failed] = await eventsOf(testbed, id);
  assert.equal(failed!.payload.category, "content_lost");
  assert.equal(
    failed!.payload.reason,
    "The content of this email was deleted because its retention period has passed.",
  );
  assert.deepEqual(testbed.sink.received(to), []);
});
