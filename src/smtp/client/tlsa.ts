/** Finds the DANE policy of an MX host through a validating resolver (RFC 7672 §2.2). Called by send.ts. */
import { createDanePolicy, type DanePolicy } from "./dane.ts";
import type { Evidence } from "./evidence.ts";
import { describeFailure, lookUp, type MxResolver } from "./route.ts";

export interface DaneQuestion {
  /** The name in the MX record, or the domain itself if it has none. */
  host: string;
  /** The address answer of the host: whether it is secure, and the end of its alias chain. */
  addresses: { secure: boolean; target: string | undefined };
  /** The recipients' domain, and the name that it is an alias of. */
  domainNames: readonly string[];
  /** Looks the records up again although they are cached. */
  bypassCache?: boolean;
  signal?: AbortSignal;
}

/** Undefined: DANE does not apply to the host. A failure makes the host unusable, because an attacker could cause it. */
export async function findDanePolicy(
  question: DaneQuestion,
  resolver: MxResolver,
): Promise<DanePolicy | undefined | { failure: Evidence }> {
  const { host, domainNames, bypassCache, signal } = question;
  const bases = await findBases(question, resolver);
  if ("failure" in bases) return bases;
  for (const base of bases.names) {
    const name = `_25._tcp.${base}`;
    const answer = await lookUp(resolver, name, "TLSA", { signal, bypassCache });
    if (answer.kind === "servfail" || answer.kind === "timeout") return failed(name, "TLSA records", answer);
    if (answer.kind === "aborted") return { failure: answer.evidence };
    // RFC 7672 §2.2: records that are not secure count as none.
    if (answer.kind !== "found" || !answer.secure) continue;
    return createDanePolicy({ base, records: answer.records, names: [host, ...domainNames] });
  }
  return undefined;
}

/** RFC 7672 §2.2.3: the names to look for TLSA records at. The end of a secure alias chain comes first, then the host itself. */
async function findBases(
  { host, addresses: { secure, target }, signal }: DaneQuestion,
  resolver: MxResolver,
): Promise<{ names: string[] } | { failure: Evidence }> {
  if (secure) return { names: target === undefined ? [host] : [target, host] };
  if (target === undefined) return { names: [] };
  // The address is not secure. If the host's own alias is, only the host can have records.
  const alias = await lookUp(resolver, host, "CNAME", { signal });
  if (alias.kind === "servfail" || alias.kind === "timeout") return failed(host, "CNAME record", alias);
  if (alias.kind === "aborted") return { failure: alias.evidence };
  return { names: alias.kind === "found" && alias.secure ? [host] : [] };
}

function failed(name: string, what: string, answer: Parameters<typeof describeFailure>[0]): { failure: Evidence } {
  const message = `DANE: the lookup of the ${what} of ${name} ${describeFailure(answer)}, so mail is not sent to this server`;
  return { failure: { kind: "tls", phase: "tls", reply: null, message, dane: true } };
}
