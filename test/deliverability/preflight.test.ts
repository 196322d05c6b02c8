/** A pre-flight against a scripted DNS server: a good domain passes every check, and each broken thing fails exactly its own check. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { dkimKeyText } from "../../src/mail/dkim-record.ts";
import type { Answer, RunningProgram } from "../harness/program.ts";
import { addSendingDomain, senderDomain, senderPublicKey, startTestbed, type Testbed } from "../harness/testbed.ts";
import { publicUrl } from "../harness/unsubscribe.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

const zone = "mail.posthorn.test";
const helo = `mail.${zone}`;
/** Public addresses, because blocklists are not asked about others. Only the scripted DNS server is. */
const addresses = {
  good: "1.2.3.4",
  noPtr: "1.2.3.5",
  oneWay: "1.2.3.6",
  listed: "1.2.3.7",
  refused: "1.2.3.8",
  silent: "1.2.3.9",
};
const reversed = (address: string) => address.split(".").reverse().join(".");

type Check = {
  id: string;
  result: string;
  found: string;
  fix: string;
  records: { type: string; name: string; value: string }[];
  demands: { receiver: string; required: boolean; url: string; published: string }[];
};
const sample = {
  from: `Shop <news@${senderDomain}>`,
  to: ["ada@there.test"],
  subject: "Your order",
  body: "Your order has shipped. To unsubscribe: https://shop.test/u/1",
  html: "<p>Your order has shipped. <a href='https://shop.test/u/1'>Unsubscribe</a></p>",
};
const oneClick = {
  "List-Unsubscribe": "<https://shop.test/u/1>",
  "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
};

describe("a pre-flight", () => {
  let testbed: Testbed;
  before(async () => {
    testbed = await startTestbed({
      env: {
        POSTHORN_PUBLIC_IPS: addresses.good,
        POSTHORN_BLOCKLISTS: "zen.lists.test,domain:dbl.lists.test",
      },
    });
    const { dns } = testbed;
    // Nothing is cached, so that a changed record counts at once.
    dns.ttl = 0;
    await testbed.database.sql`update domains set mail_from_ready = true`;
    dns.set(`ph1._domainkey.${senderDomain}`, "TXT", dkimKeyText(senderPublicKey));
    dns.set(`_dmarc.${senderDomain}`, "TXT", `v=DMARC1; p=none; rua=mailto:d@${senderDomain}`);
    dns.set(`bounce.${senderDomain}`, "TXT", `v=spf1 include:spf.${zone} ~all`);
    dns.set(senderDomain, "MX", `10 inbound.${zone}`);
    dns.set(`spf.${zone}`, "TXT", `v=spf1 ip4:1.2.3.0/24 -all`);
    dns.set(helo, "A", ...Object.values(addresses));
    for (const [name, address] of Object.entries(addresses))
      if (name !== "noPtr")
        dns.set(`${reversed(address)}.in-addr.arpa`, "PTR", name === "oneWay" ? "other.test" : helo);
    dns.set("other.test", "A", "9.9.9.9");
    dns.set(`${reversed(addresses.listed)}.zen.lists.test`, "A", "127.0.0.2");
    dns.set(`${reversed(addresses.refused)}.zen.lists.test`, "A", "127.255.255.254");
    dns.behave(`${reversed(addresses.silent)}.zen.lists.test`, "timeout");
  });
  after(async () => await testbed?.stop());

  const check = async (request: object, at: RunningProgram = testbed.program): Promise<Answer> =>
    await at.call("DeliverabilityService/CheckDeliverability", { domain: senderDomain, ...request });
  const checksOf = ({ status, body }: Answer): Check[] => {
    assert.equal(status, 200, JSON.stringify(body));
    return body.checks as Check[];
  };
  const wordOf = ({ result }: Check) => result.replace("DELIVERABILITY_RESULT_", "");
  /** The checks that do not pass, without those that cannot in a test and those that do not apply. */
  const openOf = (checks: Check[]) =>
    checks
      .filter((one) => !["PASS", "NOT_NEEDED"].includes(wordOf(one)) && one.id !== "spam-rate")
      .map((one) => `${one.id} ${wordOf(one)}`);
  const nodeWith = async (env: Record<string, string>, work: (node: RunningProgram) => Promise<void>) => {
    const node = await testbed.startNode({ POSTHORN_ROLES: "api", ...env });
    await work(node).finally(() => node.stop());
  };

  it("passes for a good domain and a good sample, and leaves nothing behind", async () => {
    const answer = await check({ email: { ...sample, headers: oneClick }, bulk: true });
    const checks = checksOf(answer);
    assert.deepEqual(openOf(checks), []);
    assert.equal(answer.body.result, "DELIVERABILITY_RESULT_PASS");
    assert.equal(answer.body.summary, `${senderDomain} meets every demand that was checked.`);
    const shown = answer.body.sample as Record<string, unknown>;
    assert.equal(shown.returnPathDomain, `bounce.${senderDomain}`);
    assert.equal(shown.signedWith, `ph1._domainkey.${senderDomain}`);
    assert.ok(Number(shown.sizeBytes) > 500);
    // A signed message in the answer could be sent elsewhere, past quotas and suspension.
    assert.doesNotMatch(JSON.stringify(answer.body), /DKIM-Signature|bh=/);
    const [{ emails }] = (await testbed.database.sql`select count(*)::int as emails from emails`) as [
      { emails: number },
    ];
    assert.equal(emails, 0);
    assert.deepEqual(await testbed.events(), []);
    assert.equal(testbed.sink.deliveries.length, 0);
    const dmarc = checks.find(({ id }) => id === "dmarc")!;
    assert.match(dmarc.found, /p=none.*enough today.*p=quarantine/);
    assert.deepEqual(
      dmarc.demands.map(({ receiver, required }) => [receiver, required]),
      [
        ["MAIL_RECEIVER_GMAIL", true],
        ["MAIL_RECEIVER_YAHOO", true],
        ["MAIL_RECEIVER_MICROSOFT", true],
      ],
    );
    for (const { url, published } of checks.flatMap(({ demands }) => demands)) {
      assert.match(url, /^https:\/\//);
      assert.match(published, /^\d{4}-\d\d-\d\d$/);
    }
  });

  it("fails exactly the check of what is missing in the sample", async () => {
    const cases: [email: object, bulk: boolean, open: string[]][] = [
      [{}, true, ["one-click FAIL"]],
      [{ headers: { "List-Unsubscribe": "<mailto:u@shop.test>" } }, true, ["one-click FAIL"]],
      [{ body: "" }, false, ["text-part WARN"]],
      [{ html: `${sample.html}<p style="display: none">Cheap</p>` }, false, ["hidden-content WARN"]],
      [{ subject: "Re: your order" }, false, ["reply-prefix WARN"]],
      [
        { from: "shop@gmail.com" },
        false,
        ["alignment WARN", "dmarc WARN", "dmarc-reports WARN", "from-domain FAIL", "reply-address WARN"],
      ],
    ];
    for (const [email, bulk, open] of cases)
      assert.deepEqual(
        openOf(checksOf(await check({ email: { ...sample, ...email }, bulk }))),
        open,
        JSON.stringify(email),
      );
  });

  it("adds the link of a topic as SendEmail does, and refuses it without a public https address", async () => {
    const unsubscribe = { topic: "news" };
    const head = [`From: news@${senderDomain}`, "To: ada@there.test", "Subject: Hi", "X-Posthorn-Unsubscribe: news"];
    const raw = (...lines: string[]) =>
      Buffer.from(`${[...head, ...lines].join("\r\n")}\r\n\r\nTo unsubscribe, reply\r\n`).toString("base64");
    for (const request of [{ email: { ...sample, unsubscribe } }, { raw: raw() }]) {
      const refused = await check({ ...request, bulk: true });
      assert.equal(refused.body.code, "failed_precondition", JSON.stringify(refused.body));
      assert.match(String(refused.body.message), /POSTHORN_PUBLIC_URL is not set/);
    }
    await nodeWith({ POSTHORN_PUBLIC_URL: publicUrl }, async (node) => {
      for (const request of [{ email: { ...sample, unsubscribe } }, { raw: raw() }]) {
        const answer = await check({ ...request, bulk: true }, node);
        const checks = checksOf(answer);
        assert.deepEqual(openOf(checks), [], JSON.stringify(request));
        const oneClick = checks.find(({ id }) => id === "one-click")!;
        assert.match(oneClick.found, /Both headers are present, and the DKIM signature covers them/);
        assert.ok(!JSON.stringify(answer.body).includes("/unsubscribe/"), "the link stays in the sample");
      }
      const codes = [];
      for (const email of [{ cc: ["b@there.test"] }, { headers: oneClick }, { unsubscribe: { topic: "Bad topic" } }])
        codes.push((await check({ email: { ...sample, unsubscribe, ...email } }, node)).body.code);
      assert.deepEqual(codes, ["invalid_argument", "invalid_argument", "invalid_argument"]);
      const twice = checksOf(await check({ raw: raw("Cc: b@there.test") }, node));
      assert.match(twice.find(({ id }) => id === "accepted")!.found, /needs exactly one recipient/);
    });
  });

  it("fails exactly the check of what is missing in DNS", async () => {
    const { dns } = testbed;
    await nodeWith({}, async (node) => {
      const open = async (bulk = true) =>
        openOf(checksOf(await check({ email: { ...sample, headers: oneClick }, bulk }, node)));
      const broken = async (name: string, type: "TXT" | "MX", value: string | undefined, ...good: string[]) => {
        if (value === undefined) dns.remove(name, type);
        else dns.set(name, type, value);
        const found = await open();
        dns.set(name, type, ...good);
        return found;
      };
      const dmarc = `v=DMARC1; p=none; rua=mailto:d@${senderDomain}`;
      assert.deepEqual(await broken(`_dmarc.${senderDomain}`, "TXT", undefined, dmarc), [
        "dmarc FAIL",
        "dmarc-reports WARN",
      ]);
      assert.deepEqual(await broken(`_dmarc.${senderDomain}`, "TXT", "v=DMARC1; p=none", dmarc), [
        "dmarc-reports WARN",
      ]);
      const spf = `v=spf1 include:spf.${zone} ~all`;
      assert.deepEqual(await broken(`bounce.${senderDomain}`, "TXT", "v=spf1 -all", spf), ["spf FAIL"]);
      const key = dkimKeyText(senderPublicKey);
      assert.deepEqual(await broken(`ph1._domainkey.${senderDomain}`, "TXT", undefined, key), ["dkim FAIL"]);
      assert.deepEqual(await broken(senderDomain, "MX", "0 .", `10 inbound.${zone}`), ["reply-address WARN"]);
      dns.set(`${senderDomain}.dbl.lists.test`, "A", "127.0.1.2");
      assert.deepEqual(await open(), ["blocklist-domain FAIL"]);
      dns.remove(`${senderDomain}.dbl.lists.test`);
      dns.behave(`_dmarc.${senderDomain}`, "servfail");
      assert.deepEqual(
        await open(false),
        ["alignment UNKNOWN", "dmarc UNKNOWN", "dmarc-reports UNKNOWN"],
        "no answer is never a pass",
      );
      dns.behave(`_dmarc.${senderDomain}`, undefined);
      assert.deepEqual(await open(), []);
    });
  });

  it("checks an imported key that signs, and names its record and its replacement", async () => {
    const { dns } = testbed;
    const call = async (method: string, request: object) => {
      const { status, body } = await testbed.program.call(`DomainService/${method}`, request);
      assert.equal(status, 200, JSON.stringify(body));
      return body as Record<string, { name: string; value: string }> & {
        key: { id: string; record: Check["records"][0] };
      };
    };
    const domain = "imported.test";
    const id = `dom_${await addSendingDomain(testbed.database.sql, testbed.workspaceId, domain)}`;
    dns.set(`ph1._domainkey.${domain}`, "TXT", dkimKeyText(senderPublicKey));
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" });
    const { key } = await call("ImportDkimKey", { id, selector: "s1", privateKeyPem });
    dns.set(key.record.name, "TXT", key.record.value);
    await call("VerifyDomain", { id });
    await nodeWith({}, async (node) => {
      const rows = async () => {
        const answer = await check({ domain }, node);
        const found = checksOf(answer);
        const row = (id: string) => found.find((one) => one.id === id)!;
        return { dkim: row("dkim"), length: row("dkim-key"), sample: answer.body.sample as { signedWith: string } };
      };
      const good = await rows();
      assert.equal(good.sample.signedWith, `s1._domainkey.${domain}`);
      assert.deepEqual([wordOf(good.dkim), wordOf(good.length)], ["PASS", "WARN"]);
      assert.match(good.dkim.found, /s1\._domainkey\.imported\.test/);
      assert.match(good.length.fix, /posthorn domains import-key imported\.test/, "a rotation would not replace it");
      dns.remove(key.record.name, "TXT");
      const lost = await rows();
      assert.equal(wordOf(lost.dkim), "FAIL");
      assert.deepEqual(lost.dkim.records, [{ type: "TXT", name: key.record.name, value: key.record.value }]);
      assert.match(lost.dkim.fix, /posthorn domains remove-key imported\.test s1/);
    });
    await call("RemoveDkimKey", { id: key.id });
  });

  it("fails exactly the check of a sending address", async () => {
    const cases: [env: Record<string, string>, open: string[]][] = [
      [{ POSTHORN_PUBLIC_IPS: addresses.noPtr }, ["ptr FAIL"]],
      [{ POSTHORN_PUBLIC_IPS: addresses.listed }, ["blocklist-address FAIL"]],
      [{ POSTHORN_PUBLIC_IPS: `${addresses.oneWay},${addresses.refused}` }, ["ptr FAIL", "blocklist-address UNKNOWN"]],
      [
        { POSTHORN_PUBLIC_IPS: addresses.silent, POSTHORN_HOSTNAME: "wrong.test" },
        ["helo FAIL", "blocklist-address UNKNOWN"],
      ],
    ];
    for (const [env, open] of cases)
      await nodeWith(env, async (node) => {
        const checks = checksOf(await check({ email: sample, bulk: false }, node));
        assert.deepEqual(openOf(checks), open, JSON.stringify(env));
      });
  });

  it("never asks a blocklist about a private address, and asks once for all tenants", async () => {
    const { dns } = testbed;
    await nodeWith({ POSTHORN_PUBLIC_IPS: `10.1.2.3,${addresses.good}` }, async (node) => {
      dns.queries.length = 0;
      await check({}, node);
      await check({}, node);
      const asked = dns.queries.filter(({ name }) => name.endsWith(".zen.lists.test")).map(({ name }) => name);
      assert.deepEqual([...new Set(asked)], [`${reversed(addresses.good)}.zen.lists.test`]);
      assert.equal(asked.length, 1, asked.join());
    });
  });

  it("judges a whole message that Posthorn refuses, and one of 30 MB", async () => {
    const raw = (...lines: string[]) => Buffer.from(`${lines.join("\r\n")}\r\n\r\nHello\r\n`).toString("base64");
    const from = `From: news@${senderDomain}`;
    const head = ["To: ada@there.test", "Subject: Hi"];
    await nodeWith({}, async (node) => {
      const open = async (request: object) => openOf(checksOf(await check(request, node)));
      assert.deepEqual(await open({ raw: raw(from, ...head) }), [], "Date and Message-ID are added, as on submission");
      assert.deepEqual(await open({ raw: raw(from, from, ...head) }), [
        "accepted FAIL",
        "single-fields FAIL",
        "from-address FAIL",
        "date FAIL",
        "message-id FAIL",
      ]);
      assert.deepEqual(
        await open({ raw: raw(`${from}, b@${senderDomain}`, "Date: yesterday", "Message-ID: <a@b.test>", ...head) }),
        ["accepted FAIL", "from-address FAIL", "date FAIL"],
      );
      const long = `X-Long: ${"x".repeat(1000)}`;
      assert.ok((await open({ raw: raw(from, long, ...head) })).includes("line-length FAIL"));
      const attachment = {
        filename: "a.bin",
        contentType: "application/octet-stream",
        base64Content: randomBytes(22_000_000).toString("base64"),
      };
      const answer = await check({ email: { ...sample, attachments: [attachment] } }, node);
      assert.deepEqual(openOf(checksOf(answer)), ["size FAIL"]);
      assert.ok(Number((answer.body.sample as { sizeBytes: number }).sizeBytes) > 30_000_000);
    });
  });

  it("says that content is unknown without a sample, and checks a sent email", async () => {
    await nodeWith({}, async (node) => {
      const without = checksOf(await check({}, node));
      const content = ["size", "text-part", "hidden-content", "reply-prefix", "accepted", "from-domain"];
      for (const id of content) {
        const one = without.find((found) => found.id === id)!;
        assert.equal(wordOf(one), "UNKNOWN", id);
        assert.match(one.found, /no sample/);
      }
      assert.equal(wordOf(without.find(({ id }) => id === "dkim")!), "PASS");
      const sent = await testbed.send({ html: "<p>Only HTML</p>", body: "", async: true });
      assert.equal(sent.status, 200);
      const request = { domain: "", emailId: sent.body.id };
      assert.deepEqual(openOf(checksOf(await check(request, node))), ["text-part WARN"]);
    });
  });

  it("ends in time when DNS is silent or away, and calls nothing a pass that it did not see", async () => {
    const silent = createSocket("udp4").bind(0, "127.0.0.1");
    await once(silent, "listening");
    const ports = [silent.address().port, 9];
    for (const port of ports)
      await nodeWith({ POSTHORN_RESOLVERS: `127.0.0.1:${port}` }, async (node) => {
        const request = { domain: senderDomain, email: { ...sample, headers: oneClick }, bulk: true };
        const headers = { "connect-timeout-ms": "30000" };
        const checks = checksOf(await node.call("DeliverabilityService/CheckDeliverability", request, { headers }));
        const unknown = ["dkim", "spf", "dmarc", "dmarc-reports", "ptr", "helo", "reply-address"];
        for (const id of [...unknown, "blocklist-address", "blocklist-domain"])
          assert.equal(wordOf(checks.find((one) => one.id === id)!), "UNKNOWN", `${id} with port ${port}`);
        assert.equal(wordOf(checks.find(({ id }) => id === "size")!), "PASS", "the sample needs no DNS");
      });
    silent.close();
  });

  it("refuses what it must: other tenants' things, other domains, several samples, too many checks", async () => {
    await nodeWith({}, async (node) => {
      const codeOf = async (request: object, key?: string) => {
        const answer = await node.call("DeliverabilityService/CheckDeliverability", request, key ? { key } : {});
        return answer.status === 200 ? "ok" : String(answer.body.code);
      };
      assert.equal(await codeOf({}), "invalid_argument");
      assert.equal(await codeOf({ domain: "unknown.test" }), "not_found");
      assert.equal(await codeOf({ domainId: "dom_01932c5e-7b1a-7abc-8def-0123456789ab" }), "not_found");
      assert.equal(await codeOf({ domain: senderDomain, email: sample, raw: "eA==" }), "invalid_argument");
      assert.equal(
        await codeOf({ domain: senderDomain, email: { ...sample, headers: { From: "x@y.test" } } }),
        "invalid_argument",
      );
      assert.equal(
        await codeOf({ domain: senderDomain, emailId: "em_01932c5e-7b1a-7abc-8def-0123456789ab" }),
        "not_found",
      );
      const keyWith = async (limits: object) => {
        const answer = await node.call("KeyService/CreateKey", { name: "limited", ...limits });
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        return answer.body.secret as string;
      };
      const scoped = await keyWith({ scopes: ["KEY_SCOPE_DOMAINS"] });
      const emailId = "em_01932c5e-7b1a-7abc-8def-0123456789ab";
      assert.equal(await codeOf({ domain: senderDomain, emailId }, scoped), "permission_denied");
      const reading = await keyWith({ permission: "KEY_PERMISSION_READ" });
      assert.equal(await codeOf({ domain: senderDomain }, reading), "permission_denied");
      await addSendingDomain(testbed.database.sql, testbed.workspaceId, "second.test");
      const pinned = await keyWith({ scopes: ["KEY_SCOPE_DOMAINS", "KEY_SCOPE_SEND"], domains: ["second.test"] });
      assert.equal(await codeOf({ domain: senderDomain }, pinned), "permission_denied");
      const theirs = await makeWorkspace(testbed.database.sql, "Their workspace");
      assert.equal(await codeOf({ domain: senderDomain }, theirs), "not_found");
      const codes: string[] = [];
      for (let i = 0; i < 12; i += 1) codes.push(await codeOf({ domain: senderDomain }));
      assert.ok(codes.includes("ok"), codes.join());
      const last = await node.call("DeliverabilityService/CheckDeliverability", { domain: senderDomain });
      assert.equal(last.body.code, "resource_exhausted");
      assert.ok(Number(last.headers.get("retry-after")) > 0);
    });
  });
});
