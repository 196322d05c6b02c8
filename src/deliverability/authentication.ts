/** Looks up SPF, DKIM and DMARC as a receiver does: with the sending addresses, and with a message that the domain's key has signed. Called by
 * check.ts. */
import { createPublicKey } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Composer } from "../delivery/compose/pool.ts";
import type { Signer } from "../delivery/signing.ts";
import { organizationalDomain } from "../dns/name.ts";
import { asNodeResolve, type NodeResolve } from "../dns/node-resolver.ts";
import { joinText, type LookupFunction } from "../dns/record.ts";
import type { Resolver } from "../dns/resolver.ts";
import { coverNote, judgeView } from "../domains/rules/judge.ts";
import { viewRecord } from "../domains/rules/record-view.ts";
import { type ExpectedRecord, expectedRecords, type Registration, spfInclude } from "../domains/rules/records.ts";
import type { OutgoingEmail } from "../mail/compose.ts";
import { dkimKeyText } from "../mail/dkim-record.ts";
import { discoverDmarc } from "../mail/dmarc.ts";
import { walkDmarc, walkDomains } from "../mail/dmarc-walk.ts";
import type { Answer, DkimFacts, DmarcFacts, DnsValue, SpfResult } from "./rules/facts.ts";
import type { HostName } from "./sending-hosts.ts";

/** RFC 7208 §4.6.4 limits the terms of a record that need a lookup, but one MX term may need many. */
const maxQueries = 30;
const maxAddresses = 8;
/** mailauth evaluates on the event loop, and the owner of the records may be hostile. RFC 7208 §3.4 advises at most 512 octets. */
const maxTextLength = 4096;
const maxTextTotal = 16 * 1024;
/** RFC 7208 §4.6.4 limits the names of an MX or PTR term to ten. */
const maxRecords = 50;

/** Loaded with the first check: mailauth is a third of the code that a start would read. */
export const loadMailauth = () => import("mailauth");

/** Evaluates SPF for each sending address. The records of a large pool are alike, so that a few addresses suffice. */
export async function lookUpSpf(
  hosts: readonly HostName[],
  { domain, resolver, signal }: { domain: string; resolver: Resolver; signal: AbortSignal },
): Promise<SpfResult[]> {
  const { spf } = await loadMailauth();
  return await Promise.all(
    hosts.slice(0, maxAddresses).map(async ({ address, helo }) => {
      try {
        const { status } = await spf({
          ip: address,
          helo,
          sender: `postmaster@${domain}`,
          mta: helo,
          resolver: limited(asNodeResolve(resolver, signal)) as never,
        });
        return { address, result: status.result, comment: shown(status.comment) };
      } catch {
        return { address, result: "temperror", comment: "" };
      }
    }),
  );
}

export async function lookUpDkim({
  signer,
  email,
  composer,
  resolver,
  records,
  signal,
}: {
  signer: Signer["source"] | undefined;
  /** A small message, which is signed and verified. */
  email: OutgoingEmail;
  composer: Composer;
  resolver: Resolver;
  /** The domain's DKIM records. An imported key has another one. */
  records: DnsValue[];
  signal: AbortSignal;
}): Promise<DkimFacts | undefined> {
  if (!signer) return undefined;
  const { raw } = await composer.compose({ email, signer, signal });
  const { dkimVerify } = await loadMailauth();
  const { results } = await dkimVerify(raw, { resolver: limited(asNodeResolve(resolver, signal)) as never });
  const status = results[0]?.status;
  const key = createPublicKey(signer.privateKeyPem);
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  const name = `${signer.selector}._domainkey.${signer.domain}`;
  const isOurs = records.some((record) => record.name === name);
  const publicKey = key.export({ type: "spki", format: "der" }).toString("base64");
  return {
    name,
    imported: isOurs ? undefined : signer.selector,
    result: status?.result ?? "none",
    comment: shown(status?.comment),
    bits,
    records: isOurs ? records : [{ type: "TXT", name, value: dkimKeyText(publicKey) }],
  };
}

/** Uses the judgment of the domain's own check, so that both agree. */
export async function lookUpDmarc(
  { fromDomain, registration }: { fromDomain: string; registration: Registration },
  lookup: LookupFunction,
): Promise<Answer<DmarcFacts>> {
  const expected = expectedRecords({ ...registration, domain: fromDomain, dnsZone: undefined });
  const record = expected.find(({ key }) => key === "dmarc")!;
  const { status, discoveredValue, note } = judgeView(record, await viewRecord(record, lookup));
  if (status === "unknown") return { unanswered: note };
  const read = discoverDmarc([discoveredValue]);
  const policy = read.kind === "policy" ? read.record : undefined;
  const isInherited = note.startsWith(coverNote(""));
  return {
    status,
    value: discoveredValue,
    note,
    isInherited,
    policy: (isInherited ? policy?.subdomainPolicy : policy?.policy) ?? "none",
    testing: policy?.testing ?? false,
    assumed: policy?.assumed,
    alignment: policy?.alignment ?? { dkim: "r", spf: "r" },
    reportsTo: policy?.aggregateReports ?? [],
    record: publishable(record),
  };
}

/**
 * The organizational domain of each name, by the tree walk of RFC 9989. Without any record DMARC is not in use, and the registrable domain
 * tells what a first record would find.
 */
export async function lookUpOrganizations(
  domains: readonly string[],
  lookup: LookupFunction,
): Promise<ReadonlyMap<string, string>> {
  const asked = new Map<string, Promise<string[] | undefined>>();
  const textsOf = (domain: string) => {
    const texts = asked.get(domain) ?? lookUpTexts(`_dmarc.${domain}`, lookup);
    asked.set(domain, texts);
    return texts;
  };
  const found = new Map<string, string>();
  for (const domain of new Set(domains)) {
    const steps = walkDomains(domain).map(async (name) => ({ domain: name, texts: await textsOf(name) }));
    const { applied, organization } = walkDmarc(domain, await Promise.all(steps));
    if (organization !== undefined) found.set(domain, applied ? organization : organizationalDomain(domain));
  }
  return found;
}

/** Undefined: DNS did not answer. */
async function lookUpTexts(name: string, lookup: LookupFunction): Promise<string[] | undefined> {
  const answer = await lookup(name, "TXT");
  if (answer.kind === "found") return answer.records.map(joinText);
  return answer.kind === "nodata" || answer.kind === "nxdomain" ? [] : undefined;
}

/** The records that make SPF pass for the return path. Under our own zone, that is the zone's. */
export function spfRecords(registration: Registration, returnPathDomain: string): DnsValue[] {
  const own = recordsOf(registration, "mailFromSpf");
  return own.some(({ name }) => name === returnPathDomain)
    ? own
    : [{ type: "TXT", name: returnPathDomain, value: `v=spf1 include:${spfInclude(registration.zone)} -all` }];
}

export function recordsOf(registration: Registration, ...keys: ExpectedRecord["key"][]): DnsValue[] {
  return expectedRecords(registration)
    .filter(({ key }) => keys.includes(key))
    .map(publishable);
}

function publishable({ type, name, value, priority }: ExpectedRecord): DnsValue {
  return { type, name, value: priority === undefined ? value : `${priority} ${value}` };
}

/** Bounds what one evaluation reads, and lets other calls go on between two answers. Texts that are too long do not count as records. */
export function limited(resolve: NodeResolve): NodeResolve {
  let queries = 0;
  let textTotal = 0;
  return async (name, type) => {
    queries += 1;
    if (queries > maxQueries) throw tooMuch("too many DNS queries");
    const records = (await resolve(name, type)).filter((record) => textLength(record) <= maxTextLength);
    await setImmediate();
    textTotal += records.reduce<number>((sum, record) => sum + textLength(record), 0);
    if (textTotal > maxTextTotal) throw tooMuch("too much text in DNS");
    return records.slice(0, maxRecords);
  };
}

/** A TXT record is an array of strings; 0 for other records. */
function textLength(record: unknown): number {
  return Array.isArray(record) ? record.join("").length : 0;
}

function tooMuch(message: string): Error {
  return Object.assign(new Error(message), { code: "ESERVFAIL" });
}

/** The text comes from mailauth and may contain text from DNS. */
function shown(comment: string | undefined): string {
  return (comment ?? "").replace(/[^\x20-\x7e]/g, " ").slice(0, 200);
}
