/** A domain from its registration to its end, seen through BIND at the customer's provider and Unbound in between. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type CustomerWorld,
  type RecordName,
  recordOf,
  recordsOf,
  startCustomerWorld,
  statusesOf,
  type WireDomain,
  withoutPeers,
} from "../harness/customer.ts";

const needed: RecordName[] = ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"];

const skip = withoutPeers;

describe("a domain at a real provider", () => {
  let world: CustomerWorld;
  let domain: WireDomain;
  before(async () => {
    if (skip) return;
    world = await startCustomerWorld(["shop.test"]);
  });
  after(async () => await world?.stop());

  const publish = (...names: RecordName[]) => world.bind.add(...names.map((name) => recordOf(domain, name)));
  const withdraw = (...names: RecordName[]) => world.bind.remove(...names.map((name) => recordOf(domain, name)));
  const seen = ({ status, summary }: WireDomain) => [
    status.replace("DOMAIN_STATUS_", ""),
    summary.nextAction,
    summary.canSend,
    summary.canReceive,
  ];
  const moveClock = (hours: number) =>
    world.database
      .sql`update domains set created_at = created_at - ${hours} * interval '1 hour', ready_at = ready_at - ${hours} * interval '1 hour',
      dkim_seen_at = dkim_seen_at - ${hours} * interval '1 hour', incomplete_since = incomplete_since - ${hours} * interval '1 hour' where domain = 'shop.test'`;

  it("is registered with everything a person needs to publish it", { skip }, async () => {
    domain = await world.add("Shop.test.");
    assert.deepEqual(seen(domain), ["PENDING", "CONFIGURE_DNS", false, false]);
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
    const again = await world.program.call("DomainService/AddDomain", { domain: "shop.test" });
    assert.deepEqual([again.status, again.body.code], [409, "already_exists"]);
  });

  it("finds nothing in an empty zone", { skip }, async () => {
    domain = await world.verify(domain.id);
    assert.equal(statusesOf(domain), "MISSING MISSING MISSING MISSING MISSING MISSING MISSING");
    assert.deepEqual(seen(domain), ["PENDING", "CONFIGURE_DNS", false, false]);
    assert.match(domain.summary.message, /ph1\._domainkey/);
  });

  it("waits while the provider has it right and the resolver still holds that it is absent", { skip }, async () => {
    await publish(...needed);
    const { name, value } = recordOf(domain, "dkim1");
    assert.equal(await world.dig(world.bind, name, "CNAME", "+short"), `${value}.\n`);
    assert.equal(await world.dig(world.unbound, name, "CNAME", "+short"), "");
    domain = await world.verify(domain.id);
    assert.deepEqual(seen(domain), ["PENDING", "WAIT", false, false]);
    assert.match(domain.summary.message, /right at your DNS provider/);
    assert.equal(recordOf(domain, "dkim1").status, "RECORD_STATUS_MISSING");
    // Its owner changes his mind.
    await withdraw(...needed);
    domain = await world.verifyLater(domain.id);
    assert.deepEqual(seen(domain), ["PENDING", "CONFIGURE_DNS", false, false]);
  });

  it("moves record by record: one DKIM key lets mail leave, all that is needed makes it ready", { skip }, async () => {
    await publish("dkim1");
    domain = await world.verifyLater(domain.id);
    assert.equal(statusesOf(domain), "FOUND MISSING MISSING MISSING MISSING MISSING MISSING");
    assert.deepEqual(seen(domain), ["VERIFYING", "CONFIGURE_DNS", true, false]);
    assert.match(domain.summary.message, /ph2\._domainkey/);

    const second = recordOf(domain, "dkim2");
    await world.bind.add({ ...second, value: "somebody.else.test" });
    const spf = recordOf(domain, "spf");
    await world.bind.add(spf, { ...spf, value: "v=spf1 include:other.test ~all" });
    domain = await world.verifyLater(domain.id);
    assert.equal(statusesOf(domain), "FOUND MISMATCH MISMATCH MISSING MISSING MISSING MISSING");
    assert.equal(recordOf(domain, "dkim2").discoveredValue, "somebody.else.test");
    assert.match(recordOf(domain, "spf").discoveredValue, /other\.test/);
    assert.match(recordOf(domain, "spf").instructions, /merge them/);

    await world.bind.remove(second, spf);
    await publish("dkim2", "dmarc", "mailFromMx");
    domain = await world.verifyLater(domain.id);
    assert.equal(statusesOf(domain), "FOUND FOUND MISSING FOUND MISSING FOUND MISSING");
    assert.deepEqual(seen(domain), ["VERIFYING", "CONFIGURE_DNS", true, false]);

    await publish("mailFromSpf");
    domain = await world.verifyLater(domain.id);
    assert.deepEqual(seen(domain), ["READY", "NONE", true, false]);
    assert.match(domain.summary.message, /ready.*Recommended as well: the TXT record at shop\.test/);

    await publish("mx", "spf");
    domain = await world.verifyLater(domain.id);
    assert.equal(statusesOf(domain), Array(7).fill("FOUND").join(" "));
    assert.deepEqual(seen(domain), ["READY", "NONE", true, true]);
    assert.deepEqual([domain.summary.recordsPending, domain.summary.recordsConfigured], [0, 7]);
  });

  it("stays as it is while only the resolver says that a record is gone", { skip }, async () => {
    await withdraw("dmarc");
    await world.unbound.flush("shop.test");
    assert.equal(await world.dig(world.unbound, recordOf(domain, "dmarc").name, "TXT", "+short"), "");
    await publish("dmarc");
    domain = await world.verify(domain.id);
    assert.equal(recordOf(domain, "dmarc").status, "RECORD_STATUS_FOUND");
    assert.deepEqual(seen(domain), ["READY", "NONE", true, true]);
  });

  it("is degraded when a needed record goes, and sends on", { skip }, async () => {
    await withdraw("dmarc");
    domain = await world.verifyLater(domain.id);
    assert.equal(recordOf(domain, "dmarc").status, "RECORD_STATUS_MISSING");
    assert.deepEqual(seen(domain), ["DEGRADED", "CONFIGURE_DNS", true, true]);
    assert.match(domain.summary.message, /_dmarc/);
  });

  it("cannot send without DKIM, and has failed after three days of it", { skip }, async () => {
    await withdraw("dkim1", "dkim2");
    domain = await world.verifyLater(domain.id);
    assert.deepEqual(seen(domain), ["DEGRADED", "CONFIGURE_DNS", false, false]);
    await moveClock(71);
    domain = await world.verify(domain.id);
    assert.equal(domain.status, "DOMAIN_STATUS_DEGRADED");
    await moveClock(2);
    domain = await world.verify(domain.id);
    assert.deepEqual(seen(domain), ["FAILED", "CONFIGURE_DNS", false, false]);
    const sent = await world.program.call("EmailService/SendEmail", {
      ...{ from: "a@shop.test", to: ["b@there.test"], subject: "", body: "Hi" },
    });
    assert.equal(sent.body.code, "failed_precondition");
  });

  it("recovers by itself when the records are back", { skip }, async () => {
    await publish("dkim1", "dkim2", "dmarc");
    await world.unbound.flush("shop.test");
    // Stale: GetDomain looks again.
    await world.database
      .sql`update domains set last_checked_at = now() - interval '6 minutes' where domain = 'shop.test'`;
    domain = await world.get(domain.id);
    assert.deepEqual(seen(domain), ["READY", "NONE", true, true]);
  });

  it("has told each change once, in order", { skip }, async () => {
    const { body } = await world.program.call("EmailService/ListEvents", { types: ["domain.updated"] });
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

  it("keeps all it knows when the provider's servers are down", { skip }, async () => {
    await world.bind.stop();
    const before = domain.lastCheckedAt ?? assert.fail();
    domain = await world.verifyLater(domain.id);
    assert.equal(statusesOf(domain), Array(7).fill("FOUND").join(" "));
    assert.deepEqual(seen(domain), ["READY", "NONE", true, true]);
    assert.match(domain.summary.message, /what was known before is kept/);
    assert.ok((domain.lastCheckedAt ?? "") > before);
  });
});
