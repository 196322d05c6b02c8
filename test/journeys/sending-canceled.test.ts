import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, tellOf, untilTold } from "../harness/sending.ts";
import { byRecipient } from "../harness/sink.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({
    env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" },
    sink: { script: byRecipient({ grey: "451 4.7.1 Greylisted, please try again later" }) },
  });
});
after(async () => await world.stop());

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

test("a canceled email is failed, told about once, and never delivered", async () => {
  const id = await accepted(world, { to: ["a@there.test"], cc: ["b@other.test"], scheduledAt: tomorrow() });
  const { status, body } = await world.call("EmailService/CancelEmail", { id });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.canceledRecipients, 2);
  const email = body.email as Awaited<ReturnType<typeof getEmail>>;
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.equal(email.statusMessage, "canceled");
  assert.deepEqual(
    email.recipients.map((recipient) => recipient.status),
    ["RECIPIENT_STATUS_CANCELED", "RECIPIENT_STATUS_CANCELED"],
  );
  const told = await tellOf(world, id);
  assert.deepEqual(
    told.map(({ type, payload }) => ({ type, payload })),
    [{ type: "email.canceled", payload: { recipients: ["a@there.test", "b@other.test"] } }],
  );

  // Its time comes, and mail in the same lane goes out: the canceled one does not.
  await world.database.sql`update recipients set due_at = now()`;
  await accepted(world, { to: ["next@there.test"], cc: ["next@other.test"] });
  assert.equal(world.sink.received("next@there.test").length, 1);
  assert.equal(world.sink.received("next@other.test").length, 1);
  assert.equal(world.sink.commands.filter(({ line }) => /<[ab]@/.test(line)).length, 0);
});

test("an email between two attempts is canceled for those who wait, and sent for those who have it", async () => {
  const id = await accepted(world, { to: ["ok@there.test", "grey@there.test"] });
  await untilTold(world, id, "email.delayed");
  const { body } = await world.call("EmailService/CancelEmail", { id });
  assert.equal(body.canceledRecipients, 1);
  const email = await getEmail(world, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.deepEqual(
    email.recipients.map((recipient) => [recipient.address, recipient.status]),
    [
      ["ok@there.test", "RECIPIENT_STATUS_DELIVERED"],
      ["grey@there.test", "RECIPIENT_STATUS_CANCELED"],
    ],
  );
  const types = (await tellOf(world, id)).map(({ type }) => type).sort();
  assert.deepEqual(types, ["email.canceled", "email.delayed", "email.delivered"]);
});

test("what is finished, canceled, unknown or not named cannot be canceled", async () => {
  const finished = await accepted(world, { to: ["done@there.test"] });
  const scheduled = await accepted(world, { scheduledAt: tomorrow() });
  await world.call("EmailService/CancelEmail", { id: scheduled });
  for (const id of [finished, scheduled]) {
    const { status, body } = await world.call("EmailService/CancelEmail", { id });
    assert.equal(status, 400);
    assert.equal(body.code, "failed_precondition");
  }
  const unknown = await world.call("EmailService/CancelEmail", { id: "em_01890000-0000-7000-8000-000000000000" });
  assert.equal(unknown.body.code, "not_found");
  const empty = await world.call("EmailService/CancelEmail", {});
  assert.equal(empty.body.code, "invalid_argument");
});

test("twenty callers cancel at once: one of them did it", async () => {
  const id = await accepted(world, { scheduledAt: tomorrow() });
  const answers = await Promise.all(Array.from({ length: 20 }, () => world.call("EmailService/CancelEmail", { id })));
  const codes = answers.map(({ body }) => body.code ?? "ok").sort();
  assert.deepEqual(codes, [...Array(19).fill("failed_precondition"), "ok"]);
  assert.equal((await tellOf(world, id)).length, 1);
});
