import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { QuotaKind } from "../gen/v1/event_pb.ts";
import { PersonState, QuotaChangeSchema, WorkspaceState } from "../gen/v1/operator_pb.ts";
import { Problem } from "../ops/problem.ts";
import { changesFrom, disabledFrom, stateFrom } from "./wire.ts";

type Init = MessageInitShape<typeof QuotaChangeSchema>;
const read = (...changes: Init[]) => changesFrom(changes.map((one) => create(QuotaChangeSchema, one)));

test("a quota is set to a number, to unlimited, or back to the setting", () => {
  assert.deepEqual(
    read(
      { kind: QuotaKind.KEYS, change: { case: "limit", value: 0 } },
      { kind: QuotaKind.DOMAINS, change: { case: "limit", value: 12 } },
      { kind: QuotaKind.MEMBERS, change: { case: "unlimited", value: true } },
      { kind: QuotaKind.STREAMS, change: { case: "useDefault", value: true } },
    ),
    { keys: 0, domains: 12, members: null, streams: undefined },
  );
});

test("every wrong quota is named at once", () => {
  const wrong: [Init[], string[]][] = [
    [[], ["quotas"]],
    [[{ kind: QuotaKind.KEYS }], ["quotas[0]"]],
    [[{ kind: QuotaKind.KEYS, change: { case: "unlimited", value: false } }], ["quotas[0]"]],
    [
      [
        { change: { case: "limit", value: 1 } },
        { kind: QuotaKind.KEYS, change: { case: "limit", value: Number.NaN } },
        { kind: QuotaKind.DOMAINS, change: { case: "limit", value: 1e15 } },
        { kind: QuotaKind.MEMBERS, change: { case: "limit", value: 1 } },
        { kind: QuotaKind.MEMBERS, change: { case: "limit", value: 2 } },
      ],
      ["quotas[0].kind", "quotas[1].limit", "quotas[2].limit", "quotas[4].kind"],
    ],
  ];
  for (const [changes, fields] of wrong)
    assert.throws(
      () => read(...changes),
      (error: Problem) => {
        assert.deepEqual(
          error.violations.map(({ field }) => field),
          fields,
        );
        return error.code === "invalid_argument";
      },
    );
});

test("states of a filter", () => {
  assert.equal(disabledFrom(PersonState.UNSPECIFIED), undefined);
  assert.equal(disabledFrom(PersonState.DISABLED), true);
  assert.equal(stateFrom(WorkspaceState.DELETING), "deleting");
  assert.throws(() => stateFrom(99 as WorkspaceState), Problem);
  assert.throws(() => disabledFrom(99 as PersonState), Problem);
});
