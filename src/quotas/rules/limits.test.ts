import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limitsOf, noDefaults, quotaExceeded, reached, unlimited, windowAt } from "./limits.ts";

describe("the limits of a workspace", () => {
  const defaults = { established: { ...unlimited, keys: 100 }, fromSignUp: { ...unlimited, keys: 5, domains: 2 } };

  it("are those of the settings, which differ for workspaces from open sign-up", () => {
    assert.equal(limitsOf({ quota: {}, fromSignUp: false }, defaults).keys, 100);
    assert.equal(limitsOf({ quota: {}, fromSignUp: true }, defaults).keys, 5);
    assert.equal(limitsOf({ quota: {}, fromSignUp: false }, noDefaults).emailsPerHour, null);
  });

  it("are the workspace's own where the operator set them, also to unlimited and to nothing", () => {
    const limits = limitsOf({ quota: { keys: null, domains: 0 }, fromSignUp: true }, defaults);
    assert.deepEqual([limits.keys, limits.domains, limits.members], [null, 0, null]);
  });
});

describe("a window", () => {
  it("is a whole hour or day, and quotas of things have none", () => {
    const at = Date.parse("2026-03-01T10:59:59.999Z");
    const iso = (kind: Parameters<typeof windowAt>[0]) => {
      const window = windowAt(kind, at);
      return window && [window.startMs, window.endMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
    };
    assert.deepEqual(iso("emailsPerHour"), ["2026-03-01T10:00", "2026-03-01T11:00"]);
    assert.deepEqual(iso("inboundPerHour"), ["2026-03-01T10:00", "2026-03-01T11:00"]);
    assert.deepEqual(iso("emailsPerDay"), ["2026-03-01T00:00", "2026-03-02T00:00"]);
    assert.equal(iso("domains"), undefined);
  });
});

describe("thresholds", () => {
  it("are 80 and 100 percent", () => {
    assert.deepEqual(
      [79, 80, 99, 100, 130].map((used) => reached(used, 100)),
      [undefined, 80, 80, 100, 100],
    );
    assert.equal(reached(1_000_000, null), undefined);
    assert.deepEqual([reached(0, 0), reached(1, 0)], [undefined, 100]);
  });
});

describe("a refusal", () => {
  it("says when to come back where time helps, and otherwise what to do", () => {
    const hour = quotaExceeded("emailsPerHour", 100, 59_999.5);
    assert.deepEqual([hour.code, hour.retryAfterMs, hour.reason], ["resource_exhausted", 60_000, "QUOTA_EXCEEDED"]);
    assert.deepEqual(hour.metadata, { quota: "emailsPerHour", limit: "100" });
    const keys = quotaExceeded("keys", 5);
    assert.equal(keys.retryAfterMs, undefined);
    assert.match(keys.message, /quota of 5 API keys\. Revoke one/);
  });
});
