import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { getEmail, untilFinished } from "../harness/sending.ts";
import { byRecipient, on, scripts } from "../harness/sink.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({
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
after(async () => await world.stop());

const send = async (to: string[], more = {}, headers?: Record<string, string>) =>
  (await world.send({ to, ...more }, headers)).body;

test("taken by every receiver: SENT, with what the receiver said", async () => {
  const body = await send(["a@there.test", "b@other.test"]);
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  assert.equal(body.statusMessage, "250 2.0.0 Queued");
  assert.match(body.id as string, /^em_[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.match(body.messageId as string, /^<.+@sender\.test>$/);
});

test("refused by every receiver: FAILED, with the reason", async () => {
  const body = await send(["gone@there.test", "denied@other.test"]);
  assert.equal(body.status, "EMAIL_STATUS_FAILED");
  assert.match(body.statusMessage as string, /^550 5\./);
});

test("taken by one and refused by another: SENT, and the email tells who", async () => {
  const body = await send(["fine@there.test", "denied@there.test"]);
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  const { recipients } = await getEmail(world, body.id as string);
  assert.deepEqual(
    recipients.map(({ status, lastReply }) => [status, lastReply]),
    [
      ["RECIPIENT_STATUS_DELIVERED", "250 2.0.0 Queued"],
      ["RECIPIENT_STATUS_BOUNCED", "550 5.7.1 Not today"],
    ],
  );
});

test("deferred: QUEUED, with the reason, also beside one that was taken", async () => {
  for (const to of [["grey@there.test"], ["fine@there.test", "grey@other.test"]]) {
    const body = await send(to);
    assert.equal(body.status, "EMAIL_STATUS_QUEUED");
    assert.match(body.statusMessage as string, /^451 4\.7\.1 Greylisted/);
  }
});

test("async: QUEUED at once, before anything was tried", async () => {
  const body = await send(["a@there.test"], { async: true });
  assert.equal(body.status, "EMAIL_STATUS_QUEUED");
  assert.equal((await untilFinished(world, body.id as string)).status, "EMAIL_STATUS_SENT");
});

test("a caller in a hurry is answered before its deadline, and the email goes on", async () => {
  const { status, body } = await world.send({ to: ["slow@there.test"] }, { "connect-timeout-ms": "600" });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.status, "EMAIL_STATUS_PROCESSING");
  const email = await untilFinished(world, body.id as string);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.statusMessage, "250 2.0.0 Queued at last");
});

test("no time at all: deadline_exceeded and nothing stored, or accepted and answered", async () => {
  const [before] = await world.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => world.send({ to: ["a@there.test"] }, { "connect-timeout-ms": String(i) })),
  );
  const taken = answers.filter(({ status }) => status === 200).length;
  const late = answers.filter(({ body }) => body.code === "deadline_exceeded").length;
  assert.equal(taken + late, 20, JSON.stringify(answers.map(({ body }) => body)));
  assert.ok(late > 0, "a deadline of 0 ms was met");
  const [now] = await world.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  assert.equal(now!.n - before!.n, taken);
});
