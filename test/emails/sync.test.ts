/** The status that a synchronous SendEmail call returns. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { getEmail, untilFinished } from "../harness/sending.ts";
import { byRecipient, on, scripts } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" },
    sink: {
      script: scripts(
        byRecipient({
          gone: "550 5.1.1 No such user here",
          denied: "550 5.7.1 Not today",
          grey: "451 4.7.1 Greylisted, please try again later",
        }),
        on("dot", ({ recipient }) =>
          recipient === "slow@there.test" ? { reply: "250 2.0.0 Queued at last", dripMs: 40 } : undefined,
        ),
      ),
    },
  });
});
after(async () => await testbed.stop());

const send = async (to: string[], more = {}, headers?: Record<string, string>) =>
  (await testbed.send({ to, ...more }, headers)).body;

test("an email that every receiver accepts returns SENT with the receiver's reply", async () => {
  const body = await send(["a@there.test", "b@other.test"]);
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  assert.equal(body.statusMessage, "250 2.0.0 Queued");
  assert.match(body.id as string, /^em_[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.match(body.messageId as string, /^<.+@sender\.test>$/);
});

test("an email that every receiver rejects returns FAILED with the reason", async () => {
  const body = await send(["gone@there.test", "denied@other.test"]);
  assert.equal(body.status, "EMAIL_STATUS_FAILED");
  assert.match(body.statusMessage as string, /^550 5\./);
});

test("an email that one receiver accepts and another rejects returns SENT, and GetEmail shows both replies", async () => {
  const body = await send(["fine@there.test", "denied@there.test"]);
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  const { recipients } = await getEmail(testbed, body.id as string);
  assert.deepEqual(
    recipients.map(({ status, lastReply }) => [status, lastReply]),
    [
      ["RECIPIENT_STATUS_DELIVERED", "250 2.0.0 Queued"],
      ["RECIPIENT_STATUS_BOUNCED", "550 5.7.1 Not today"],
    ],
  );
});

test("an email with a deferred recipient returns QUEUED with the reason, even if another recipient was accepted", async () => {
  for (const to of [["grey@there.test"], ["fine@there.test", "grey@other.test"]]) {
    const body = await send(to);
    assert.equal(body.status, "EMAIL_STATUS_QUEUED");
    assert.match(body.statusMessage as string, /^451 4\.7\.1 Greylisted/);
  }
});

test("an async call returns QUEUED immediately, before the first attempt", async () => {
  const body = await send(["a@there.test"], { async: true });
  assert.equal(body.status, "EMAIL_STATUS_QUEUED");
  assert.equal((await untilFinished(testbed, body.id as string)).status, "EMAIL_STATUS_SENT");
});

test("a caller with a short deadline gets PROCESSING before it expires, and the delivery continues", async () => {
  const { status, body } = await testbed.send({ to: ["slow@there.test"] }, { "connect-timeout-ms": "600" });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.status, "EMAIL_STATUS_PROCESSING");
  const email = await untilFinished(testbed, body.id as string);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.statusMessage, "250 2.0.0 Queued at last");
});

test("with almost no time left, a call fails with deadline_exceeded and stores nothing, or it succeeds", async () => {
  const [before] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, i) => testbed.send({ to: ["a@there.test"] }, { "connect-timeout-ms": String(i) })),
  );
  const accepted = responses.filter(({ status }) => status === 200).length;
  const expired = responses.filter(({ body }) => body.code === "deadline_exceeded").length;
  assert.equal(accepted + expired, 20, JSON.stringify(responses.map(({ body }) => body)));
  assert.ok(expired > 0, "a deadline of 0 ms was met");
  const [now] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  assert.equal(now!.n - before!.n, accepted);
});
