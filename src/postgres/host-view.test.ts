import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf, DifferentClusters, refusalOf, type ServerView } from "./host-view.ts";

const primary: ServerView = { standby: false, readOnly: false, system: "1", timeline: 3 };
const known = { system: "1", timeline: 3 };

test("only a primary of the known cluster on its highest timeline is accepted", () => {
  assert.equal(refusalOf(primary, undefined), undefined);
  assert.equal(refusalOf(primary, known), undefined);
  assert.equal(refusalOf({ ...primary, timeline: 4 }, known), undefined);
  assert.match(refusalOf({ ...primary, timeline: 2 }, known)!, /an old primary on timeline 2, .+ shown timeline 3/);
  assert.match(refusalOf({ ...primary, system: "2", timeline: 9 }, known)!, /another cluster .+ 2 instead of 1/);
  assert.equal(refusalOf({ ...primary, standby: true, readOnly: true }, known), "is a standby");
  assert.match(refusalOf({ ...primary, readOnly: true }, known)!, /read-only/);
});

test("a server that does not report identifier and timeline is not compared", () => {
  assert.equal(refusalOf({ ...primary, system: null, timeline: null }, known), undefined);
  assert.equal(refusalOf(primary, { system: null, timeline: 0 }), undefined);
});

test("the hosts of one cluster show its highest timeline, and hosts of two clusters are an error", () => {
  assert.deepEqual(clusterOf([primary, { ...primary, standby: true, timeline: 5 }]), { system: "1", timeline: 5 });
  assert.equal(clusterOf([{ ...primary, system: null, timeline: null }]), undefined);
  assert.throws(() => clusterOf([primary, { ...primary, system: "2" }]), DifferentClusters);
});
