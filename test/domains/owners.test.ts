/** Two workspaces register the same name: the one whose records are published is verified, and owns the name while they are. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { receivingDomain } from "../../src/domains/store/domains.ts";
import {
  type CustomerTestbed,
  recordsOf,
  startCustomerTestbed,
  type WireDomain,
  withoutPeers,
} from "../harness/customer.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

const skip = withoutPeers;

describe("a name that two workspaces register", () => {
  let testbed: CustomerTestbed;
  let theirKey: string;
  let ours: WireDomain;
  let theirs: WireDomain;
  before(async () => {
    if (skip) return;
    testbed = await startCustomerTestbed(["shop.test"]);
    theirKey = await makeWorkspace(testbed.database.sql, "Them");
    ours = await testbed.add("shop.test");
    theirs = await testbed.add("shop.test", theirKey);
  });
  after(async () => await testbed?.stop());

  const owner = async () => {
    const row = await receivingDomain(testbed.database.sql, "shop.test");
    return row && `dom_${row.id}`;
  };
  const state = ({ status, summary }: WireDomain) => [
    status.replace("DOMAIN_STATUS_", ""),
    summary.canSend,
    summary.canReceive,
  ];

  it("has separate DKIM records for each workspace", { skip }, () => {
    assert.notEqual(ours.id, theirs.id);
    for (const [i, record] of ours.records.dkimRecords.entries())
      assert.notEqual(record.value, theirs.records.dkimRecords[i]?.value);
    assert.equal(ours.records.mxRecords[0]?.value, theirs.records.mxRecords[0]?.value);
  });

  it("is verified for the workspace whose records are published, and not for the other", { skip }, async () => {
    await testbed.bind.add(...recordsOf(ours));
    assert.deepEqual(state(await testbed.verifyLater(ours.id)), ["READY", true, true]);
    const other = await testbed.verify(theirs.id, theirKey);
    // The records that both share are found, but none that proves control.
    assert.deepEqual(state(other), ["VERIFYING", false, false]);
    assert.equal(other.records.dkimRecords[0]?.status, "RECORD_STATUS_MISMATCH");
    assert.equal(await owner(), ours.id);
    const sent = await testbed.program.call(
      "EmailService/SendEmail",
      { from: "a@shop.test", to: ["b@there.test"], subject: "", body: "Hi" },
      { key: theirKey },
    );
    assert.equal(sent.body.code, "failed_precondition");
  });

  it("changes owner when the records change, without waiting for the next check of the old owner", {
    skip,
  }, async () => {
    await testbed.bind.remove(...ours.records.dkimRecords);
    await testbed.bind.add(...theirs.records.dkimRecords);
    assert.deepEqual(state(await testbed.verifyLater(theirs.id, theirKey)), ["READY", true, true]);
    assert.equal(await owner(), theirs.id);
    const lost = await until("the background check of the old owner", async () => {
      const now = await testbed.get(ours.id);
      return now.status === "DOMAIN_STATUS_DEGRADED" ? now : undefined;
    });
    assert.deepEqual(state(lost), ["DEGRADED", false, false]);
  });

  it("has no owner after its owner deletes it, and gets different records when it is registered again", {
    skip,
  }, async () => {
    const deleted = await testbed.program.call("DomainService/DeleteDomain", { id: theirs.id }, { key: theirKey });
    assert.equal(deleted.status, 200);
    assert.equal(await owner(), undefined);
    const again = await testbed.add("shop.test", theirKey);
    assert.notEqual(again.id, theirs.id);
    assert.notEqual(again.records.dkimRecords[0]?.value, theirs.records.dkimRecords[0]?.value);
    assert.deepEqual(state(await testbed.verifyLater(again.id, theirKey)), ["VERIFYING", false, false]);
    // The records of the deleted domain are still published, but they prove nothing.
    assert.equal(await owner(), undefined);
  });
});
