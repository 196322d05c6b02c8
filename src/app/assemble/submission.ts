/** Wires submission, from a connection on POSTHORN_SUBMISSION or POSTHORN_SUBMISSIONS to an accepted email. Called by assemble.ts with the api role. */
import type { Accept } from "../../emails/accept.ts";
import type { Authenticator, CallLimit } from "../../http/gate.ts";
import type { Reader } from "../../inbound/reader.ts";
import type { HeapRelief } from "../../ops/heap-relief.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import { isWithin } from "../../shares/address.ts";
import { createConnectionShares } from "../../shares/connections.ts";
import { partOf } from "../../shares/process-part.ts";
import { createCertificate } from "../../smtp/server/certificate.ts";
import { createMessageMemory } from "../../smtp/server/message-memory.ts";
import { createSmtpServer, type SmtpServer } from "../../smtp/server/server.ts";
import { createLogins } from "../../submission/logins.ts";
import { createSubmission } from "../../submission/policy.ts";
import type { Config, Listener } from "../config.ts";
import type { Host } from "../host.ts";

export type SubmissionParts = {
  config: Config;
  log: Log;
  metrics: Metrics;
  heap: HeapRelief;
  nowMs(): number;
  accept: Accept;
  authenticator: Authenticator;
  callLimit: CallLimit;
  reader: Reader;
  host: Host;
  beforeScrape(set: () => void): void;
};

export type RunningSubmission = { ports: { submission?: number; submissions?: number }; stop(): Promise<void> };

const memoryBytes = 128 * 1024 * 1024;
const largestMessages = 3;
/** Of each process: with less, a network or workspace, which gets half, could not send a message of the largest size. */
const leastMessages = 2;
const unsharedBytes = 32 * 1024;
const maxSessions = 1000;
/** Programs of one machine send through a pool of connections each. */
const maxSessionsPerAddress = 200;
const maxSessionsPerWorkspace = 100;
const minuteMs = 60_000;
const loopback = ["127.0.0.0/8", "::1/128"];

export async function startSubmission(parts: SubmissionParts): Promise<RunningSubmission> {
  const { config, log, metrics, nowMs, host } = parts;
  const memory = createMessageMemory({
    bytes: partOf(
      Math.max(memoryBytes, largestMessages * config.limits.messageBytes),
      host.part,
      leastMessages * config.limits.messageBytes,
    ),
    unsharedBytes,
    factor: 1,
    onGiveWay: () => log.info("dropped a slow submission for lack of memory"),
    onRelease: parts.heap.note,
  });
  parts.beforeScrape(() => metrics.submissionMessageBytes.set(memory.used()));
  const { submission, policy } = createSubmission({
    log,
    accept: parts.accept,
    callLimit: parts.callLimit,
    prepareLarge: parts.reader.prepare,
    logins: createLogins({ authenticator: parts.authenticator, onRefused: () => metrics.submissionLogins.inc() }),
    sessions: { total: partOf(maxSessions, host.part), perOwner: partOf(maxSessionsPerWorkspace, host.part) },
    allowsPlaintext: ({ ip }) => config.delivery === "capture" && isWithin(ip, loopback),
  });
  const shares = createConnectionShares({
    total: partOf(maxSessions, host.part),
    factor: 3,
    perAddress: partOf(maxSessionsPerAddress, host.part),
    exempt: config.trustedProxies,
  });
  const secureContext = createCertificate({
    files: config.tls,
    hostname: config.hostname,
    nowMs,
    onProblem: (error) => log.warn({ err: error }, "the new TLS certificate cannot be used; keeping the old one"),
  });
  const serverAt = (at: { host: string; port: number }, implicitTls: boolean): SmtpServer =>
    createSmtpServer({
      ...at,
      shared: host.listener(implicitTls ? "submissions" : "submission"),
      hostname: config.hostname,
      submission,
      implicitTls,
      policy: { ...policy, message: async (mail) => counted(metrics, await policy.message(mail)) },
      limits: {
        messageBytes: config.limits.messageBytes,
        recipients: config.limits.recipients,
        errors: 20,
        idleCommands: 100,
        messages: 100_000,
        commandMs: 5 * minuteMs,
        dataMs: 3 * minuteMs,
        dataTotalMs: 30 * minuteMs,
        minimumRate: { bytesPerSecond: 512, graceMs: minuteMs },
        messageMs: 10 * minuteMs,
        sessionMs: 24 * 60 * minuteMs,
      },
      secureContext,
      memory,
      shares,
      onGiveUp: (reason) => metrics.submissionGivenUp.inc({ reason }),
      onSessions: () => metrics.submissionSessions.set(shares.count()),
      onError: (error) => log.error({ err: error }, "a submission session failed"),
    });

  const servers: SmtpServer[] = [];
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop(config.drainMs)));
  };
  const open = async (listener: Listener, implicitTls: boolean): Promise<number | undefined> => {
    if (!listener) return undefined;
    const { server, port } = await start(listener, log, (at) => serverAt(at, implicitTls));
    servers.push(server);
    return port;
  };
  try {
    const ports = {
      submission: await open(config.submission, false),
      submissions: await open(config.submissions, true),
    };
    return { ports, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Two programs on one machine keep working after an update: the second one gets a free port, unless the operator chose the port. */
async function start(
  { chosen, ...at }: NonNullable<Listener>,
  log: Log,
  serverAt: (at: { host: string; port: number }) => SmtpServer,
): Promise<{ server: SmtpServer; port: number }> {
  const server = serverAt(at);
  try {
    return { server, ...(await server.start()) };
  } catch (error) {
    if (chosen || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    const other = serverAt({ ...at, port: 0 });
    const { port } = await other.start();
    log.warn({ taken: at.port, port }, "the default port for submission is taken; using a free one");
    return { server: other, port };
  }
}

function counted(metrics: Metrics, reply: string): string {
  metrics.submissionMessages.inc({ answer: { 2: "taken", 4: "deferred" }[reply[0]!] ?? "refused" });
  return reply;
}
