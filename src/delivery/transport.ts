/** The ways out: to the recipients' own servers (direct), to a smart host (relay). Capture has its own file: nothing leaves there. */
import { isIP } from "node:net";
import { allowsHost } from "../rules/mta-sts.ts";
import type { Evidence } from "../rules/outcome-evidence.ts";
import { type Source, sourceFor } from "../rules/source.ts";
import type { Sender, SendResult } from "../smtp/send.ts";
import type { Conversation } from "./judge.ts";
import type { PolicyOf } from "./mta-sts.ts";

export type Parcel = {
  destination: string;
  returnPath: string;
  recipients: readonly string[];
  raw: Buffer;
  utf8Headers: boolean;
  requireTls: boolean;
  /** The receiver that it was leased for. */
  siteName: string | undefined;
  /** The same, and how hard that one may be pressed. */
  site?: { name: string; connections: number; perConnection: number | undefined };
  signal: AbortSignal;
};

/** What each recipient's server said, in the order of the parcel's recipients. */
export type Delivered = { evidence: Evidence[]; conversation: Conversation; localAddress: string };

export type Transport = (parcel: Parcel) => Promise<Delivered>;

export type DirectOptions = {
  sender: Sender;
  port: number;
  heloName: string;
  /** The addresses mail may leave from; empty: whichever the system takes. */
  sources: readonly Source[];
  /** The destination's MTA-STS policy. */
  policyOf: PolicyOf;
};

export function createDirect({ sender, port, heloName, sources, policyOf }: DirectOptions): Transport {
  return async (parcel) => {
    const policy = await policyOf(parcel.destination, parcel.signal);
    const enforced = policy?.mode === "enforce";
    const site = parcel.site?.name ?? parcel.destination;
    const result = await sender.send({
      message: messageOf(parcel),
      to: { domain: parcel.destination, port },
      heloName,
      tls: parcel.requireTls || enforced ? "verified" : "opportunistic",
      ...(enforced && {
        allowHost: (host) => allowsHost(policy, host),
        hostRule: `the MTA-STS policy of ${parcel.destination}`,
      }),
      ...(sources.length > 0 && {
        sourceFor(address) {
          const source = sourceFor(sources, site, isIP(address));
          return source && { localAddress: source.address, heloName: source.heloName ?? heloName };
        },
      }),
      ...pressureOf(parcel),
      signal: parcel.signal,
    });
    return toDelivered(result, { relay: false, mtaSts: policy?.mode === "none" ? undefined : policy?.mode });
  };
}

export type RelayOptions = { sender: Sender; url: string; heloName: string };

/** smtp:// wants STARTTLS where a login is sent and takes it where offered otherwise; smtps:// is TLS from the first byte. */
export function createRelay({ sender, url, heloName }: RelayOptions): Transport {
  const relay = readRelayUrl(url);
  return async (parcel) => {
    const result = await sender.send({
      message: messageOf(parcel),
      to: { relay },
      heloName,
      tls: parcel.requireTls ? "verified" : relay.tls,
      ...pressureOf(parcel),
      signal: parcel.signal,
    });
    return toDelivered(result, { relay: true });
  };
}

export function readRelayUrl(text: string) {
  const url = new URL(text);
  const implicitTls = url.protocol === "smtps:";
  const user = decodeURIComponent(url.username);
  const wanted = url.searchParams.get("tls");
  const tls = wanted ?? (user !== "" || implicitTls ? "required" : "opportunistic");
  if (tls !== "none" && tls !== "opportunistic" && tls !== "required" && tls !== "verified") {
    throw new Error(`POSTHORN_RELAY_URL: tls=${tls} is none of none, opportunistic, required, verified`);
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (implicitTls ? 465 : 587) : Number(url.port),
    implicitTls,
    tls: tls as "none" | "opportunistic" | "required" | "verified",
    ...(user !== "" && { auth: { user, password: decodeURIComponent(url.password), allowPlaintext: tls === "none" } }),
  };
}

function pressureOf({ site }: Parcel) {
  return site && { group: site.name, limit: site.connections, maxTransactions: site.perConnection };
}

function messageOf(parcel: Parcel) {
  return { from: parcel.returnPath, recipients: parcel.recipients, data: parcel.raw, utf8Headers: parcel.utf8Headers };
}

function toDelivered(result: SendResult, how: { relay: boolean; mtaSts?: "enforce" | "testing" }): Delivered {
  const tls = result.tls && {
    protocol: result.tls.protocol,
    cipher: result.tls.cipher,
    verified: result.tls.authorized,
    ...(how.mtaSts && { mtaSts: how.mtaSts }),
  };
  return {
    evidence: result.recipients.map((recipient) => recipient.result),
    conversation: { relay: how.relay, remoteMx: result.remote?.host, tls: tls ?? undefined },
    localAddress: result.localAddress,
  };
}
