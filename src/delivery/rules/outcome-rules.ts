/** The meaning of receivers' replies as tables of wordings, enhanced codes and plain codes. `readReply` in outcome.ts applies them in this
 * order. */
import type { Phase } from "../../smtp/client/evidence.ts";

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
  protocol: "undetermined",
  /** The receiver's system is overloaded, broken or under maintenance. */
  system: "transient",
  expired: "transient",
  interrupted: "transient",
  other: "undetermined",
} as const satisfies Record<string, BounceType>;
export type Category = keyof typeof categories;

export interface WordingRule {
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

/** The first matching rule wins. Comments name the receivers that use a wording; wordings without a name are common. */
export const wordingRules: readonly WordingRule[] = [
  // Greylisting: postgrey, milter-greylist, SQLgrey; Yahoo (GL01); Mimecast; Yandex.
  { category: "greylisted", wording: /gr[ae]y-?list/i },
  { category: "greylisted", wording: /\[GL01\]/ },
  { category: "greylisted", wording: /internal resources? (?:is |are )?temporarily unavailable/i, codeClass: 4 },
  { category: "greylisted", wording: /service is currently unavailable\. please come back later/i, codeClass: 4 },

  // The receiver requires TLS.
  {
    category: "tls",
    wording: /must issue a starttls|starttls is required|encryption (?:is )?(?:required|needed)|tls (?:is )?required/i,
    temporary: true,
  },

  // Rate limits of one mailbox, before the general rate limits. Gmail, Exchange.
  {
    category: "rate-limited",
    wording: /receiving mail (?:too quickly|at a rate)|thread limit exceeded/i,
    recipientOnly: true,
  },

  // Authentication of the sender: Gmail, Outlook, Yahoo, QQ, Messagelabs, Postfix policy daemons.
  {
    category: "auth-failure",
    wording: /unauthenticated email|sender is unauthenticated|required authentication level/i,
  },
  { category: "auth-failure", wording: /\bdmarc\b/i },
  {
    category: "auth-failure",
    wording: /\bspf\b.*(?:fail|pass|not |reject|violat|den|author|weak|align)|sender policy framework/i,
  },
  {
    category: "auth-failure",
    wording: /\bdkim\b.*(?:fail|pass|not |reject|invalid|verif)|authentication (?:checks?|results?).*(?:fail|pass)/i,
  },

  // Full mailboxes and message sizes. Both mention limits, so these rules come before the rate limits.
  {
    category: "mailbox-full",
    wording:
      /mailbox (?:size )?(?:limit|quota|storage)|mailbox.{0,40}\bfull\b|inbox.{0,20}\bfull\b|mail ?folder is full/i,
  },
  {
    category: "mailbox-full",
    wording: /over ?-?quota|quota (?:is )?exceed|exceed(?:ed|s|ing)? .{0,40}quota|quota.?exceeded/i,
  },
  {
    category: "mailbox-full",
    wording:
      /out of storage space|storage (?:is )?full|exceeded (?:its )?storage allocation|too many messages in (?:the )?mailbox/i,
    phases: ["rcpt", "dot"],
  },
  {
    category: "too-large",
    wording: /(?:message|mail|e-?mail)(?: size| length| file)? (?:is )?(?:too (?:large|big|long)|exceed(?:s|ed))/i,
  },
  {
    category: "too-large",
    wording:
      /(?:exceeds?|exceeded|larger than|over|above) (?:the |our |google'?s )?(?:max(?:imum)?|fixed|allowed|administrative|current|configured)?.{0,20}(?:message |mail |email )?size|size (?:limit )?exceed/i,
  },
  {
    category: "too-many-recipients",
    wording:
      /too many recipients|(?:domain )?policy size per transaction|multiple destination domains|one recipient at a time/i,
  },

  // Reputation, before rate limits and "try again": block lists, reduced volume after complaints.
  {
    category: "reputation",
    wording:
      /blocked using |block ?list|black ?list|deny ?list|\b(?:dns)?[rd]?bl\b|spamhaus|spamcop|sorbs|barracuda ?(?:networks|central|reputation)|ipcheck\.proofpoint|dnsbl-lookup/i,
  },
  {
    category: "reputation",
    wording:
      /(?:poor|bad|low|ip|domain|sender|sending mta's|negative) ?(?:e-?mail |domain |ip )?reputation|reputation (?:of|is|too)/i,
  },
  { category: "reputation", wording: /\[TSS?\d+\]|\(S(?:3[01]\d\d|775)\)|banned sending ip|permanently deferred/i }, // Yahoo; Outlook
  { category: "reputation", wording: /\bBL0000\d\d\b|AUP#|\(BL\)|OFR_?5\d\d|comcast block/i }, // Comcast, Charter, T-Online, Orange
  {
    category: "reputation",
    wording:
      /(?:reverse|bad) dns|ptr (?:resource )?record|does not have a ptr|(?:fix|no|without) (?:a )?(?:valid )?(?:reverse|ptr|rdns)|cannot find your (?:reverse )?hostname/i,
  },
  {
    category: "reputation",
    wording:
      /unusual rate of unsolicited|suspicious due to the (?:very )?(?:low|nature)|user complaints|sent too much spam|access.{0,40}mail system has been rejected/i,
  },
  {
    category: "reputation",
    wording:
      /service (?:unavailable|refused);? client host .*(?:block|list|reject)|generic (?:rdns|hostname)|dynamic ip|dial-?up/i,
  },

  // Spam and malware in the content.
  {
    category: "spam-content",
    wording:
      /likely (?:unsolicited|suspicious)|suspicion of spam|(?:considered|detected|identified|classified|marked|rejected|recogni[sz]ed|looks like|tagged) (?:as |like |to be )?(?:an? )?(?:possible |probable )?(?:spam|junk|virus|phish|unsolicited|bulk)/i,
  },
  {
    category: "spam-content",
    wording:
      /spam (?:message|content|detected|score|signature|mail)|mcspamsignature|\bphish|virus|malware|high probability of spam|unsolicited (?:bulk )?(?:mail|content)/i,
  },
  {
    category: "spam-content",
    wording:
      /content (?:denied|rejected|presents|filter|is not accept|not accept)|mail content|prohibited (?:content|attachment)|(?:attachment|file|url|link)s? .{0,40}(?:blocked|not allowed|not permitted|rejected|prohibited)/i,
  },

  // Rate limits.
  {
    category: "rate-limited",
    wording:
      /too (?:many|much) (?:connections?|sessions?|messages?|mails?|emails?|errors?|concurrent|requests|mail|traffic|simultaneous)|(?:rate|frequency|throughput|volume|connection|hourly|daily)(?: is)?.{0,20}(?:limit|exceed)/i,
  },
  {
    category: "rate-limited",
    wording:
      /rate.?limit|throttl|slow(?:ing)? down|sending limit|exceeded .{0,40}(?:rate|threshold|quota of messages)|unexpected volume|\bRP-00\d\b|\bRL0000\d\d\b/i,
  },
  {
    category: "rate-limited",
    wording: /server busy|resources temporarily (?:not available|unavailable)|try again later from/i,
    codeClass: 4,
  },

  // Senders, before recipients: receivers use the same wordings for both, also at RCPT.
  {
    category: "sender-rejected",
    wording:
      /sender (?:address |domain )?(?:rejected|denied|blocked|not (?:allowed|exist|found|accepted|valid))|(?:bad|banned|blocked|invalid) (?:outbound )?sender|blocked senders|domain of sender|sender verify failed|envelope blocked/i,
  },

  // Unknown mailboxes. The first rules: Exchange, Outlook and GMX, Yahoo, IronPort.
  { category: "unknown-mailbox", wording: /recipient address rejected: access denied/i, enhanced: /^5\.4\.1$/ },
  { category: "unknown-mailbox", wording: /recip(?:ient)?notfound|recipient not found by smtp address/i },
  { category: "unknown-mailbox", wording: /mailbox unavailable/i, codeClass: 5, phases: ["rcpt"] },
  {
    category: "unknown-mailbox",
    wording: /doesn'?t have an? .{1,60} account|requested mail action aborted, mailbox not found/i,
  },
  { category: "unknown-mailbox", wording: /^#?(?:5\.1\.0 )?address rejected/i, codeClass: 5, phases: ["rcpt"] },
  {
    category: "unknown-mailbox",
    wording:
      /user (?:is )?unknown|unknown (?:or (?:illegal|invalid) )?(?:user|recipient|mailbox|account|local[- ]?part|alias|virtual|e-?mail|address)/i,
  },
  {
    category: "unknown-mailbox",
    wording:
      /(?:user|recipient|mailbox|account|addressee|alias) (?:is |was )?(?:not (?:found|known|exist|valid|recogni[sz]ed|listed|local|here)|unknown|invalid)|invalid (?:user|recipient|mailbox|alias|account)/i,
  },
  {
    category: "unknown-mailbox",
    wording:
      /no (?:such|valid) (?:user|mailbox|recipient|person|account|address|local user|name|alias|domino user)|no mailbox (?:here|by|found)|no one (?:here )?(?:by|with) that (?:name|e-?mail)/i,
  },
  {
    category: "unknown-mailbox",
    wording:
      /(?:address|account|user|mailbox|recipient|e-?mail).{0,60}(?:does ?n[o']t|do not|did not) exist|not (?:a )?(?:known|valid|our) (?:user|mailbox|recipient|customer|account)/i,
  },
  {
    category: "unknown-mailbox",
    wording:
      /(?:e-?mail )?address could not be found|bad destination mailbox|addressee unknown|destinataire inconnu|destinataire invalide|unrouteable address|undeliverable address/i,
  },
  {
    category: "unknown-mailbox",
    wording: /user .{1,100}(?:does ?n[o']t exist|not found|unknown)|mailbox .{1,100}(?:does ?n[o']t exist|not found)/i,
  },

  // Disabled mailboxes: Gmail, Yahoo (554.30), Comcast and others.
  {
    category: "mailbox-disabled",
    wording:
      /(?:account|mailbox|user|recipient|address)(?: that you tried to reach)?.{0,60}(?:disabled|inactive|suspended|deactivated|closed|locked|expired|no longer (?:active|available|valid|in use|accept))|account not available|554\.30/i,
  },

  // Relaying and invalid addresses.
  {
    category: "relay-denied",
    wording:
      /relay(?:ing)? (?:access )?(?:is )?(?:denied|not (?:permitted|allowed)|prohibited|disallowed)|unable to relay|(?:not|n't) (?:permitted|allowed|authorized) to relay|rcpthosts|we do not relay|relay access|not (?:a )?(?:local|hosted) domain/i,
  },
  {
    category: "invalid-address",
    wording:
      /(?:bad|malformed|invalid|illegal) (?:e-?mail )?address(?: syntax)?|syntax error in (?:the )?address|address syntax/i,
  },

  {
    category: "relay-login",
    wording: /authentication (?:is )?required|must (?:first )?authenticate|not logged in|authentication credentials/i,
    phases: ["auth", "mail"],
  },
  {
    category: "policy",
    wording:
      /local policy|policy reasons|policy (?:violation|restriction|that prohibited)|security polic|administrative(?:ly)? prohibit|violates .{0,40}policy|access denied|not (?:allowed|permitted|authori[sz]ed) to send|not in whitelist|transport\.rules|senderNotAuthenticated|rejected by policy/i,
  },
  {
    category: "protocol",
    wording: /hop count|mail loop|too many hops|loop detected|barelf|bare (?:lf|line ?feed)|pipelin|out of sequence/i,
  },
  {
    category: "system",
    wording:
      /insufficient (?:system )?(?:storage|disk|resources)|out of (?:memory|disk)|disk full|local error|temporary (?:system |local )?(?:problem|failure|error|lookup)|shutting down|maintenance|queue file write|service (?:is )?(?:temporarily )?(?:not available|unavailable)|try again later/i,
    codeClass: 4,
  },
];

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
  "7.28": "rate-limited", // RFC 9228 registry: mail flood
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
