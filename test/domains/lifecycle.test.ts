/** The status of a domain while its records are published, removed and restored,
 * with BIND as the customer's DNS provider and Unbound as the resolver. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type CustomerTestbed,
  type RecordName,
  recordOf,
  recordsOf,
  startCustomerTestbed,
  statusesOf,
  type WireDomain,
  withoutPeers,
} from "../harness/customer.ts";

const requiredRecords: RecordName[] = ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"];

const skip = withoutPeers;

describe("a domain at a DNS provider", () => {
  let testbed: CustomerTestbed;
  let domain: WireDomain;
  before(async () => {
    if (skip) return;
    testbed = await startCustomerTestbed(["shop.test"]);
  });
  after(async () => await testbed?.stop());

  const publish = (...names: RecordName[]) => testbed.bind.add(...names.map((name) => recordOf(domain, name)));
  const withdraw = (...names: RecordName[]) => testbed.bind.remove(...names.map((name) => recordOf(domain, name)));
  const stateOf = ({ status, summary }: WireDomain) => [
    status.replace("DOMAIN_STATUS_", ""),
    summary.nextAction,
    summary.canSend,
    summary.canReceive,
  ];
  const moveClock = (hours: number) =>
    testbed.database
      .sql`update domains set registered_at = registered_at - ${hours} * interval '1 hour', ready_at = ready_at - ${hours} * interval '1 hour',
      dkim_seen_at = dkim_seen_at - ${hours} * interval '1 hour', incomplete_since = incomplete_since - ${hours} * interval '1 hour' where domain = 'shop.test'`;

  it("is registered with all the records that its owner has to publish", { skip }, async () => {
    domain = await testbed.add("Shop.test.");
    assert.deepEqual(stateOf(domain), ["PENDING", "CONFIGURE_DNS", false, false]);
    assert.equal(domain.domain, "shop.test");
    assert.equal(domain.region, "local");
    assert.equal(domain.lastCheckedAt, undefined);
    assert.deepEqual([domain.summary.recordsPending, domain.summary.recordsConfigured], [7, 0]);
    const records = recordsOf(domain);
    assert.equal(records.length, 7);
    for (const record of records) {
      assert.equal(record.status, "RECORD_STATUS_PENDING");
      assert.equal("priority" in record, record.type === "MX", record.name);
      assert.equal(record.name, record.nameShort === "@" ? "shop.test" : `${record.nameShort}.shop.test`);
      assert.ok(record.instructions.includes(record.value), record.instructions);
      assert.equal(record.discoveredValue, "");
    }
    const again = await testbed.program.call("DomainService/AddDomain", { domain: "shop.test" });
    assert.deepEqual([again.status, again.body.code], [409, "already_exists"]);
  });

  it("finds nothing in an empty zone", { skip }, async () => {
    domain = await testbed.verify(domain.id);
    assert.equal(statusesOf(domain), "MISSING MISSING MISSING MISSING MISSING MISSING MISSING");
    assert.deepEqual(stateOf(domain), ["PENDING", "CONFIGURE_DNS", false, false]);
    assert.match(domain.summary.message, /ph1\._domainkey/);
  });

  it("waits while the records are right at the provider and the resolver still caches that they are missing", {
    skip,
  }, async () => {
    await publish(...requiredRecords);
    const { name, value } = recordOf(domain, "dkim1");
    assert.equal(await testbed.dig(testbed.bind, name, "CNAME", "+short"), `${value}.\n`);
    assert.equal(await testbed.dig(testbed.unbound, name, "CNAME", "+short"), "");
    domain = await testbed.verify(domain.id);
    assert.deepEqual(stateOf(domain), ["PENDING", "WAIT", false, false]);
    assert.match(domain.summary.message, /right at your DNS provider/);
    assert.equal(recordOf(domain, "dkim1").status, "RECORD_STATUS_MISSING");
    // The owner removes the records again.
    await withdraw(...requiredRecords);
    domain = await testbed.verifyLater(domain.id);
    assert.deepEqual(stateOf(domain), ["PENDING", "CONFIGURE_DNS", false, false]);
  });

  it("advances record by record: one DKIM record enables sending, all required records make it READY", {
    skip,
  }, async () => {
    await publish("dkim1");
    domain = await testbed.verifyLater(domain.id);
    assert.equal(statusesOf(domain), "FOUND MISSING MISSING MISSING MISSING MISSING MISSING");
    assert.deepEqual(stateOf(domain), ["VERIFYING", "CONFIGURE_DNS", true, false]);
    assert.match(domain.summary.message, /ph2\._domainkey/);

    const second = recordOf(domain, "dkim2");
    await testbed.bind.add({ ...second, value: "another.owner.test" });
    const spf = recordOf(domain, "spf");
    await testbed.bind.add(spf, { ...spf, value: "v=spf1 include:other.test ~all" });
    domain = await testbed.verifyLater(domain.id);
    assert.equal(statusesOf(domain), "FOUND MISMATCH MISMATCH MISSING MISSING MISSING MISSING");
    assert.equal(recordOf(domain, "dkim2").discoveredValue, "another.owner.test");
    assert.match(recordOf(domain, "spf").discoveredValue, /other\.test/);
    assert.match(recordOf(domain, "spf").instructions, /merge them/);

    await testbed.bind.remove(second, spf);
    await publish("dkim2", "dmarc", "mailFromMx");
    domain = await testbed.verifyLater(domain.id);
    assert.equal(statusesOf(domain), "FOUND FOUND MISSING FOUND MISSING FOUND MISSING");
    assert.deepEqual(stateOf(domain), ["VERIFYING", "CONFIGURE_DNS", true, false]);

    await publish("mailFromSpf");
    domain = await testbed.verifyLater(domain.id);
    assert.deepEqual(stateOf(domain), ["READY", "NONE", true, false]);
    assert.match(domain.summary.message, /ready.*Also recommended: the TXT record at shop\.test/);

    await publish("mx", "spf");
    domain = await testbed.verifyLater(domain.id);
    assert.equal(statusesOf(domain), Array(7).fill("FOUND").join(" "));
    assert.deepEqual(stateOf(domain), ["READY", "NONE", true, true]);
    assert.deepEqual([domain.summary.recordsPending, domain.summary.recordsConfigured], [0, 7]);
  });

  it("keeps its status if a record is missing only at the resolver", { skip }, async () => {
    await withdraw("dmarc");
    await testbed.unbound.flush("shop.test");
    assert.equal(await testbed.dig(testbed.unbound, recordOf(domain, "dmarc").name, "TXT", "+short"), "");
    await publish("dmarc");
    domain = await testbed.verify(domain.id);
    assert.equal(recordOf(domain, "dmarc").status, "RECORD_STATUS_FOUND");
    assert.deepEqual(stateOf(domain), ["READY", "NONE", true, true]);
  });

  it("becomes DEGRADED when a required record is removed, and can still send", { skip }, async () => {
    await withdraw("dmarc");
    domain = await testbed.verifyLater(domain.id);
    assert.equal(recordOf(domain, "dmarc").status, "RECORD_STATUS_MISSING");
    assert.deepEqual(stateOf(domain), ["DEGRADED", "CONFIGURE_DNS", true, true]);
    assert.match(domain.summary.message, /_dmarc/);
  });

  it("cannot send without DKIM records, and is FAILED after three days without them", { skip }, async () => {
    await withdraw("dkim1", "dkim2");
    domain = await testbed.verifyLater(domain.id);
    assert.deepEqual(stateOf(domain), ["DEGRADED", "CONFIGURE_DNS", false, false]);
    await moveClock(71);
    domain = await testbed.verify(domain.id);
    assert.equal(domain.status, "DOMAIN_STATUS_DEGRADED");
    await moveClock(2);
    domain = await testbed.verify(domain.id);
    assert.deepEqual(stateOf(domain), ["FAILED", "CONFIGURE_DNS", false, false]);
    const sent = await testbed.program.call("EmailService/SendEmail", {
      from: "a@shop.test",
      to: ["b@there.test"],
      subject: "",
      body: "Hi",
    });
    assert.equal(sent.body.code, "failed_precondition");
  });

  it("recovers when the records are published again", { skip }, async () => {
    await publish("dkim1", "dkim2", "dmarc");
    await testbed.unbound.flush("shop.test");
    // The last check is stale, so GetDomain checks again.
    await testbed.database.sql`update domains set checked_at = now() - interval '6 minutes' where domain = 'shop.test'`;
    domain = await testbed.get(domain.id);
    assert.deepEqual(stateOf(domain), ["READY", "NONE", true, true]);
  });

  it("has one event for each change, in order", { skip }, async () => {
    const { body } = await testbed.program.call("EmailService/ListEvents", { types: ["domain.updated"] });
    const events = (body.data as { event: { domainUpdated: Record<string, unknown> } }[]).map(({ event }) => event);
    assert.deepEqual(
      events.map(({ domainUpdated: { previousStatus, status, canSend, canReceive } }) => [
        `${previousStatus} ${status}`.replaceAll("DOMAIN_STATUS_", ""),
        canSend,
        canReceive,
      ]),
      [
        ["PENDING VERIFYING", true, false],
        ["VERIFYING READY", true, false],
        ["READY READY", true, true],
        ["READY DEGRADED", true, true],
        ["DEGRADED DEGRADED", false, false],
        ["DEGRADED FAILED", false, false],
        ["FAILED READY", true, true],
      ],
    );
  });

  it("keeps its last known status when the provider's servers are down", { skip }, async () => {
    await testbed.bind.stop();
    const before = domain.lastCheckedAt ?? assert.fail();
    domain = await testbed.verifyLater(domain.id);
    assert.equal(statusesOf(domain), Array(7).fill("FOUND").join(" "));
    assert.deepEqual(stateOf(domain), ["READY", "NONE", true, true]);
    assert.match(domain.summary.message, /the last known status is kept/);
    assert.ok((domain.lastCheckedAt ?? "") > before);
  });
});
