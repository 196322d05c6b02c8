/** The replies of a real Postfix are judged by rows of src/delivery/rules/wordings.json, and one with words of its operator is counted. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Postfix, startPostfix, withoutPostfix } from "../harness/postfix.ts";
import { operate } from "../harness/quotas.ts";
import { accepted, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let postfix: Postfix;
before(async () => {
  if (withoutPostfix) return;
  postfix = await startPostfix({
    hostname: "mx.there.test",
    routes: { "there.test": "discard" },
    settings: {
      mynetworks: "192.0.2.0/24",
      smtpd_relay_restrictions: "reject_unauth_destination",
      relay_recipient_maps: "inline:{ { ok@there.test = x }, { strict@there.test = x }, { odd@there.test = x } }",
      smtpd_recipient_restrictions:
        "check_recipient_access inline:{ { strict@there.test = REJECT }, { odd@there.test = REJECT the moon is low } }",
      header_checks: "regexp:{ { /^Subject: Offer/ REJECT } }",
    },
  });
  testbed = await startTestbed({ env: { POSTHORN_MX_PORT: String(postfix.port) } });
  testbed.dns.set("elsewhere.test", "MX", "10 mx.there.test");
});
after(async () => {
  await testbed?.stop();
  await postfix?.stop();
});

/** The address, the subject, and what must come of it. */
const cases: [address: string, subject: string, category: string, reply: RegExp][] = [
  [
    "gone@there.test",
    "Hi",
    "unknown_mailbox",
    /^550 5\.1\.1 <gone@there\.test>: .*User unknown in relay recipient table/,
  ],
  ["a@elsewhere.test", "Hi", "relay_denied", /^554 5\.7\.1 .*Relay access denied/],
  ["strict@there.test", "Hi", "policy", /^554 5\.7\.1 .*Recipient address rejected: Access denied/],
  ["ok@there.test", "Offer", "spam_content", /^550 5\.7\.1 message content rejected/],
  ["odd@there.test", "Hi", "policy", /^554 5\.7\.1 .*: the moon is low/],
];

test("each refusal of Postfix has its category, and only an unknown mailbox is suppressed", {
  skip: withoutPostfix,
}, async () => {
  for (const [address, subject, category, reply] of cases) {
    const id = await accepted(testbed, { to: [address], subject });
    const { payload } = (await untilEvent(testbed, id, "email.bounced")).at(-1)!;
    assert.equal(payload.category, category, String(payload.smtpReply));
    assert.match(String(payload.smtpReply), reply);
  }
  const good = await accepted(testbed, { to: ["ok@there.test"], subject: "Hi" });
  await untilEvent(testbed, good, "email.delivered");
  const { body } = await testbed.program.call("SuppressionService/ListSuppressions", {});
  assert.deepEqual(
    (body.data as { address: string }[]).map(({ address }) => address),
    ["gone@there.test"],
  );
});

test("the only wording that the operator sees is the one that the operator of Postfix wrote", {
  skip: withoutPostfix,
}, async () => {
  const listed = await until(
    "the counted wording",
    async () => (await operate(testbed, "wordings", "--json")) || undefined,
  );
  assert.deepEqual(
    listed
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { shape: string }).shape),
    ["<address> Recipient address rejected: the moon is low"],
  );
});
