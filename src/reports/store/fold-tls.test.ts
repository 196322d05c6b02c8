import assert from "node:assert/strict";
import { test } from "node:test";
import type { TlsFailureRow } from "../../mail/reports/tls-report.ts";
import { foldRows } from "./fold-tls.ts";

const failure = (sendingIp: string, sessions: number, resultType = "certificate-expired"): TlsFailureRow => ({
  resultType,
  policyType: "sts",
  sendingIp,
  receivingMx: "mx.test",
  sessions,
});

test("equal failures are one row, and those past the limit keep their type only", () => {
  const failures = [failure("192.0.2.1", 2), failure("192.0.2.1", 3), failure("192.0.2.2", 1), failure("192.0.2.3", 1)];
  const rows = foldRows([...failures, failure("192.0.2.4", 1, "dane-required")], 1);
  assert.deepEqual(
    rows.map(({ resultType, sendingIp, sessions, isother }) => [resultType, sendingIp, sessions, isother]),
    [
      ["certificate-expired", "192.0.2.1", 5, false],
      ["certificate-expired", "", 2, true],
      ["dane-required", "", 1, true],
    ],
  );
});
