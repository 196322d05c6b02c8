import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { violationsOf } from "../harness/sending.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
  testbed.dns.set("inside.test", "A", "10.1.2.3");
  testbed.dns.set("inside6.test", "AAAA", "fd00::1");
  testbed.dns.set("mapped.test", "AAAA", "::ffff:192.168.1.1");
  testbed.dns.set("wire.test", "A", "168.63.129.16");
  testbed.dns.set("outside.test", "A", "93.184.215.14");
});
after(async () => await testbed.stop());

const rejected: [string, RegExp][] = [
  ["", /is required/],
  ["hooks.example.com", /is not a URL/],
  ["ftp://outside.test/", /must start with https/],
  ["http://outside.test/", /http is allowed only for ranges that the operator lists/],
  ["https://user:pw@outside.test/", /must not contain a user name/],
  ["https://outside.test:25/", /port 25/],
  ["https://outside.test/a b", /spaces/],
  [`https://outside.test/${"x".repeat(2048)}`, /at most 2048/],
  ["https://127.0.0.2/", /private or reserved/],
  ["https://[::1]/", /private or reserved/],
  ["https://10.0.0.1/", /private or reserved/],
  ["https://169.254.169.254/latest/", /private or reserved/],
  ["https://[fe80::1]/", /private or reserved/],
  ["https://[::ffff:10.0.0.1]/", /private or reserved/],
  ["https://0177.0.0.2/", /private or reserved/],
  ["https://0x7f.2/", /private or reserved/],
  ["https://2130706434/", /private or reserved/],
  ["https://0.0.0.0/", /private or reserved/],
  ["https://168.63.129.16/", /private or reserved/],
  ["https://[::ffff:168.63.129.16]/", /private or reserved/],
  ["https://[64:ff9b::a83f:8110]/", /private or reserved/],
  ["https://inside.test/", /inside\.test, which resolves to an address that is not public/],
  ["https://inside6.test/", /inside6\.test, which resolves to an address that is not public/],
  ["https://mapped.test/", /mapped\.test, which resolves to an address that is not public/],
  ["https://wire.test/", /wire\.test, which resolves to an address that is not public/],
];

for (const [url, reason] of rejected) {
  test(`${JSON.stringify(url.slice(0, 60))} is rejected when it is saved`, async () => {
    const { status, body } = await testbed.call("WebhookService/CreateWebhook", { url });
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(body.code, "invalid_argument");
    const [violation] = violationsOf(body);
    assert.equal(violation!.field, "url");
    assert.match(violation!.description, reason);
    if (/inside|mapped|wire/.test(url))
      assert.doesNotMatch(JSON.stringify(body), /10\.1\.2\.3|fd00|192\.168|c0a8|168\.63/i, "no address in the answer");
  });
}

test("public addresses, names without a DNS record, and ranges that the operator allows are accepted", async () => {
  for (const url of [
    "https://outside.test/hook",
    "https://not-yet.test/",
    "http://127.0.0.1:8080/",
    "https://93.184.215.14/",
  ])
    assert.equal((await testbed.createWebhook({ url })).url, url);
});

test("an update is checked in the same way, and a rejected update changes nothing", async () => {
  const { id, url } = await testbed.createWebhook();
  const { status, body } = await testbed.call("WebhookService/UpdateWebhook", {
    id,
    url: "https://10.0.0.1/",
    description: "x",
  });
  assert.equal(status, 400);
  assert.deepEqual(
    violationsOf(body).map(({ field }) => field),
    ["url"],
  );
  const after = await testbed.getWebhook(id);
  assert.deepEqual([after.url, after.description], [url, ""]);
});
