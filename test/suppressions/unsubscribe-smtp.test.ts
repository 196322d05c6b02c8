/** Topics over SMTP submission, and without a public https address. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { getEmail, untilFinished } from "../harness/sending.ts";
import { submit, submitRaw } from "../harness/submission.ts";
import { senderPublicKey, startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, linkOf, post, publicUrl } from "../harness/unsubscribe.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
});
after(async () => await testbed.stop());

const header = { "X-Posthorn-Unsubscribe": "news" };
const mail = { from: "news@sender.test", to: "smtp@there.test", subject: "S", text: "T" };

test("a submitted message gets signed fields and a link that works", async () => {
  const { id } = await submit(testbed, { ...mail, headers: header });
  await untilFinished(testbed, id);
  const { data } = testbed.sink.received("smtp@there.test")[0]!;
  assert.doesNotMatch(data.toString("latin1"), /x-posthorn-unsubscribe/i);
  const { results } = await dkimVerify(data, { resolver: async () => [[`v=DKIM1; k=rsa; p=${senderPublicKey}`]] });
  assert.equal(results[0]!.status.result, "pass");
  assert.equal((await getEmail(testbed, id)).unsubscribeTopic, "news");
  assert.equal((await post(testbed, linkOf(data))).status, 200);
  assert.equal((await entriesOf(testbed)).length, 1);
  const second = await submit(testbed, { ...mail, headers: header });
  assert.equal((await untilFinished(testbed, second.id)).outcome, "EMAIL_OUTCOME_SUPPRESSED");
});

test("several recipients, a bad topic, or list fields of the sender are refused", async () => {
  const two = { ...mail, to: "a@there.test, b@there.test", headers: header };
  await assert.rejects(submit(testbed, two), /X-Posthorn-Unsubscribe.*exactly one recipient/s);
  await assert.rejects(submit(testbed, { ...mail, headers: { "X-Posthorn-Unsubscribe": "No Topic" } }), /lower-case/);
  const raw = "From: news@sender.test\nX-Posthorn-Unsubscribe: news\nList-Unsubscribe: <https://x.test/>\n\ntext\n";
  await assert.rejects(submitRaw(testbed, { to: ["a@there.test"], raw }), /sets List-Unsubscribe: keep one/);
});

test("without a public https address, a topic is refused and other mail is sent", async () => {
  const node = await testbed.startNode({ POSTHORN_PUBLIC_URL: "http://mail.posthorn.test" });
  const countStored = async () =>
    (await testbed.database.sql`select 1 from emails where envelope ? 'unsubscribe'`).length;
  const before = await countStored();
  const { status, body } = await testbed.send({ unsubscribe: { topic: "news" } });
  assert.deepEqual([status, body.code], [400, "failed_precondition"]);
  assert.match(String(body.message), /POSTHORN_PUBLIC_URL is http:\/\/mail\.posthorn\.test\. Set it to/);
  await assert.rejects(submit(testbed, { ...mail, headers: header }, { node }), /550 5\.7\.1 .*POSTHORN_PUBLIC_URL/s);
  assert.equal((await testbed.send({})).status, 200);
  assert.equal(await countStored(), before);
});
