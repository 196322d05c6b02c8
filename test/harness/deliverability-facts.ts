/** Facts of a domain and a sample that meet every demand, for the tests of the rules. */
import type { Facts, MessageFacts } from "../../src/deliverability/rules/facts.ts";

export const goodMessage: MessageFacts = {
  fields: [
    { name: "DKIM-Signature", value: " v=1; h=From:List-Unsubscribe:List-Unsubscribe-Post; bh=x; b=y" },
    { name: "From", value: " Shop <news@example.com>" },
    { name: "To", value: " ada@example.net" },
    { name: "Subject", value: " Your order" },
    { name: "Date", value: " Wed, 18 Nov 2026 14:00:00 +0000" },
    { name: "Message-ID", value: " <1@example.com>" },
    { name: "List-Unsubscribe", value: " <https://example.com/u/1>" },
    { name: "List-Unsubscribe-Post", value: " List-Unsubscribe=One-Click" },
  ],
  sizeBytes: 2000,
  longestLine: 78,
  hasBareLineEnds: false,
  hasRawHeader: false,
  signedFields: ["from", "list-unsubscribe", "list-unsubscribe-post"],
  text: "Hello. Unsubscribe: https://example.com/u/1",
  html: "<p>Hello</p>",
};

export const goodFacts: Facts = {
  delivery: "direct",
  bulk: true,
  ownSample: false,
  refusal: "",
  domain: "example.com",
  fromDomain: "example.com",
  returnPathDomain: "bounce.example.com",
  organizations: new Map([
    ["example.com", "example.com"],
    ["bounce.example.com", "example.com"],
  ]),
  mailFromRecords: [{ type: "TXT", name: "bounce.example.com", value: "v=spf1 include:spf.mail.test ~all" }],
  hosts: [
    {
      address: "1.2.3.4",
      helo: "mx.mail.test",
      ptr: [{ name: "mx.mail.test", resolvesBack: true }],
      heloAddresses: ["1.2.3.4"],
    },
  ],
  spf: [{ address: "1.2.3.4", result: "pass", comment: "" }],
  spfRecords: [{ type: "TXT", name: "bounce.example.com", value: "v=spf1 include:spf.mail.test ~all" }],
  dkim: { name: "ph1._domainkey.example.com", result: "pass", comment: "", bits: 2048, records: [] },
  dmarc: {
    status: "found",
    value: "v=DMARC1; p=none; rua=mailto:d@example.com",
    note: "",
    policy: "none",
    testing: false,
    alignment: { dkim: "r", spf: "r" },
    reportsTo: ["mailto:d@example.com"],
    isInherited: false,
    record: {
      type: "TXT",
      name: "_dmarc.example.com",
      value: "v=DMARC1; p=none; rua=mailto:token@reports.mail.test",
    },
  },
  addressLists: [{ list: "zen.test", subject: "1.2.3.4", answer: "not_listed", detail: "" }],
  domainLists: [{ list: "dbl.test", subject: "example.com", answer: "not_listed", detail: "" }],
  replies: { domain: "example.com", receives: true },
  message: goodMessage,
  spam: { filter: "rspamd", score: 1, threshold: 15, isSpam: false, rules: [] },
};

export const withMessage = (change: Partial<MessageFacts>): Facts => ({
  ...goodFacts,
  message: { ...goodMessage, ...change },
});

/** The good message with these header fields, which replace those of the same name. An undefined value removes a field. */
export function withFields(...fields: [name: string, value: string | undefined][]): Facts {
  const kept = goodMessage.fields.filter((field) => !fields.some(([name]) => name === field.name));
  const added = fields.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: ` ${value}` }]));
  return withMessage({ fields: [...kept, ...added] });
}
