import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { getEmail, type Told, untilFinished, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

/** Capture mode with an ordinary key: nothing leaves, and the mailbox names decide. */
let world: World;
before(async () => {
  world = await startWorld({ env: { POSTHORN_DELIVERY: "capture" } });
});
after(async () => await world.stop());

const all = ["anybody", "delivered", "bounced", "full", "delayed", "complained", "replied", "suppressed"] as const;
const course: Record<(typeof all)[number], string[]> = {
  anybody: ["email.delivered"],
  delivered: ["email.delivered"],
  bounced: ["email.bounced"],
  full: ["email.delayed", "email.bounced"],
  delayed: ["email.delayed", "email.delayed", "email.delivered"],
  complained: ["email.delivered", "email.complained"],
  replied: ["email.delivered", "email.replied"],
  suppressed: ["email.suppressed"],
};

test("one email to every simulated recipient: each takes its own course", async () => {
  const to = all.map((name) => `${name}@there.test`);
  const { status, body } = await world.send({ to, metadata: { run: "7" } });
  assert.equal(status, 200, JSON.stringify(body));
  assert.notEqual(body.status, "EMAIL_STATUS_SENT", "delayed@ is still open after the first attempts");
  const id = body.id as string;
  await untilFinished(world, id);
  for (const last of ["email.complained", "email.replied"]) await untilTold(world, id, last);
  const told = await untilTold(world, id, "email.bounced");
  const of = (name: string) => told.filter((one) => aboutWhom(one) === `${name}@there.test`).map(({ type }) => type);
  for (const name of all) assert.deepEqual(of(name), course[name], name);

  const email = await getEmail(world, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.statusMessage, "accepted for 5 of 8 recipients");
  assert.equal((await world.database.sql`select 1 from suppressions`).length, 0, "a simulation suppresses nobody");
});

test("what was delivered lies in the local mailbox, once for each recipient, signed and whole", async () => {
  const { body } = await world.send({ to: ["a@there.test", "b@other.test"], bcc: ["c@there.test"], body: "Captured" });
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  const folder = join(world.program.dataDir, "mailbox", "new");
  const messages = readdirSync(folder)
    .filter((name) => name.startsWith(body.id as string))
    .map((name) => readFileSync(join(folder, name), "latin1"));
  assert.deepEqual(messages.map((text) => /^Delivered-To: (.*)\r$/m.exec(text)?.[1]).sort(), [
    "a@there.test",
    "b@other.test",
    "c@there.test",
  ]);
  for (const text of messages) {
    assert.match(text, /^DKIM-Signature: /m);
    assert.match(text, /\r\n\r\nCaptured\r\n$/);
    assert.doesNotMatch(text.replace(/^Delivered-To: .*$/m, ""), /c@there\.test/, "a blind copy is named nowhere else");
  }
});

test("nothing has left the machine", () => {
  assert.equal(world.sink.connections.opened, 0);
});

/** A reply tells who wrote it, all the others whom they are about. */
function aboutWhom({ payload }: Told): string {
  return (payload.recipients as string[] | undefined)?.join() ?? (payload.from as string);
}
