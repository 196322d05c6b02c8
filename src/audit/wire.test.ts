import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { AuditFilterSchema } from "../gen/v1/audit_pb.ts";
import type { Violation } from "../ops/problem.ts";
import type { AuditEntry } from "./entry.ts";
import { entryOnWire, filterFrom, pageTokenOf, placeFrom } from "./wire.ts";

const uuid = "0190a000-0000-7000-8000-000000000001";
const entry: AuditEntry = {
  id: "7",
  workspaceId: uuid,
  at: new Date("2026-11-17T10:00:00.123Z"),
  actor: "key",
  actorId: uuid,
  actorName: null,
  action: "webhook.updated",
  target: "webhook",
  targetId: uuid,
  fields: ["url"],
  reason: null,
  address: null,
};

describe("an entry of the audit log", () => {
  it("has ids with the prefix of their kind, and no empty ones", () => {
    const { actorId, targetId, workspaceId, address } = entryOnWire(entry);
    assert.deepEqual([actorId, targetId, workspaceId, address], [`key_${uuid}`, `wh_${uuid}`, `ws_${uuid}`, ""]);
    const none = entryOnWire({ ...entry, actor: "command", actorId: null, target: null, workspaceId: null });
    assert.deepEqual([none.actorId, none.targetId, none.workspaceId], ["", "", ""]);
  });

  it("is the place at which the next page starts", () => {
    const problems: Violation[] = [];
    assert.deepEqual(placeFrom(pageTokenOf(entry), problems), { at: entry.at, id: "7" });
    assert.equal(placeFrom("", problems), undefined);
    assert.deepEqual(problems, []);
    for (const token of ["x", "e30", "A".repeat(1000)]) placeFrom(token, problems);
    assert.deepEqual(
      problems.map(({ field }) => field),
      ["pageToken", "pageToken", "pageToken"],
    );
  });
});

describe("a filter of the audit log", () => {
  const read = (filter: object) => {
    const problems: Violation[] = [];
    return {
      filter: filterFrom(create(AuditFilterSchema, filter), problems),
      fields: problems.map(({ field }) => field),
    };
  };

  it("takes people, keys, any target, actions and nouns", () => {
    assert.deepEqual(read({ actorId: `per_${uuid}`, targetId: `dom_${uuid}`, action: "key" }), {
      filter: { actorId: uuid, targetId: uuid, action: "key", from: undefined, to: undefined },
      fields: [],
    });
    assert.deepEqual(read({}).fields, []);
  });

  it("is refused where it cannot match", () => {
    assert.deepEqual(read({ actorId: `ws_${uuid}`, targetId: "x", action: "Key." }).fields, [
      "filter.actorId",
      "filter.targetId",
      "filter.action",
    ]);
    const at = timestampFromDate(new Date());
    assert.deepEqual(read({ from: at, to: at }).fields, ["filter.to"]);
    assert.deepEqual(read({ from: { seconds: 9n ** 15n, nanos: 0 } }).fields, ["filter.from"]);
  });
});
