import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import {
  type DeliverabilityCheck,
  DeliverabilityCheckSchema,
  DeliverabilityResult,
  MailReceiver,
} from "../../../src/gen/v1/deliverability_pb.ts";
import { checksFor, countOpen, demandTexts, resultLabel } from "./checklist.ts";

const check = (id: string, result: DeliverabilityResult, ...by: MailReceiver[]): DeliverabilityCheck =>
  create(DeliverabilityCheckSchema, {
    id,
    result,
    demands: by.map((receiver) => ({ receiver, required: true, url: "https://example.com/" })),
  });
const { GMAIL, YAHOO } = MailReceiver;
const checks = [
  check("a", DeliverabilityResult.PASS, GMAIL),
  check("b", DeliverabilityResult.UNKNOWN, GMAIL, YAHOO),
  check("c", DeliverabilityResult.FAIL, YAHOO),
  check("d", DeliverabilityResult.NOT_NEEDED),
  check("e", DeliverabilityResult.WARN),
];

test("what is to be done comes first, and a receiver has its own checks", () => {
  assert.deepEqual(
    checksFor(checks, undefined).map(({ id }) => id),
    ["c", "e", "b", "a", "d"],
  );
  assert.deepEqual(
    checksFor(checks, GMAIL).map(({ id }) => id),
    ["b", "a"],
  );
  assert.deepEqual([countOpen(checks, undefined), countOpen(checks, GMAIL), countOpen(checks, YAHOO)], [1, 0, 1]);
});

test("only a pass is shown as passed", () => {
  const passed = [0, 1, 2, 3, 4, 5, 99].filter(
    (result) => resultLabel(result as DeliverabilityResult).text === "Passed",
  );
  assert.deepEqual(passed, [DeliverabilityResult.PASS]);
});

test("a demand says who states it and for which mail", () => {
  const [gmail] = demandTexts([
    ...create(DeliverabilityCheckSchema, {
      demands: [{ receiver: GMAIL, required: false, bulkOnly: true, url: "https://example.com/" }],
    }).demands,
  ]);
  assert.equal(gmail?.text, "Gmail requires it of bulk mail");
  assert.deepEqual(demandTexts(checks[3]!.demands), []);
});
