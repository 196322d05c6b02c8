/** One name in two workspaces: only whose records are published is verified, and the name goes along with them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { receivingDomain } from "../../src/store/domains.ts";
import {
  type CustomerWorld,
  recordsOf,
  startCustomerWorld,
  type WireDomain,
  withoutPeers,
} from "../harness/customer.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

const skip = withoutPeers;

describe("a name that two workspaces register", () => {
  let world: CustomerWorld;
  let theirKey: string;
  let ours: WireDomain;
  let theirs: WireDomain;
  before(async () => {
    if (skip) return;
    world = await startCustomerWorld(["shop.test"]);
    theirKey = await makeWorkspace(world.database.sql, "Them");
    ours = await world.add("shop.test");
    theirs = await world.add("shop.test", theirKey);
  });
  after(async () => await world?.stop());

  const owner = async () => {
    const row = await receivingDomain(world.database.sql, "shop.test");
    return row && `dom_${row.id}`;
  };
  const state = ({ status, summary }: WireDomain) => [
    status.replace("DOMAIN_STATUS_", ""),
    summary.canSend,
    summary.canReceive,
  ];

  it("has records of its own for each", { skip }, () => {
    assert.notEqual(ours.id, theirs.id);
    for (const [i, record] of ours.records.dkimRecords.entries())
      assert.notEqual(record.value, theirs.records.dkimRecords[i]?.value);
    assert.equal(ours.records.mxRecords[0]?.value, theirs.records.mxRecords[0]?.value);
  });

  it("is verified for the one whose records are there, and not for the other", { skip }, async () => {
    await world.bind.add(...recordsOf(ours));
    assert.deepEqual(state(await world.verifyLater(ours.id)), ["READY", true, true]);
    const other = await world.verify(theirs.id, theirKey);
    // The shared records are found, yet none that proves control.
    assert.deepEqual(state(other), ["VERIFYING", false, false]);
    assert.equal(other.records.dkimRecords[0]?.status, "RECORD_STATUS_MISMATCH");
    assert.equal(await owner(), ours.id);
    const sent = await world.program.call(
      "EmailService/SendEmail",
      { from: "a@shop.test", to: ["b@there.test"], subject: "", body: "Hi" },
      { key: theirKey },
    );
    assert.equal(sent.body.code, "failed_precondition");
  });

  it("changes hands when the records do, without waiting for the old owner's next turn", { skip }, async () => {
    await world.bind.remove(...ours.records.dkimRecords);
    await world.bind.add(...theirs.records.dkimRecords);
    assert.deepEqual(state(await world.verifyLater(theirs.id, theirKey)), ["READY", true, true]);
    assert.equal(await owner(), theirs.id);
    const lost = await until("the old owner's check in the background", async () => {
      const now = await world.get(ours.id);
      return now.status === "DOMAIN_STATUS_DEGRADED" ? now : undefined;
    });
    assert.deepEqual(state(lost), ["DEGRADED", false, false]);
  });

  it("returns to nobody when its owner deletes it, and can be registered anew with other records", {
    skip,
  }, async () => {
    const deleted = await world.program.call("DomainService/DeleteDomain", { id: theirs.id }, { key: theirKey });
    assert.equal(deleted.status, 200);
    assert.equal(await owner(), undefined);
    const again = await world.add("shop.test", theirKey);
    assert.notEqual(again.id, theirs.id);
    assert.notEqual(again.records.dkimRecords[0]?.value, theirs.records.dkimRecords[0]?.value);
    assert.deepEqual(state(await world.verifyLater(again.id, theirKey)), ["VERIFYING", false, false]);
    // The old records, still published, serve nobody.
    assert.equal(await owner(), undefined);
  });
});
