/** Options of an SMTP server with small limits, for tests of the server alone. */
import assert from "node:assert/strict";
import { createConnectionShares } from "../../src/shares/connections.ts";
import { createCertificate } from "../../src/smtp/server/certificate.ts";
import type { MessageMemory } from "../../src/smtp/server/message-memory.ts";
import type { SessionLimits } from "../../src/smtp/server/policy.ts";

const limits: SessionLimits = {
  messageBytes: 1000,
  recipients: 3,
  errors: 5,
  idleCommands: 10,
  messages: 2,
  commandMs: 60_000,
  dataMs: 60_000,
  dataTotalMs: 60_000,
  minimumRate: { bytesPerSecond: 512, graceMs: 60_000 },
  messageMs: 60_000,
  sessionMs: 60_000,
};

export function smallServer(memory: MessageMemory, other: Partial<SessionLimits> = {}) {
  return {
    host: "127.0.0.1",
    port: 0,
    hostname: "mx.test",
    shares: createConnectionShares({ total: 5, factor: 10, perAddress: 3 }),
    secureContext: createCertificate({ files: undefined, hostname: "mx.test", nowMs: Date.now, onProblem() {} }),
    memory,
    onError: (error: unknown) => assert.fail(String(error)),
    limits: { ...limits, ...other },
  };
}
