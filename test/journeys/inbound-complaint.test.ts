import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { bring, feedbackAddress, type InboundWorld, returnPathOf, startInboundWorld } from "../harness/inbound.ts";
import { accepted, tellOf, untilTold } from "../harness/sending.ts";

let world: InboundWorld;
before(async () => {
  world = await startInboundWorld();
});
after(async () => await world.stop());

/** A report of the corpus about an email of ours: with its own return path in it. */
function report(name: string, emailId: string, recipient: string): string {
  return readFileSync(new URL(`../corpus/inbound/${name}.eml`, import.meta.url), "utf8")
    .replaceAll(`rp-${"a".repeat(52)}@bounce.mail.posthorn.test`, returnPathOf(emailId))
    .replaceAll("gone@there.test", recipient);
}

test("a complaint with our return path in it is told once, and ends mail to whoever complained", async () => {
  const id = await accepted(world, { to: ["x@there.test", "y@there.test"], metadata: { order: "1" } });
  const raw = report("arf-full", id, "x@there.test");
  assert.match(await bring(world, { to: feedbackAddress, raw }), /^250/);
  await bring(world, { to: feedbackAddress, raw });
  const events = await untilTold(world, id, "email.complained");
  const complaints = events.filter(({ type }) => type === "email.complained");
  assert.equal(complaints.length, 1);
  assert.deepEqual(complaints[0]!.payload, {
    recipients: ["x@there.test"],
    feedbackType: "abuse",
    userAgent: "SomeGenerator/1.0",
    arrivedAt: "2026-11-02T10:00:05Z",
  });
  const [suppressed] = await untilTold(world, await accepted(world, { to: ["x@there.test"] }), "email.suppressed");
  assert.equal(suppressed!.payload.reason, "SUPPRESSION_REASON_COMPLAINT");
  await untilTold(world, await accepted(world, { to: ["y@there.test"] }), "email.delivered");
});

test("a report that hides who complained counts for the only recipient there was", async () => {
  const id = await accepted(world, { to: ["z@there.test"] });
  await bring(world, { to: feedbackAddress, raw: report("arf-redacted", id, "z@there.test") });
  const events = await untilTold(world, id, "email.complained");
  assert.deepEqual(events.at(-1)!.payload.recipients, ["z@there.test"]);
});

test("of several recipients nobody is guessed", async () => {
  const id = await accepted(world, { to: ["p@there.test", "q@there.test"] });
  await bring(world, { to: feedbackAddress, raw: report("arf-redacted", id, "z@there.test") });
  const events = await untilTold(world, id, "email.complained");
  assert.deepEqual(events.at(-1)!.payload.recipients, []);
  await untilTold(world, await accepted(world, { to: ["p@there.test"] }), "email.delivered");
});

test("a forged report changes nothing, and other mail is refused at the feedback address", async () => {
  const id = await accepted(world, { to: ["v@there.test"] });
  const forged = report("arf-full", id, "v@there.test").replaceAll(returnPathOf(id).slice(10, 40), "b".repeat(30));
  assert.match(await bring(world, { to: feedbackAddress, raw: forged }), /^250/);
  await bring(world, { to: feedbackAddress, raw: report("arf-without-token", id, "v@there.test") });
  await untilTold(world, await accepted(world, { to: ["v@there.test"] }), "email.delivered");
  assert.deepEqual(
    (await tellOf(world, id)).map(({ type }) => type),
    ["email.delivered"],
  );
  await assert.rejects(bring(world, { to: feedbackAddress, raw: "Subject: hi\n\nhi\n" }), /550 5\.7\.1/);
});
