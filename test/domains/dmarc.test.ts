/** The DMARC policy of a subdomain is found by the tree walk of RFC 9989, and remarks on a valid policy reach its owner. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { recordOf, type WireDomain } from "../harness/domain-answers.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

async function checked(domain: string) {
  const added = await testbed.program.call("DomainService/AddDomain", { domain });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  const { id } = added.body.domain as WireDomain;
  const { body } = await testbed.program.call("DomainService/VerifyDomain", { id });
  const { status, discoveredValue, problem } = recordOf(body.domain as WireDomain, "dmarc") as unknown as Record<
    string,
    string
  >;
  return { status: status!.replace("RECORD_STATUS_", ""), discoveredValue, problem };
}

test("the policy of a parent covers a subdomain, and psd=n ends the search", async () => {
  const policy = "v=DMARC1; p=reject; rua=mailto:d@corp.test";
  testbed.dns.set("_dmarc.corp.test", "TXT", policy);
  assert.deepEqual(await checked("mail.corp.test"), {
    status: "FOUND",
    discoveredValue: policy,
    problem: "covered by the policy at _dmarc.corp.test",
  });
  testbed.dns.set("_dmarc.dept.corp.test", "TXT", "v=DMARC1; psd=n");
  const { status, problem } = await checked("mail.dept.corp.test");
  assert.equal(status, "MISSING");
  assert.match(problem!, /the record at _dmarc\.dept\.corp\.test is invalid: it has no p= tag/);
});

test("a name with several records is covered by its parent", async () => {
  testbed.dns.set("_dmarc.two.corp.test", "TXT", "v=DMARC1; p=none", "v=DMARC1; p=reject");
  const { status, problem } = await checked("two.corp.test");
  assert.equal(status, "FOUND");
  assert.match(problem!, /several DMARC records/);
});

test("a valid policy is found with remarks", async () => {
  testbed.dns.set("_dmarc.shop.test", "TXT", "v=DMARC1; p=reject; sp=none; t=y; pct=10");
  const { status, problem } = await checked("shop.test");
  assert.equal(status, "FOUND");
  for (const remark of [/t=y: receivers apply quarantine/, /sp=none is weaker/, /pct=10 \(historic\)/, /no rua=/])
    assert.match(problem!, remark);
});
