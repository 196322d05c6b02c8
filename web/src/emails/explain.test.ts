/** The sentence for each outcome and reason, for one and for several recipients. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { categories } from "../../../src/delivery/rules/outcome-rules.ts";
import { EmailSchema, RecipientStatus } from "../../../src/gen/v1/email_pb.ts";
import { EventSchema } from "../../../src/gen/v1/event_pb.ts";
import { SuppressionReason } from "../../../src/gen/v1/suppression_pb.ts";
import { timeText } from "../parts/date-text.ts";
import { explainEmail, explainRecipient, factsOf, type RecipientFacts, titleOf } from "./explain.ts";
import { reasons } from "./reasons.ts";

const now = new Date("2026-06-15T12:00:00Z");
const later = new Date("2026-06-15T13:00:00Z");
const end = new Date("2026-06-17T12:00:00Z");

function about(part: Partial<RecipientFacts>): RecipientFacts {
  return {
    address: "lin@there.test",
    status: RecipientStatus.QUEUED,
    complained: false,
    category: "",
    suppressionReason: SuppressionReason.UNSPECIFIED,
    inDoubt: false,
    attempts: 0,
    remoteMx: "",
    nextAttemptAt: undefined,
    scheduledAt: undefined,
    expiresAt: end,
    tookMs: undefined,
    isSuppressed: false,
    ...part,
  };
}

const { BOUNCED, CANCELED, DELAYED, DELIVERED, FAILED, PROCESSING, SENT, SUPPRESSED } = RecipientStatus;
const bounced = (category: string, part: Partial<RecipientFacts> = {}) => about({ status: BOUNCED, category, ...part });
const delayed = (category: string, part: Partial<RecipientFacts> = {}) =>
  about({ status: DELAYED, category, nextAttemptAt: later, ...part });
const suppressed = (suppressionReason: SuppressionReason, isSuppressed: boolean | undefined = true) =>
  about({ status: SUPPRESSED, suppressionReason, isSuppressed });

const cases: [facts: RecipientFacts, tone: string, title: string, text: RegExp][] = [
  [
    bounced("unknown_mailbox", { isSuppressed: true }),
    "bounced",
    "Bounced: the mailbox lin@there.test does not exist",
    /now suppressed.*Remove the suppression if the person says that the address works\.$/,
  ],
  [
    bounced("unknown_mailbox"),
    "bounced",
    "Bounced: the mailbox lin@there.test does not exist",
    /^Check the spelling of the address/,
  ],
  [bounced("mailbox_full"), "bounced", "Bounced: the mailbox lin@there.test is full", /^Resend the email after/],
  [
    bounced("mailbox_full", { isSuppressed: true }),
    "bounced",
    "Bounced: the mailbox lin@there.test is full",
    /deleted mail\. The address is also suppressed/,
  ],
  [bounced("policy"), "bounced", "Bounced: a policy of the receiver blocks it", /names the rule and a contact/],
  [
    bounced("reputation"),
    "bounced",
    "Bounced: the receiver blocks mail from the sending IP address",
    /unblock the IP address/,
  ],
  [
    bounced("auth_failure"),
    "bounced",
    "Bounced: SPF, DKIM or DMARC did not pass at the receiver",
    /Check the DNS records/,
  ],
  [bounced("dns"), "bounced", "Bounced: the domain there.test does not receive mail", /Check the spelling/],
  [bounced("tls"), "bounced", "Bounced: no secure connection to the receiving server is possible", /certificate/],
  [bounced("expired"), "bounced", "Bounced: no attempt succeeded before retries ended", /last reply below says why/],
  [
    bounced("expired", { inDoubt: true }),
    "bounced",
    "Bounced: no attempt succeeded before retries ended",
    /may have a copy although it bounced\.$/,
  ],
  [
    delayed("greylisted"),
    "delayed",
    "Delayed: the receiver asks to try again later (greylisting)",
    new RegExp(`^Next attempt: ${timeText(later)}\\. Posthorn retries until ${timeText(end)}\\..*nothing to do\\.$`),
  ],
  [delayed("mailbox_full"), "delayed", "Delayed: the mailbox lin@there.test is full", /the person deletes mail/],
  [delayed("dns"), "delayed", "Delayed: the DNS servers of there.test do not answer", /Usually this passes/],
  [delayed("tls"), "delayed", "Delayed: no secure connection to the receiving server is possible", /certificate/],
  [delayed("network"), "delayed", "Delayed: the receiving server cannot be reached", /nothing to do/],
  [
    delayed("network", { inDoubt: true }),
    "delayed",
    "Delayed: the receiver did not confirm an attempt",
    /may get it twice\.$/,
  ],
  [
    suppressed(SuppressionReason.BOUNCE),
    "suppressed",
    "Suppressed: an earlier email to lin@there.test bounced",
    /^It was not attempted\. Remove the suppression/,
  ],
  [
    suppressed(SuppressionReason.COMPLAINT),
    "suppressed",
    "Suppressed: lin@there.test reported an earlier email as spam",
    /only if the person asks/,
  ],
  [
    suppressed(SuppressionReason.MANUAL),
    "suppressed",
    "Suppressed: lin@there.test was added to the suppression list",
    /Remove the suppression/,
  ],
  [
    suppressed(SuppressionReason.IMPORT),
    "suppressed",
    "Suppressed: lin@there.test is on an imported suppression list",
    /Remove the suppression/,
  ],
  [
    suppressed(SuppressionReason.UNSUBSCRIBED, false),
    "suppressed",
    "Suppressed: lin@there.test has unsubscribed from the topic of this email",
    /^It was not attempted\. There is nothing to do/,
  ],
  [
    suppressed(SuppressionReason.BOUNCE, false),
    "suppressed",
    "Suppressed: an earlier email to lin@there.test bounced",
    /no longer suppressed: resend/,
  ],
  [
    about({ status: DELIVERED, complained: true, isSuppressed: true }),
    "complained",
    "Complained: lin@there.test reported it as spam",
    /^The address is now suppressed/,
  ],
  [about({ status: FAILED, category: "purged" }), "failed", "Failed: it was removed from the queue", /purged.*Resend/],
  [
    about({ status: FAILED, category: "content_lost" }),
    "failed",
    "Failed: its content is lost",
    /^No receiver rejected it\./,
  ],
  [about({ status: FAILED, category: "internal" }), "failed", "Failed: an internal error stopped it", /server's log/],
  [about({ status: CANCELED }), "canceled", "Canceled: it was not sent", /Resend the email/],
  [
    about({ scheduledAt: later }),
    "queued",
    `Scheduled: it is sent at ${timeText(later)}`,
    /You can reschedule or cancel it until then/,
  ],
  [
    about({ scheduledAt: new Date(now.getTime() - 1) }),
    "queued",
    "Queued: it waits for its first attempt",
    /nothing to do/,
  ],
  [about({ status: PROCESSING }), "queued", "Sending: an attempt is in progress", /^$/],
  [
    about({ status: SENT, remoteMx: "relay.test" }),
    "sent",
    "Sent: the relay relay.test accepted it",
    /does not report delivery/,
  ],
  [
    about({ status: DELIVERED, remoteMx: "mx.there.test", tookMs: 2_400, attempts: 1 }),
    "delivered",
    "Delivered: mx.there.test accepted it for lin@there.test",
    /^It took 2\.4 s\.$/,
  ],
  [
    about({ status: DELIVERED, attempts: 3, tookMs: 8 * 60_000, inDoubt: true }),
    "delivered",
    "Delivered: the receiving server accepted it for lin@there.test",
    /^It took 8 min and 3 attempts\. .*may have received it twice\.$/,
  ],
];

for (const [facts, tone, title, text] of cases)
  test(`${title} (${text.source.slice(0, 30)})`, () => {
    const explained = explainRecipient(facts, now);
    assert.equal(explained.tone, tone);
    assert.equal(titleOf(explained), title);
    assert.match(explained.text, text);
  });

test("every category of the server has its own sentence", () => {
  const names = Object.keys(categories).map((name) => name.replaceAll("-", "_"));
  const missing = names.filter((name) => name !== "accepted" && !(name in reasons));
  assert.deepEqual(missing, []);
});

test("every sentence fits its frame", () => {
  for (const [category, { what, whatNow, fix, wait }] of Object.entries(reasons)) {
    for (const one of [what, whatNow]) assert.doesNotMatch(one?.("a@b.test") ?? "", /\.$/, category);
    for (const one of [fix, wait]) assert.match(one ?? "Absent.", /^[A-Z].*[^.]\.$/, category);
  }
});

test("a category of a newer server has a general sentence", () => {
  assert.equal(titleOf(explainRecipient(bounced("from_the_future"), now)), "Bounced: the receiver rejected it");
});

test("several recipients: the worst outcome, its reason, and the others", () => {
  const fine = about({ status: DELIVERED });
  assert.deepEqual(explainEmail([fine, bounced("unknown_mailbox", { isSuppressed: true }), fine], { now }), {
    tone: "bounced",
    title: "Bounced for 1 of 3 recipients: the mailbox lin@there.test does not exist",
    text: "The receiver rejected it permanently. The address is now suppressed, so later emails to it are not attempted. Remove the suppression if the person says that the address works. Others: 2 delivered.",
  });
  assert.deepEqual(explainEmail([fine, bounced("policy"), bounced("mailbox_full"), delayed("network")], { now }), {
    tone: "bounced",
    title: "Bounced for 2 of 4 recipients",
    text: "Each recipient below has its own reason. Others: 1 delivered, 1 delayed.",
  });
  assert.deepEqual(explainEmail([fine, fine], { now, replied: true }), {
    tone: "delivered",
    title: "Delivered to all 2 recipients",
    text: "A reply arrived.",
  });
  assert.equal(
    explainEmail([fine, { ...fine, complained: true }], { now }).title,
    "Complained for 1 of 2 recipients: lin@there.test reported it as spam",
  );
  assert.equal(explainEmail([fine, about({ scheduledAt: later })], { now }).tone, "queued");
});

test("several recipients with the same reason share its sentence", () => {
  const waiting = about({});
  assert.deepEqual(explainEmail([waiting, waiting, about({ status: DELIVERED })], { now }), {
    tone: "queued",
    title: "Queued for 2 of 3 recipients: it waits for its first attempt",
    text: "This usually takes seconds. There is nothing to do. Others: 1 delivered.",
  });
  const canceled = about({ status: CANCELED });
  assert.deepEqual(explainEmail([canceled, canceled], { now }), {
    tone: "canceled",
    title: "Canceled for all 2 recipients: it was not sent",
    text: "Resend the email if it is needed after all.",
  });
  const scheduled = about({ scheduledAt: later });
  assert.equal(
    explainEmail([scheduled, scheduled], { now }).title,
    `Scheduled for all 2 recipients: it is sent at ${timeText(later)}`,
  );
  assert.match(explainEmail([bounced("policy"), bounced("policy")], { now }).title, /all 2 recipients: a policy/);
});

test("facts come from the recipient and its own events, the last one first", () => {
  const email = create(EmailSchema, { createdAt: timestampFromDate(now), expiresAt: timestampFromDate(end) });
  const recipient = {
    ...{ address: "lin@there.test", status: BOUNCED, attempts: 2, remoteMx: "mx.test" },
    settledAt: timestampFromDate(later),
  };
  const events = [
    create(EventSchema, {
      payload: { case: "delayed", value: { category: "greylisted", possibleDuplicate: true } },
    }),
    create(EventSchema, { payload: { case: "bounced", value: { category: "mailbox_full" } } }),
    create(EventSchema, { payload: { case: "complained", value: { feedbackType: "not-spam" } } }),
  ];
  const { recipients } = create(EmailSchema, { recipients: [recipient] });
  const facts = factsOf(email, recipients[0]!, events, undefined);
  assert.deepEqual(
    [facts.category, facts.inDoubt, facts.complained, facts.tookMs, facts.expiresAt],
    ["mailbox_full", true, false, 3_600_000, end],
  );
});
