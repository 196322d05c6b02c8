/**
 * deliverability/ checks a domain and a sample email against what large receivers publish (rules/demands.ts), before mail is sent. This file collects
 * the facts within nine seconds: it composes and signs the sample, asks DNS, blocklists and the spam filter, and lets rules/judge.ts judge.
 * service.ts calls it. Next: rules/demands.ts, then authentication.ts.
 */
import type { Composer } from "../delivery/compose/pool.ts";
import { readSigner } from "../delivery/signing.ts";
import type { LookupFunction, LookupType } from "../dns/record.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { Registration } from "../domains/rules/records.ts";
import type { DomainRow } from "../domains/store/domains.ts";
import { setDeadline } from "../ops/deadline.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import {
  loadMailauth,
  lookUpDkim,
  lookUpDmarc,
  lookUpOrganizations,
  lookUpSpf,
  recordsOf,
  spfRecords,
} from "./authentication.ts";
import { askAddressLists, askDomainLists, type Blocklists } from "./blocklists.ts";
import { readMessageFacts } from "./message-facts.ts";
import type { Answer, Facts, MessageFacts, SpamFacts } from "./rules/facts.ts";
import { isUnanswered } from "./rules/facts.ts";
import { type Check, judge } from "./rules/judge.ts";
import { ownSample, type Sample } from "./sample.ts";
import { type HostName, lookUpHosts, maxHosts } from "./sending-hosts.ts";
import { askSpamFilter, type SpamFilterSetting } from "./spam-filter.ts";

export type DeliverabilityDeps = {
  sql: Sql;
  secrets: Secrets;
  zone: string;
  delivery: Facts["delivery"];
  hosts: readonly HostName[];
  blocklists: Blocklists;
  spamFilter: SpamFilterSetting;
  resolver: Resolver;
  composer: Composer;
  /** Reads the texts of a whole message, off the event loop. */
  readTexts(workspaceId: string, raw: Buffer): Promise<{ body: string; html: string }>;
  nowMs: () => number;
  /** For tests. */
  timeoutMs?: number;
};

export type CheckInput = { row: DomainRow; sample: Sample; bulk: boolean; signal: AbortSignal };

export type Checked = {
  checks: Check[];
  sizeBytes: number;
  longestLine: number;
  returnPathDomain: string;
  signedWith: string;
  spam: SpamFacts | undefined;
};

/** For all answers together. Reading the sample takes time, too, and the caller should not wait longer than about ten seconds. */
const defaultTimeoutMs = 9_000;
const lookupTimeoutMs = 4_000;
/** Facts about the sending machines are the same for every tenant. Asking once a minute keeps the operator's resolver within the limits of lists. */
const sharedForMs = 60_000;

export function createDeliverabilityCheck(deps: DeliverabilityDeps) {
  const { timeoutMs = defaultTimeoutMs } = deps;
  let machines: { untilMs: number; facts: ReturnType<typeof lookUpMachines> } | undefined;

  return async ({ row, sample, bulk, signal }: CheckInput): Promise<Checked> => {
    // The first check loads it, which takes time that no question has used.
    await loadMailauth();
    const ended = new AbortController();
    const end = () => ended.abort();
    const deadline = setDeadline(timeoutMs, end);
    signal.addEventListener("abort", end, { once: true });
    try {
      const checked = await collect({ row, sample, bulk, signal: ended.signal });
      signal.throwIfAborted();
      return checked;
    } finally {
      deadline.clear();
      signal.removeEventListener("abort", end);
      ended.abort();
    }
  };

  async function collect({ row, sample, bulk, signal }: CheckInput): Promise<Checked> {
    const { workspaceId, id, domain } = row;
    const registration: Registration = { ...row, zone: deps.zone };
    const signer = (await readSigner(deps, workspaceId, id))?.signer;
    const returnPathDomain = signer?.returnPathDomain ?? `bounce.${deps.zone}`;
    const lookup = lookupWithin(signal);
    const { fromDomain, replyDomain } = sample;
    const silent = { unanswered: "DNS did not answer in time" };
    const composed = composeSample({ row, sample, signer: signer?.source, signal });
    const [machine, spf, dkim, dmarc, organizations, domainLists, receives, message, spam] = await Promise.all([
      lookUpMachinesShared(),
      orElse(lookUpSpf(deps.hosts, { domain: returnPathDomain, resolver: deps.resolver, signal }), silent, signal),
      orElse(
        lookUpDkim({
          signer: signer?.source,
          email: ownSample(domain, deps.nowMs()).content.email,
          composer: deps.composer,
          resolver: deps.resolver,
          records: recordsOf(registration, "dkim1", "dkim2"),
          signal,
        }),
        silent,
        signal,
      ),
      orElse(lookUpDmarc({ fromDomain, registration }, lookup), silent, signal),
      lookUpOrganizations([fromDomain, domain, returnPathDomain], lookup),
      deps.delivery === "capture" ? [] : askDomainLists(deps.blocklists.domains, [domain], lookup),
      receivesMail(replyDomain, lookup),
      composed.then((result) => (isUnanswered(result) ? result : result.facts)),
      composed.then((result) =>
        isUnanswered(result) ? result : askFilter(result.raw, { returnPathDomain, signal, sample }),
      ),
    ]);
    const facts: Facts = {
      delivery: deps.delivery,
      bulk,
      ownSample: sample.isOwn,
      refusal: "refused" in sample.content ? sample.content.refused : "",
      domain,
      fromDomain,
      returnPathDomain,
      mailFromRecords: recordsOf(registration, "mailFromMx", "mailFromSpf"),
      spfRecords: spfRecords(registration, returnPathDomain),
      hosts: machine.hosts,
      addressLists: machine.listings,
      spf,
      dkim,
      dmarc,
      organizations,
      domainLists,
      replies: { domain: replyDomain, receives },
      message,
      spam,
    };
    return {
      checks: judge(facts),
      sizeBytes: isUnanswered(message) ? 0 : message.sizeBytes,
      longestLine: isUnanswered(message) ? 0 : message.longestLine,
      returnPathDomain,
      signedWith: signer ? `${signer.source.selector}._domainkey.${signer.source.domain}` : "",
      spam: isUnanswered(spam) ? undefined : spam,
    };
  }

  type Composed = Answer<{ raw: Buffer; facts: MessageFacts }>;

  async function composeSample({
    row,
    sample,
    signer,
    signal,
  }: {
    row: DomainRow;
    sample: Sample;
    signer: Parameters<Composer["compose"]>[0]["signer"];
    signal: AbortSignal;
  }): Promise<Composed> {
    const { content } = sample;
    const late = { unanswered: "the sample could not be composed in time" };
    return await orElse(
      (async () => {
        const raw =
          "refused" in content
            ? content.raw
            : (await deps.composer.compose({ email: content.email, signer, signal })).raw;
        const texts = sample.texts ?? (await textsOf(row.workspaceId, raw));
        return { raw, facts: await readMessageFacts(raw, texts) };
      })(),
      late,
      signal,
    );
  }

  /** A message that is too complex to be taken apart has no text that a reader sees. */
  async function textsOf(workspaceId: string, raw: Buffer): Promise<{ text: string; html: string }> {
    const { body, html } = await deps.readTexts(workspaceId, raw).catch(() => ({ body: "", html: "" }));
    return { text: body, html };
  }

  async function askFilter(
    raw: Buffer,
    { sample, returnPathDomain, signal }: { sample: Sample; returnPathDomain: string; signal: AbortSignal },
  ): Promise<Answer<SpamFacts | undefined>> {
    if (sample.isOwn) return undefined;
    const [host] = deps.hosts;
    const to = "email" in sample.content ? sample.content.email.to[0]?.address : undefined;
    const envelope = {
      from: `check@${returnPathDomain}`,
      recipient: to && /^[\x21-\x7e]+$/.test(to) ? to : "recipient@example.com",
      address: host?.address,
      helo: host?.helo ?? deps.zone,
    };
    return await askSpamFilter(deps.spamFilter, { message: raw, envelope, signal });
  }

  function lookUpMachinesShared(): ReturnType<typeof lookUpMachines> {
    const known = machines;
    if (known && known.untilMs > performance.now()) return known.facts;
    const facts = lookUpMachines();
    machines = { untilMs: performance.now() + sharedForMs, facts };
    return facts;
  }

  /** Does not end with the call that started it, because other calls share it. */
  async function lookUpMachines() {
    const lookup = lookupWithin(AbortSignal.timeout(timeoutMs));
    const addresses = deps.hosts.slice(0, maxHosts).map(({ address }) => address);
    const isAsked = deps.delivery === "direct";
    const [hosts, listings] = await Promise.all([
      lookUpHosts(deps.hosts, lookup),
      isAsked ? askAddressLists(deps.blocklists.addresses, addresses, lookup) : [],
    ]);
    const silent = hosts.some(({ ptr, heloAddresses }) => isUnanswered(ptr) || isUnanswered(heloAddresses));
    // A failure of the network may be over soon.
    if (silent || listings.some(({ answer }) => answer === "unanswered")) machines = undefined;
    return { hosts, listings };
  }

  function lookupWithin(signal: AbortSignal): LookupFunction {
    return async <T extends LookupType>(name: string, type: T) => {
      try {
        return await deps.resolver.lookup(name, type, { signal, timeoutMs: lookupTimeoutMs });
      } catch (error) {
        if (signal.aborted) return { kind: "timeout" };
        throw error;
      }
    };
  }
}

/** RFC 5321 §5.1: an MX record, or else an address. RFC 7505: a null MX accepts no mail. */
async function receivesMail(domain: string, lookup: LookupFunction): Promise<Answer<boolean>> {
  const mx = await lookup(domain, "MX");
  if (mx.kind === "found") return mx.records.some(({ exchange }) => exchange !== "" && exchange !== ".");
  if (mx.kind === "nxdomain") return false;
  const found = mx.kind === "nodata" ? await Promise.all([lookup(domain, "A"), lookup(domain, "AAAA")]) : [mx];
  if (found.some(({ kind }) => kind === "found")) return true;
  if (found.every(({ kind }) => kind === "nodata" || kind === "nxdomain")) return false;
  return { unanswered: `DNS did not answer for the mail servers of ${domain}` };
}

/** The result, or `late` when the signal is aborted first. */
async function orElse<T, L>(work: Promise<T>, late: L, signal: AbortSignal): Promise<T | L> {
  const { promise, resolve } = Promise.withResolvers<L>();
  const end = () => resolve(late);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([work, promise]);
  } catch (error) {
    if (signal.aborted) return late;
    throw error;
  } finally {
    signal.removeEventListener("abort", end);
  }
}
