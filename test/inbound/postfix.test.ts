import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { type InboundTestbed, returnPathOf, startInboundTestbed, zone } from "../harness/inbound.ts";
import { type Postfix, startPostfix, withoutPostfix } from "../harness/postfix.ts";
import { accepted, getEmail, untilEvent } from "../harness/sending.ts";
import { byRecipient } from "../harness/sink-script.ts";

let testbed: InboundTestbed;
let postfix: Postfix;
before(async () => {
  if (withoutPostfix) return;
  const sinkPort = await freePort();
  const smtpPort = await freePort();
  // Postfix is the MX of there.test. It accepts every recipient, forwards to the sink, and sends bounces to our return path.
  postfix = await startPostfix({
    hostname: "mx.there.test",
    routes: { "there.test": sinkPort, [`bounce.${zone}`]: smtpPort },
  });
  testbed = await startInboundTestbed({
    sink: { port: sinkPort, script: byRecipient({ gone: "550 5.1.1 <gone@there.test>: User unknown" }) },
    env: { POSTHORN_MX_PORT: String(postfix.port), POSTHORN_SMTP: `127.0.0.1:${smtpPort}` },
  });
});
after(async () => {
  await testbed?.stop();
  await postfix?.stop();
});

test("a DSN from a real Postfix arrives at the return path of its recipient, a blind copy, and moves only this one", {
  skip: withoutPostfix,
}, async () => {
  const id = await accepted(testbed, { to: ["ok@there.test"], bcc: ["gone@there.test"], metadata: { order: "7" } });
  const events = await untilEvent(testbed, id, "email.bounced");
  assert.deepEqual(events.map(({ type }) => type).sort(), ["email.bounced", "email.delivered", "email.delivered"]);
  const { payload } = events.at(-1)!;
  assert.deepEqual(payload.recipients, ["gone@there.test"]);
  assert.equal(payload.bounceType, "BOUNCE_TYPE_PERMANENT");
  assert.equal(payload.category, "unknown_mailbox");
  assert.equal(payload.enhancedCode, "5.1.1");
  assert.match(payload.smtpReply as string, /User unknown/);
  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.deepEqual(
    email.recipients.map(({ address, status }) => [address, status]),
    [
      ["ok@there.test", "RECIPIENT_STATUS_DELIVERED"],
      ["gone@there.test", "RECIPIENT_STATUS_BOUNCED"],
    ],
  );
  assert.match(postfix.output(), /status=bounced/);
  assert.match(postfix.output(), new RegExp(`to=<${returnPathOf(id, 1)}>.*status=sent`));
  assert.doesNotMatch(postfix.output(), new RegExp(`to=<${returnPathOf(id, 0)}>`));
});
