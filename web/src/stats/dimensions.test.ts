import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { StatsDimension, StatsGroupSchema } from "../../../src/gen/v1/stats_pb.ts";
import { dimensionOf, dimensionsOf, groupFilter, groupName } from "./dimensions.ts";

const all = dimensionsOf(["campaign"]);
const group = (init: { value?: string; name?: string; other?: boolean }) => create(StatsGroupSchema, init);

test("an unknown dimension falls back to the receivers", () => {
  assert.equal(dimensionOf("metadata:campaign", all).groupBy, StatsDimension.METADATA);
  assert.equal(dimensionOf("metadata:gone", all).id, "site");
  assert.equal(dimensionOf(undefined, all).id, "site");
});

test("groups have names that people know", () => {
  const key = dimensionOf("key", all);
  assert.equal(groupName(group({ value: "key_1", name: "Shop" }), key), "Shop");
  assert.equal(groupName(group({ value: "key_1" }), key), "key_1");
  assert.equal(groupName(group({}), key), "No key");
  assert.equal(groupName(group({ other: true }), key), "Other");
  assert.equal(groupName(group({}), dimensionOf("metadata:campaign", all)), "(empty)");
});

test("a group links to its emails if the log can select them", () => {
  assert.deepEqual(groupFilter(group({ value: "a.test" }), dimensionOf("domain", all)), { domain: "a.test" });
  assert.deepEqual(groupFilter(group({ value: "key_1" }), dimensionOf("key", all)), { sender: "key_1" });
  const spring = groupFilter(group({ value: "spring" }), dimensionOf("metadata:campaign", all));
  assert.deepEqual(spring, { key: "campaign", value: "spring" });
  assert.deepEqual(groupFilter(group({ value: "google.com" }), dimensionOf("site", all)), { site: "google.com" });
  for (const id of ["site", "domain"])
    assert.equal(groupFilter(group({ other: true }), dimensionOf(id, all)), undefined, id);
});
