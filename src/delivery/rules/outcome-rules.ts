/** The meaning of receivers' replies as tables of wordings (wordings.json), enhanced codes and plain codes. `readReply` in outcome.ts applies
 * them in this order. */
import type { Phase } from "../../smtp/client/evidence.ts";
import wordings from "./wordings.json" with { type: "json" };

export type BounceType = "permanent" | "transient" | "undetermined";

/**
 * Every category with what a bounce in it means for the address. `permanent`: do not send to it again. `transient`: it may accept a later
 * message. `undetermined`: unknown. SES and Resend use these words in the same sense.
 */
export const categories = {
  accepted: "undetermined",
  "unknown-mailbox": "permanent",
  "mailbox-disabled": "permanent",
  "invalid-address": "permanent",
  "mailbox-full": "transient",
  policy: "permanent",
  reputation: "permanent",
  "spam-content": "transient",
  "rate-limited": "transient",
  greylisted: "transient",
  /** SPF, DKIM or DMARC did not pass. */
  "auth-failure": "permanent",
  "sender-rejected": "permanent",
  "too-large": "transient",
  "too-many-recipients": "transient",
  "relay-denied": "permanent",
  /** The relay rejected our login. */
  "relay-login": "transient",
  smtputf8: "permanent",
  dns: "permanent",
  network: "transient",
  tls: "transient",
  /** The receiver's TLSA records require a certificate that its server does not present, or their lookup failed. */
  dane: "transient",
  protocol: "undetermined",
  /** The receiver's system is overloaded, broken or under maintenance. */
  system: "transient",
  expired: "transient",
  interrupted: "transient",
  other: "undetermined",
} as const satisfies Record<string, BounceType>;
export type Category = keyof typeof categories;

export interface WordingRule {
  /** The receiver or program whose wording it is; `any` for wordings that many use. */
  receiver: string;
  category: Category;
  /** Matched against the reply's text, with runs of white space collapsed. */
  wording: RegExp;
  /** The rule applies only with this enhanced code. */
  enhanced?: RegExp;
  /** The rule applies only to temporary (4) or permanent (5) replies. */
  codeClass?: 4 | 5;
  phases?: readonly Phase[];
  /** Retry, although the code is a 5xx. */
  temporary?: true;
  /** Concerns this recipient only, although the category usually concerns the whole destination. */
  recipientOnly?: true;
}

/** A row of wordings.json: `pattern` and `enhanced` are regular expressions without regard to case. */
export type WordingRow = Omit<WordingRule, "wording" | "enhanced"> & {
  pattern: string;
  enhanced?: string;
  /** The receiver's page, or the program's file, that has the wording. `seen` and where, if nothing publishes it. */
  source: string;
  /** A reply that this row decides, and the outcome. */
  example: { phase: Phase; reply: string; kind: string; scope: string; suppress: boolean };
};

/** The first matching rule wins. */
export const wordingRules: readonly WordingRule[] = (wordings as WordingRow[]).map(
  ({ pattern, enhanced, source: _, example: __, ...rule }) => ({
    ...rule,
    wording: new RegExp(pattern, "i"),
    ...(enhanced !== undefined && { enhanced: new RegExp(enhanced) }),
  }),
);

/** By subject and detail, from RFC 3463 and the IANA registry. An entry with a subject alone applies to the details that are not listed. */
export const enhancedRules: Readonly<Record<string, Category>> = {
  "1": "invalid-address",
  "1.0": "other",
  "1.1": "unknown-mailbox",
  "1.2": "dns",
  "1.7": "sender-rejected",
  "1.8": "sender-rejected",
  "1.9": "protocol",
  "1.10": "unknown-mailbox", // RFC 7505 §4.2; Exchange uses it for unknown recipients
  "2": "other",
  "2.1": "mailbox-disabled",
  "2.2": "mailbox-full",
  "2.3": "too-large",
  "3": "system",
  "3.3": "protocol",
  "3.4": "too-large",
  "4": "network",
  "4.3": "dns",
  "4.4": "dns",
  "4.5": "rate-limited",
  "4.6": "protocol",
  "4.14": "protocol", // Exchange: mail loop
  "5": "protocol",
  "5.3": "too-many-recipients",
  "6": "protocol",
  "6.7": "smtputf8", // RFC 6531 §4.2
  "6.9": "smtputf8",
  "7": "policy",
  "7.5": "tls",
  "7.7": "auth-failure",
  "7.8": "relay-login",
  "7.10": "tls",
  "7.20": "auth-failure", // 7.20 to 7.26, RFC 7372 §3: DKIM, SPF, reverse DNS, several checks at once
  "7.21": "auth-failure",
  "7.22": "auth-failure",
  "7.23": "auth-failure",
  "7.24": "auth-failure",
  "7.25": "reputation",
  "7.26": "auth-failure",
  "7.27": "sender-rejected", // RFC 7505 §4.2
  "7.28": "rate-limited", // IANA registry: mail flood detected
  "7.29": "auth-failure",
  "7.606": "reputation", // Microsoft, like the next three
  "7.650": "rate-limited",
  "7.705": "rate-limited",
  "7.708": "reputation",
};

/** By the plain code, or by `code phase` where the phase changes the meaning. RFC 5321 §4.2.3, RFC 4954 §6, RFC 7504. */
export const codeRules: Readonly<Record<string, Category>> = {
  "421": "system",
  "451": "system",
  "452": "system",
  "452 rcpt": "too-many-recipients", // RFC 5321 §4.5.3.1.10
  "454": "tls",
  "454 auth": "relay-login",
  "500": "protocol",
  "501": "protocol",
  "501 rcpt": "invalid-address",
  "502": "protocol",
  "503": "protocol",
  "504": "protocol",
  "521": "policy",
  "523": "too-large",
  "530": "relay-login",
  "534": "relay-login",
  "535": "relay-login",
  "538": "relay-login",
  "551": "invalid-address",
  "552": "too-large",
  "552 rcpt": "mailbox-full",
  "553": "invalid-address",
  "553 mail": "sender-rejected",
  "555": "protocol",
  "556": "policy",
};
