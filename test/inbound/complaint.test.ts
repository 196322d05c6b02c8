import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  deliverInbound,
  feedbackAddress,
  type InboundTestbed,
  returnPathOf,
  startInboundTestbed,
} from "../harness/inbound.ts";
import { accepted, eventsOf, untilEvent } from "../harness/sending.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

/** A report from the corpus, rewritten to contain this return path. */
function report(name: string, returnPath: string, recipient: string): string {
  return readFileSync(new URL(`../corpus/inbound/${name}.eml`, import.meta.url), "utf8")
    .replaceAll(`rp-${"a".repeat(52)}@bounce.mail.posthorn.test`, returnPath)
    .replaceAll("gone@there.test", recipient);
}

test("a complaint that contains our return path is reported once, and suppresses the recipient who complained", async () => {
  const id = await accepted(testbed, { to: ["x@there.test", "y@there.test"], metadata: { order: "1" } });
  const raw = report("arf-full", returnPathOf(id), "x@there.test");
  assert.match(await deliverInbound(testbed, { to: feedbackAddress, raw }), /^250/);
  await deliverInbound(testbed, { to: feedbackAddress, raw });
  const events = await untilEvent(testbed, id, "email.complained");
  const complaints = events.filter(({ type }) => type === "email.complained");
  assert.equal(complaints.length, 1);
  assert.deepEqual(complaints[0]!.payload, {
    recipients: ["x@there.test"],
    feedbackType: "abuse",
    userAgent: "SomeGenerator/1.0",
    arrivedAt: "2026-11-02T10:00:05Z",
  });
  const [suppressed] = await untilEvent(testbed, await accepted(testbed, { to: ["x@there.test"] }), "email.suppressed");
  assert.equal(suppressed!.payload.reason, "SUPPRESSION_REASON_COMPLAINT");
  await untilEvent(testbed, await accepted(testbed, { to: ["y@there.test"] }), "email.delivered");
});

test("a report that redacts the recipient counts for the recipient of its return path", async () => {
  const id = await accepted(testbed, { to: ["p@there.test", "z@there.test"] });
  const raw = report("arf-redacted", returnPathOf(id, 1), "redacted@there.test");
  await deliverInbound(testbed, { to: feedbackAddress, raw });
  const events = await untilEvent(testbed, id, "email.complained");
  assert.deepEqual(events.at(-1)!.payload.recipients, ["z@there.test"]);
  await untilEvent(testbed, await accepted(testbed, { to: ["p@there.test"] }), "email.delivered");
});

test("a forged report changes nothing, and the feedback address rejects other mail", async () => {
  const id = await accepted(testbed, { to: ["v@there.test"] });
  const forged = report("arf-full", returnPathOf(id), "v@there.test").replaceAll(
    returnPathOf(id).slice(10, 40),
    "b".repeat(30),
  );
  assert.match(await deliverInbound(testbed, { to: feedbackAddress, raw: forged }), /^250/);
  await deliverInbound(testbed, {
    to: feedbackAddress,
    raw: report("arf-without-token", returnPathOf(id), "v@there.test"),
  });
  await untilEvent(testbed, await accepted(testbed, { to: ["v@there.test"] }), "email.delivered");
  assert.deepEqual(
    (await eventsOf(testbed, id)).map(({ type }) => type),
    ["email.delivered"],
  );
  await assert.rejects(deliverInbound(testbed, { to: feedbackAddress, raw: "Subject: hi\n\nhi\n" }), /550 5\.7\.1/);
});
