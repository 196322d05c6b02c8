import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { type InboundWorld, startInboundWorld, zone } from "../harness/inbound.ts";
import { type Postfix, startPostfix, withoutPostfix } from "../harness/postfix.ts";
import { accepted, getEmail, untilTold } from "../harness/sending.ts";
import { byRecipient } from "../harness/sink.ts";

let world: InboundWorld;
let postfix: Postfix;
before(async () => {
  if (withoutPostfix) return;
  const sinkPort = await freePort();
  const smtpPort = await freePort();
  // there.test has a Postfix in front, which takes everything and learns only later who exists; its bounces come home to us.
  postfix = await startPostfix({
    hostname: "mx.there.test",
    routes: { "there.test": sinkPort, [`bounce.${zone}`]: smtpPort },
  });
  world = await startInboundWorld({
    sink: { port: sinkPort, script: byRecipient({ gone: "550 5.1.1 <gone@there.test>: User unknown" }) },
    env: { POSTHORN_MX_PORT: String(postfix.port), POSTHORN_SMTP: `127.0.0.1:${smtpPort}` },
  });
});
after(async () => {
  await world?.stop();
  await postfix?.stop();
});

test("the genuine DSN of a Postfix on the way turns delivered into bounced", { skip: withoutPostfix }, async () => {
  const id = await accepted(world, { to: ["gone@there.test", "ok@there.test"], metadata: { order: "7" } });
  const told = await untilTold(world, id, "email.bounced");
  assert.deepEqual(told.map(({ type }) => type).sort(), ["email.bounced", "email.delivered", "email.delivered"]);
  const { payload } = told.at(-1)!;
  assert.deepEqual(payload.recipients, ["gone@there.test"]);
  assert.equal(payload.bounceType, "BOUNCE_TYPE_PERMANENT");
  assert.equal(payload.category, "unknown_mailbox");
  assert.equal(payload.enhancedCode, "5.1.1");
  assert.match(payload.smtpReply as string, /User unknown/);
  const email = await getEmail(world, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.deepEqual(
    email.recipients.map(({ address, status }) => [address, status]),
    [
      ["gone@there.test", "RECIPIENT_STATUS_BOUNCED"],
      ["ok@there.test", "RECIPIENT_STATUS_DELIVERED"],
    ],
  );
  assert.match(postfix.output(), /status=bounced/);
});
