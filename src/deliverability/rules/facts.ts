/** What the rules decide from: the DNS answers and the facts about the composed sample. check.ts collects them. */

/** A question without an answer has the reason, as a clause: "DNS did not answer in time". */
export type Unanswered = { unanswered: string };
export type Answer<T> = T | Unanswered;

export function isUnanswered<T>(answer: Answer<T>): answer is Unanswered {
  return typeof answer === "object" && answer !== null && "unanswered" in answer;
}

/** An address that mail is sent from, as receivers see it. */
export type SendingHost = {
  address: string;
  helo: string;
  /** The names in the PTR record, each with whether it resolves back to the address. Empty: no PTR record. */
  ptr: Answer<{ name: string; resolvesBack: Answer<boolean> }[]>;
  /** The addresses of the HELO name in the family of `address`. */
  heloAddresses: Answer<string[]>;
};

export type SpfResult = { address: string; result: string; comment: string };

export type DkimFacts = {
  /** `ph1._domainkey.example.com` */
  name: string;
  /** The selector of an imported key. Undefined: the key is one of the service. */
  imported?: string | undefined;
  /** pass, fail, neutral, temperror, permerror: of a message that was signed and verified with the key in DNS. */
  result: string;
  comment: string;
  /** Length of the RSA key that signs. */
  bits: number;
  /** The records that publish the key: the domain's DKIM records, or the record of the imported key. */
  records: DnsValue[];
};

export type DmarcFacts = {
  status: "found" | "mismatch" | "missing";
  /** The record in DNS. */
  value: string;
  note: string;
  policy: string;
  /** `t=y`: receivers apply one level less than the policy. */
  testing: boolean;
  /** Why the record has no valid policy, so that receivers read it as p=none. */
  assumed?: string | undefined;
  alignment: { dkim: "r" | "s"; spf: "r" | "s" };
  reportsTo: string[];
  /** The record is that of a parent domain. */
  isInherited: boolean;
  /** The record to publish. */
  record: DnsValue;
};

export type DnsValue = { type: string; name: string; value: string };

/** One question to a blocklist. */
export type Listing = {
  list: string;
  /** The address or the domain. */
  subject: string;
  answer: "listed" | "not_listed" | "refused" | "unanswered";
  /** The addresses in the answer, or why there is none. */
  detail: string;
};

export type HeaderField = { name: string; value: string };

export type MessageFacts = {
  fields: HeaderField[];
  sizeBytes: number;
  /** Octets of the longest line, without its CRLF. */
  longestLine: number;
  /** A CR without an LF, or an LF without a CR. */
  hasBareLineEnds: boolean;
  /** The header contains octets above 127. */
  hasRawHeader: boolean;
  /** `h=` of our signature, in lower case. Empty: not signed. */
  signedFields: string[];
  text: string;
  html: string;
};

export type SpamFacts = {
  filter: string;
  score: number;
  /** Mail with this score is refused by rspamd, and marked as spam by SpamAssassin. */
  threshold: number;
  isSpam: boolean;
  rules: { name: string; score: number; description: string }[];
};

export type Facts = {
  delivery: "direct" | "relay" | "capture";
  bulk: boolean;
  /** No sample was given. */
  ownSample: boolean;
  /** Why Posthorn does not accept the sample; empty: it does. */
  refusal: string;
  /** The registered domain. */
  domain: string;
  fromDomain: string;
  returnPathDomain: string;
  /** The MAIL FROM records that the domain lacks. */
  mailFromRecords: DnsValue[];
  hosts: SendingHost[];
  /** Empty when no sending address is known. */
  spf: Answer<SpfResult[]>;
  spfRecords: DnsValue[];
  /** Undefined: the domain has no key. */
  dkim: Answer<DkimFacts | undefined>;
  dmarc: Answer<DmarcFacts>;
  /** The organizational domains of From, of the signature and of the return path. One that DNS does not tell is missing. */
  organizations: ReadonlyMap<string, string>;
  addressLists: Listing[];
  domainLists: Listing[];
  /** Whether mail to the domain of the replies finds a server. */
  replies: { domain: string; receives: Answer<boolean> };
  /** Unanswered: the sample could not be composed. */
  message: Answer<MessageFacts>;
  /** Undefined: no filter is set up. */
  spam: Answer<SpamFacts | undefined>;
};

export type Result = "pass" | "warn" | "fail" | "unknown" | "not_needed";

export type Verdict = {
  result: Result;
  /** A sentence. */
  found: string;
  /** A sentence; missing when there is nothing to do. */
  fix?: string;
  records?: DnsValue[];
};

export const pass = (found: string): Verdict => ({ result: "pass", found });
export const fail = (found: string, fix: string, records: DnsValue[] = []): Verdict => ({
  result: "fail",
  found,
  fix,
  records,
});
export const warn = (found: string, fix: string, records: DnsValue[] = []): Verdict => ({
  result: "warn",
  found,
  fix,
  records,
});
export const unknown = (found: string, fix = ""): Verdict => ({ result: "unknown", found, ...(fix && { fix }) });
export const notNeeded = (found: string): Verdict => ({ result: "not_needed", found });

/** A clause as a sentence. */
export function sentence(clause: string): string {
  const text = clause.charAt(0).toUpperCase() + clause.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
