/** Sample payloads, one per event type, for SendTestWebhook. They have the form of real events and use example domains (RFC 2606). */

/** The metadata of every sample event, by which a receiver can distinguish it from a real one. */
export const sampleMetadata: Readonly<Record<string, string>> = { posthornTest: "true" };

const recipients = ["someone@example.com"];
const remoteMx = "mx.example.com";
const tls = { protocol: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384", verified: true, mtaSts: "enforce", dane: "" };
const accepted = { recipients, tls, smtpReply: "250 2.0.0 OK", attempts: 1, possibleDuplicate: false };
const verdicts = {
  spf: "VERDICT_PASS",
  spfDomain: "example.com",
  dkim: "VERDICT_PASS",
  dkimDomain: "example.com",
  dmarc: "VERDICT_PASS",
  arc: "VERDICT_NONE",
  arcDomain: "",
};
const inbound = {
  from: "someone@example.com",
  to: ["you@example.org"],
  subject: "Re: A test",
  body: "This is a test.\n",
  html: "",
  messageId: "<test@example.com>",
  verdicts,
  attachments: [],
};

const warning = {
  figure: "bounces",
  count: 131,
  recipients: 1000,
  message: "131 of the last 1000 recipients bounced (13.1 %). The limit is 10 %.",
};

/** Payloads in the form in which events are stored: the JSON of the contract's messages. */
const payloads: Readonly<Record<string, Record<string, unknown>>> = {
  "email.sent": { ...accepted, remoteMx: "relay.example.com" },
  "email.delivered": { ...accepted, remoteMx },
  "email.delayed": {
    recipients,
    remoteMx,
    category: "greylisted",
    enhancedCode: "4.7.1",
    attempts: 1,
    smtpReply: "451 4.7.1 Greylisted, try again later",
  },
  "email.bounced": {
    recipients,
    remoteMx,
    bounceType: "BOUNCE_TYPE_PERMANENT",
    category: "unknown_mailbox",
    enhancedCode: "5.1.1",
    smtpReply: "550 5.1.1 No such mailbox",
    attempts: 1,
  },
  "email.suppressed": { recipients, reason: "SUPPRESSION_REASON_BOUNCE" },
  "email.failed": { recipients, category: "purged", reason: "The destination's queue was emptied.", attempts: 0 },
  "email.canceled": { recipients },
  "email.complained": { recipients, feedbackType: "abuse", userAgent: "example.com feedback loop" },
  "email.replied": { ...inbound, newText: "This is a test.\n" },
  "email.received": { ...inbound, subject: "A test", autoSubmitted: false },
  "email.unsubscribed": {
    recipients,
    topic: "newsletter",
    method: "UNSUBSCRIBE_METHOD_ONE_CLICK",
    resubscribed: false,
  },
  "domain.updated": {
    domain: "example.org",
    status: "DOMAIN_STATUS_READY",
    previousStatus: "DOMAIN_STATUS_VERIFYING",
    canSend: true,
    canReceive: true,
    message: "All records are found.",
  },
  "domain.report": {
    domain: "example.org",
    ip: "192.0.2.25",
    headerFrom: "example.org",
    messages: 12,
    reporter: "receiver.example",
    organization: "Receiver",
    reportId: "test",
    spfDomains: ["bulk.example"],
    disposition: "delivered",
  },
  "webhook.disabled": { url: "https://example.org/webhooks", reason: "This is a test: nothing was disabled." },
  "workspace.quota": { kind: "QUOTA_KIND_EMAILS_PER_HOUR", percent: 80, limit: 1000, used: 812 },
  "workspace.warning": { warning },
  "workspace.suspended": { reason: warning.message, warning },
  "workspace.resumed": {},
  "workspace.alert": {
    figure: "complaints",
    rate: 0.0041,
    threshold: 0.003,
    count: 21,
    recipients: 5120,
    message: "21 complaints about 5,120 delivered recipients in the last 24 hours (0.41 %). The threshold is 0.3 %.",
  },
  "key.expiring": {
    keyId: "key_01938a40-2f6b-71d9-a5e3-0c8b4d7f9e12",
    name: "This is a test",
    prefix: "ph_Example0",
    expiresAt: "2030-01-31T09:00:00Z",
    daysLeft: 7,
  },
};

/** Undefined for an unknown type. */
export function samplePayload(type: string): Record<string, unknown> | undefined {
  return Object.hasOwn(payloads, type) ? payloads[type] : undefined;
}
