import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { accepted, getEmail, untilFinished, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

const goodbye = { reply: "421 4.3.2 Service shutting down", after: "close" } as const;

let world: World;
before(async () => {
  world = await startWorld();
});
beforeEach(() => {
  world.sink.script = () => undefined;
});
after(async () => await world.stop());

test("a warm session that says 421 to the next message: sent at once on a new connection, nobody hears of it", async () => {
  await accepted(world, { to: ["first@there.test"] });
  world.sink.script = ({ verb, transaction }) => (verb === "mail" && transaction > 1 ? goodbye : undefined);
  const before = world.sink.connections.opened;
  const id = await accepted(world, { to: ["second@there.test"] });
  const told = await untilTold(world, id, "email.delivered");
  assert.deepEqual(
    told.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate]),
    [["email.delivered", 1, false]],
  );
  assert.equal(world.sink.connections.opened, before + 1);
  assert.equal(world.sink.received("second@there.test").length, 1);
});

test("421 between two recipients: both are deferred, come back together, and get one copy each", async () => {
  world.sink.script = ({ verb, recipient, seen }) =>
    verb === "rcpt" && recipient === "b@other.test" && seen === 1 ? goodbye : undefined;
  const id = await accepted(world, { to: ["a@other.test", "b@other.test"] });
  const email = await untilFinished(world, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  const told = await untilTold(world, id, "email.delivered");
  assert.deepEqual(
    told.map(({ type, payload }) => `${type} ${payload.recipients} ${payload.possibleDuplicate ?? ""}`).sort(),
    [
      "email.delayed a@other.test ",
      "email.delayed b@other.test ",
      "email.delivered a@other.test false",
      "email.delivered b@other.test false",
    ],
  );
  for (const { payload } of told.filter(({ type }) => type === "email.delayed"))
    assert.match(payload.smtpReply as string, /^421 4\.3\.2/);
  const [copy, ...more] = world.sink.deliveries.filter(({ recipients }) => recipients.includes("a@other.test"));
  assert.deepEqual([copy!.recipients, more], [["a@other.test", "b@other.test"], []]);
});

test("421 to the final dot is a refusal like another: deferred without doubt, then delivered", async () => {
  world.sink.script = ({ verb, seen }) => (verb === "dot" && seen === 1 ? goodbye : undefined);
  const id = await accepted(world, { to: ["dot@there.test"] });
  const told = await untilTold(world, id, "email.delivered");
  assert.deepEqual(
    told.map(({ type, payload }) => [type, payload.possibleDuplicate]),
    [
      ["email.delayed", undefined],
      ["email.delivered", false],
    ],
  );
  assert.equal((await getEmail(world, id)).recipients[0]!.attempts, 2);
});

test("a server that greets with 421: deferred as its own words say", async () => {
  world.sink.script = ({ verb }) => (verb === "connect" ? goodbye : undefined);
  // The warm sessions of the tests before are gone only when the server closes them.
  world.sink.hangUp();
  const id = await accepted(world, { to: ["closed@there.test"] });
  const [delayed] = await untilTold(world, id, "email.delayed");
  assert.match(delayed!.payload.smtpReply as string, /^421 4\.3\.2/);
  world.sink.script = () => undefined;
  assert.equal((await untilFinished(world, id)).status, "EMAIL_STATUS_SENT");
});
