/** The transports that an attempt hands a composed message to: `createDirect` for the recipients' own servers, `createRelay` for a smart
 * host, and `createSimulator` for test keys and capture mode, where nothing leaves the machine. */
import { isIP } from "node:net";
import type { Log } from "../ops/log.ts";
import { toWireId } from "../postgres/ids.ts";
import type { DataSource, MessageData } from "../smtp/client/envelope.ts";
import type { Evidence } from "../smtp/client/evidence.ts";
import type { Progress } from "../smtp/client/progress.ts";
import type { SmtpDeliveryResult, SmtpSender } from "../smtp/client/send.ts";
import type { Timeouts } from "../smtp/client/target.ts";
import type { Conversation, createJudge } from "./judge.ts";
import type { Mailbox } from "./mailbox.ts";
import type { PolicyOf } from "./mta-sts.ts";
import { allowsHost } from "./rules/mta-sts.ts";
import { simulate } from "./rules/simulate.ts";
import { type Source, sourceFor } from "./rules/source.ts";
import type { Leased } from "./store/lease.ts";
import type { Settlement } from "./store/settle.ts";

export type TransportRequest = {
  destination: string;
  returnPath: string;
  recipient: string;
  data: DataSource;
  /** Header fields of this recipient's copy, sent in front of `data`. */
  prefix: string;
  utf8Headers: boolean;
  /** The message has octets above 127 in its body. */
  eightBit: boolean;
  requireTls: boolean;
  /** The site that the recipient was leased for. */
  siteName: string | undefined;
  /** Earlier attempts for this recipient. */
  attempts: number;
  /** The site that the message goes to, with its limits; set by pace/paced.ts. */
  site?: {
    name: string;
    connections: number;
    perConnection: number | undefined;
    /** Time-outs until a session is open. */
    opening: Partial<Timeouts> | undefined;
  };
  progress: Progress;
  signal: AbortSignal;
};

export type TransportResult = { evidence: Evidence; conversation: Conversation; localAddress: string };

export type Transport = (request: TransportRequest) => Promise<TransportResult>;

export type DirectOptions = {
  sender: SmtpSender;
  port: number;
  heloName: string;
  /** The local addresses to send from. Empty: the operating system chooses. */
  sources: readonly Source[];
  /** The destination's MTA-STS policy. */
  policyOf: PolicyOf;
};

export function createDirect({ sender, port, heloName, sources, policyOf }: DirectOptions): Transport {
  return async (request) => {
    request.progress.wait("open");
    const policy = await policyOf(request.destination, request.signal);
    request.progress.resume(false);
    const enforced = policy?.mode === "enforce";
    const site = request.site?.name ?? request.destination;
    const result = await sender.send({
      message: messageOf(request),
      to: { domain: request.destination, port },
      heloName,
      tls: request.requireTls || enforced ? "verified" : "opportunistic",
      ...(enforced && {
        allowHost: (host) => allowsHost(policy, host),
        hostRule: `the MTA-STS policy of ${request.destination}`,
      }),
      ...(sources.length > 0 && {
        sourceFor(address) {
          const source = sourceFor(sources, site, isIP(address));
          return source && { localAddress: source.address, heloName: source.heloName ?? heloName };
        },
      }),
      ...siteLimitsOf(request),
      progress: request.progress,
      signal: request.signal,
    });
    return toResult(result, { relay: false, mtaSts: policy?.mode === "none" ? undefined : policy?.mode });
  };
}

export type RelayOptions = { sender: SmtpSender; url: string; heloName: string };

/** smtp:// requires STARTTLS if the URL has a login, else uses it where offered. smtps:// starts with TLS. `?tls=` overrides this. */
export function createRelay({ sender, url, heloName }: RelayOptions): Transport {
  const relay = readRelayUrl(url);
  return async (request) => {
    const result = await sender.send({
      message: messageOf(request),
      to: { relay },
      heloName,
      tls: request.requireTls ? "verified" : relay.tls,
      ...siteLimitsOf(request),
      progress: request.progress,
      signal: request.signal,
    });
    return toResult(result, { relay: true });
  };
}

export function readRelayUrl(text: string) {
  const url = new URL(text);
  const implicitTls = url.protocol === "smtps:";
  const user = decodeURIComponent(url.username);
  const tls = url.searchParams.get("tls") ?? (user !== "" || implicitTls ? "required" : "opportunistic");
  if (tls !== "none" && tls !== "opportunistic" && tls !== "required" && tls !== "verified") {
    throw new Error(`POSTHORN_RELAY_URL: tls=${tls} is not valid; use none, opportunistic, required or verified`);
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (implicitTls ? 465 : 587) : Number(url.port),
    implicitTls,
    tls: tls as "none" | "opportunistic" | "required" | "verified",
    ...(user !== "" && { auth: { user, password: decodeURIComponent(url.password), allowPlaintext: tls === "none" } }),
  };
}

function siteLimitsOf({ site }: TransportRequest) {
  if (!site) return undefined;
  const { name, connections, perConnection, opening } = site;
  return { group: name, limit: connections, maxTransactions: perConnection, opening };
}

function messageOf(request: TransportRequest) {
  return {
    from: request.returnPath,
    recipients: [request.recipient],
    data: request.data,
    prefix: request.prefix,
    utf8Headers: request.utf8Headers,
    eightBit: request.eightBit,
  };
}

function toResult(
  result: SmtpDeliveryResult,
  how: { relay: boolean; mtaSts?: "enforce" | "testing" },
): TransportResult {
  const tls = result.tls && {
    protocol: result.tls.protocol,
    cipher: result.tls.cipher,
    verified: result.tls.authorized,
    ...(how.mtaSts && { mtaSts: how.mtaSts }),
    ...(result.tls.dane && { dane: result.tls.dane }),
  };
  return {
    evidence: result.recipients[0]!.result,
    conversation: { relay: how.relay, remoteMx: result.remote?.host, tls: tls ?? undefined },
    localAddress: result.localAddress,
  };
}

/** Settles one recipient without a server. */
export type Simulator = (
  row: Leased,
  message: { raw: MessageData; prefix: string; returnPath: string },
) => Promise<Settlement>;

const simulatedConversation: Conversation = { relay: false, remoteMx: "mailbox.posthorn.test", tls: undefined };

/** Replaces SMTP for test keys and in capture mode: the recipient's mailbox name decides the outcome (rules/simulate.ts), and accepted
 * messages are written to the local mailbox. */
export function createSimulator(deps: {
  judge: ReturnType<typeof createJudge>;
  mailbox: Mailbox;
  log: Log;
}): Simulator {
  return async (row, { raw, prefix, returnPath }) => {
    const result = simulate({ address: row.address, attempt: row.attempts + 1 });
    if (result.kind === "suppressed") return deps.judge.suppress(row, { reason: "manual", sourceEvent: null });
    const settlement = deps.judge.simulated(row, result, simulatedConversation);
    if (settlement.status !== "delivered") return settlement;
    const emailId = toWireId("email", row.emailId);
    const file = await deps.mailbox.deliver({ emailId, returnPath, recipient: row.address, prefix, raw });
    deps.log.info({ event: "email.delivered", emailId, file }, "email captured in the local mailbox");
    return { ...settlement, ...(result.followUp && { followUp: result.followUp }) };
  };
}
