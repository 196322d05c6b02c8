import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { StatsSettingsSchema } from "../../../src/gen/v1/stats_pb.ts";
import { fieldsOf, requestOf } from "./settings.ts";

const settings = create(StatsSettingsSchema, {
  metadataKeys: ["campaign", "type"],
  bounceAlert: { disabled: true, rate: 0.05, minimumRecipients: 100 },
  complaintAlert: { rate: 0.003, minimumRecipients: 300 },
});

test("fields that are not changed make the same settings", () => {
  const fields = fieldsOf(settings);
  assert.deepEqual([fields.keys, fields.complaint.percent, fields.bounce.isOn], ["campaign, type", "0.3", false]);
  assert.deepEqual(requestOf(fields), {
    metadataKeys: { keys: ["campaign", "type"] },
    bounceAlert: { disabled: true, rate: 0.05, minimumRecipients: 100 },
    complaintAlert: { disabled: false, rate: 0.003, minimumRecipients: 300 },
  });
});

test("numbers are read as people type them, and text that is no number is refused by the server", () => {
  const { bounce, ...rest } = fieldsOf(settings);
  const typed = (percent: string, minimum: string) => requestOf({ ...rest, bounce: { isOn: true, percent, minimum } });
  assert.deepEqual(typed(" 2,5 % ", "").bounceAlert, { disabled: false, rate: 0.025, minimumRecipients: 0 });
  assert.deepEqual(typed("much", "many").bounceAlert, { disabled: false, rate: -0.01, minimumRecipients: -1 });
  assert.equal(typed("", "1,000").bounceAlert.minimumRecipients, 1000);
  assert.equal(typed("", " 10 000 ").bounceAlert.minimumRecipients, 10_000);
  assert.equal(typed("", "1e20").bounceAlert.minimumRecipients, 2 ** 31 - 1);
  assert.deepEqual(requestOf({ ...rest, bounce, keys: " , " }).metadataKeys.keys, []);
});
