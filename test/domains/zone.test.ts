/** The zone, the provider and the merged SPF record of a subdomain whose parent is the zone at BIND, with Unbound as the resolver. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type CustomerTestbed, recordOf, recordsOf, startCustomerTestbed, withoutPeers } from "../harness/customer.ts";
import { until } from "../harness/wait.ts";

const skip = withoutPeers;

describe("a subdomain in the zone of its parent", () => {
  let testbed: CustomerTestbed;
  let id: string;
  before(async () => {
    if (!skip) testbed = await startCustomerTestbed(["contoso.test"]);
  });
  after(async () => await testbed?.stop());

  it("gets names relative to the zone, before and after the zone is found", { skip }, async () => {
    const added = await testbed.add("mail.contoso.test");
    id = added.id;
    const names = [
      "ph1._domainkey.mail",
      "ph2._domainkey.mail",
      "mail",
      "_dmarc.mail",
      "mail",
      "bounce.mail",
      "bounce.mail",
    ];
    assert.deepEqual(
      recordsOf(added).map(({ nameInZone }) => nameInZone),
      names,
    );
    // Registration looks for the zone in the background, without a check of the records.
    await until("the zone is known", async () => (await testbed.get(id)).zone === "contoso.test");
    const found = await testbed.get(id);
    assert.equal(found.lastCheckedAt, undefined);
    assert.equal(found.provider, undefined, "the name server of a test is no known provider");
    assert.deepEqual(
      recordsOf(found).map(({ nameInZone }) => nameInZone),
      names,
    );
    assert.match(
      recordOf(found, "spf").instructions,
      /DNS settings of contoso\.test, add a TXT record with the name mail /,
    );
  });

  it("is shown where a record with the short name ended up", { skip }, async () => {
    const domain = await testbed.get(id);
    const dkim = recordOf(domain, "dkim1");
    await testbed.bind.add({ ...dkim, name: "ph1._domainkey.contoso.test" });
    const checked = await testbed.verifyLater(id);
    assert.match(
      recordOf(checked, "dkim1").problem,
      /found at ph1\._domainkey\.contoso\.test: the zone is contoso\.test, so enter the name ph1\._domainkey\.mail/,
    );
  });

  it("gets one merged SPF record for one or two that exist, and it is accepted once published", { skip }, async () => {
    const { name } = recordOf(await testbed.get(id), "spf");
    const other = (value: string) => ({ ...recordOf(domain, "spf"), name, value });
    let domain = await testbed.get(id);
    await testbed.bind.add(other("v=spf1 ip4:192.0.2.1 -all"));
    domain = await testbed.verifyLater(id);
    const one = recordOf(domain, "spf");
    assert.equal(one.status, "RECORD_STATUS_MISMATCH");
    assert.equal(one.mergedValue, "v=spf1 ip4:192.0.2.1 include:spf.mail.posthorn.test -all");
    await testbed.bind.add(other("v=spf1 ip4:192.0.2.2 ~all"));
    domain = await testbed.verifyLater(id);
    const { mergedValue, instructions } = recordOf(domain, "spf");
    assert.match(
      mergedValue,
      /^v=spf1 ip4:192\.0\.2\.[12] ip4:192\.0\.2\.[12] include:spf\.mail\.posthorn\.test ~all$/,
    );
    assert.match(instructions, /delete all of them/);
    await testbed.bind.remove(other("v=spf1 ip4:192.0.2.1 -all"));
    await testbed.bind.add(other(mergedValue));
    domain = await testbed.verifyLater(id);
    assert.equal(recordOf(domain, "spf").status, "RECORD_STATUS_FOUND");
    assert.equal(recordOf(domain, "spf").mergedValue, "");
  });
});
