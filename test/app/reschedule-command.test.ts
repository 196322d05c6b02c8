/** posthorn emails reschedule, on the local store and at a remote instance. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { type CommandBed, everywhere, startCommandBed } from "../harness/commands.ts";

const skip = EmailService.methods.some(({ name }) => name === "UpdateEmail") ? false : "the API has no UpdateEmail";

let bed: CommandBed | undefined;
before(async () => {
  if (!skip) bed = await startCommandBed();
});
after(async () => await bed?.stop());

test("a scheduled email gets another time, and a sent one is refused", { skip }, async () => {
  const { program, succeed, rowsOf, fails } = bed!;
  const dayMs = 86_400_000;
  const email = { from: "shop@example.test", to: ["ada@example.test"], subject: "Later", body: "x" };
  const send = async (more: object) =>
    (await program.call("EmailService/SendEmail", { ...email, ...more })).body.id as string;
  for (const where of everywhere) {
    const id = await send({ scheduledAt: new Date(Date.now() + dayMs).toISOString() });
    const time = new Date(Date.now() + 2 * dayMs).toISOString();
    assert.notEqual(await succeed(where, "emails", "reschedule", id, time), "");
    const [shown] = await rowsOf<{ scheduledAt: string }>(where, "emails", "get", id);
    assert.equal(Date.parse(shown!.scheduledAt), Date.parse(time));
    const later = new Date(Date.now() + 99 * dayMs).toISOString();
    await fails(1, /30 days/, where, ["emails", "reschedule", id, later]);
    await fails(1, /schedul/, where, ["emails", "reschedule", await send({}), time]);
  }
});
