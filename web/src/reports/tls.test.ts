import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { TlsDaySchema } from "../../../src/gen/v1/report_pb.ts";
import { policyName, sessionsIn, tlsSeries } from "./tls.ts";

test("sessions of unauthenticated reports count neither as success nor as failure", () => {
  const day = create(TlsDaySchema, {
    counts: { succeeded: 9, failed: 1 },
    unauthenticated: { succeeded: 20, failed: 30 },
  });
  assert.deepEqual(
    tlsSeries.map(({ name, read }) => [name, read(day)]),
    [
      ["Encrypted", 9],
      ["Failed", 1],
      ["Unauthenticated", 50],
    ],
  );
  assert.equal(sessionsIn(undefined), 0);
});

test("policies have names that people know", () => {
  assert.deepEqual(["sts", "tlsa", "new"].map(policyName), ["MTA-STS", "DANE (TLSA records)", "new"]);
});
