import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readReplyLines as read } from "../../../test/harness/replies.ts";
import type { Evidence, Phase } from "../../smtp/client/evidence.ts";
import { classify, expire, type Outcome, type OutcomeScope, readReply } from "./outcome.ts";
import { type BounceType, type Category, categories } from "./outcome-rules.ts";

interface Case {
  receiver: string;
  phase: Phase;
  reply: string;
  kind: Outcome["kind"];
  category: Category;
  scope: OutcomeScope;
  suppress: boolean;
  bounceType?: BounceType;
}

const corpus: Case[] = JSON.parse(
  readFileSync(new URL("../../../test/corpus/smtp-replies.json", import.meta.url), "utf8"),
);

const direct = { relay: false };

function refused(phase: Phase, reply: string): Evidence {
  return { kind: "refused", phase, reply: read(reply) };
}

for (const { receiver, phase, reply, kind, category, scope, suppress, bounceType } of corpus) {
  test(`${receiver}, ${phase}: ${reply.replace(/\n/g, " ").slice(0, 90)}`, () => {
    const outcome = classify(refused(phase, reply), direct);
    const { kind: k, category: c, scope: s, suppress: d } = outcome;
    assert.deepEqual({ kind: k, category: c, scope: s, suppress: d }, { kind, category, scope, suppress });
    if (bounceType) assert.equal(outcome.bounceType, bounceType);
    assert.equal(outcome.bounceType === null, kind !== "bounced");
  });
}

test("the corpus has at least 150 replies", () => assert.ok(corpus.length >= 150));

test("a temporary reply never bounces or suppresses, whatever its wording", () => {
  for (const { phase, reply } of corpus) {
    const softened = { ...read(reply), code: 450 };
    const outcome = classify({ kind: "refused", phase, reply: softened }, direct);
    assert.deepEqual([outcome.kind, outcome.suppress], ["deferred", false]);
  }
});

test("a refusal by policy (5.7.x) never suppresses, whatever its wording", () => {
  for (const { phase, reply } of corpus) {
    const outcome = classify(
      { kind: "refused", phase, reply: { ...read(reply), code: 550, enhanced: "5.7.1" } },
      direct,
    );
    assert.equal(outcome.suppress, false);
  }
});

test("421 concerns the destination in every phase", () => {
  for (const phase of ["banner", "ehlo", "mail", "rcpt", "data", "dot"] as const) {
    const outcome = classify(refused(phase, "421 4.2.1 closing"), direct);
    assert.deepEqual([outcome.kind, outcome.scope], ["deferred", "destination"]);
  }
});

test("a message accepted by the receiver is delivered, one accepted by the relay is sent", () => {
  const evidence: Evidence = { kind: "accepted", reply: read("250 2.0.0 Queued as 4XyZ") };
  const outcome = classify(evidence, direct);
  assert.deepEqual(
    [outcome.kind, outcome.reply, outcome.enhancedCode],
    ["delivered", "250 2.0.0 Queued as 4XyZ", "2.0.0"],
  );
  assert.equal(classify(evidence, { relay: true }).kind, "sent");
});

test("a login that the relay rejects defers the mail; a receiver that requires a login bounces it", () => {
  const evidence = refused("mail", "530 5.7.0 Authentication required");
  const relay = classify(evidence, { relay: true });
  assert.deepEqual([relay.kind, relay.category, relay.scope], ["deferred", "relay-login", "destination"]);
  assert.equal(classify(evidence, direct).kind, "bounced");
});

for (const [evidence, expected] of [
  [{ kind: "lost", phase: "connect", code: "ECONNREFUSED", message: "refused" }, "deferred network destination 4.4.1"],
  [{ kind: "timeout", phase: "banner", message: "late" }, "deferred network destination 4.4.2"],
  [{ kind: "lost", phase: "data", code: "CLOSED", message: "gone" }, "deferred network message 4.4.2"],
  [{ kind: "protocol", phase: "ehlo", message: "what?" }, "deferred protocol destination 4.5.0"],
  [{ kind: "tls", phase: "tls", reply: null, message: "handshake" }, "deferred tls destination 4.7.5"],
  [{ kind: "tls", phase: "tls", reply: null, message: "TLSA", dane: true }, "deferred dane destination 4.7.5"],
  [{ kind: "aborted", phase: "data", message: "stopped" }, "deferred interrupted message 4.3.2"],
  [{ kind: "unroutable", reason: "nxdomain", message: "none" }, "bounced dns destination 5.1.2"],
  [{ kind: "unroutable", reason: "null-mx", message: "none" }, "bounced dns destination 5.1.10"],
  [{ kind: "unroutable", reason: "no-address", message: "none" }, "bounced dns destination 5.4.4"],
  [{ kind: "unroutable", reason: "address-refused", message: "private" }, "bounced dns destination 5.4.4"],
  [{ kind: "unroutable", reason: "bad-domain", message: "[x" }, "bounced invalid-address destination 5.1.3"],
  [{ kind: "unroutable", reason: "servfail", message: "?" }, "deferred dns destination 4.4.3"],
  [{ kind: "unroutable", reason: "dns-timeout", message: "?" }, "deferred dns destination 4.4.3"],
  [{ kind: "unsendable", reason: "smtputf8", message: "no" }, "bounced smtputf8 recipient 5.6.7"],
  [{ kind: "unsendable", reason: "too-large", message: "no" }, "bounced too-large message 5.3.4"],
  [{ kind: "unsendable", reason: "bad-message", message: "no" }, "failed protocol message 5.6.0"],
  [{ kind: "unsendable", reason: "bad-address", message: "no" }, "failed invalid-address recipient 5.1.3"],
] as [Evidence, string][]) {
  test(`${JSON.stringify(evidence)} is ${expected}`, () => {
    const { kind, category, scope, enhancedCode, suppress, reply } = classify(evidence, direct);
    assert.equal([kind, category, scope, enhancedCode].join(" "), expected);
    assert.deepEqual([suppress, reply], [false, null]);
  });
}

test("an attempt is in doubt only without a reply after the final dot", () => {
  for (const kind of ["lost", "timeout", "aborted", "protocol"] as const) {
    const at = (phase: Phase) => classify({ kind, phase, code: "", message: "" } as Evidence, direct);
    assert.equal(at("after-dot").inDoubt, true);
    assert.equal(at("after-dot").kind, "deferred");
    assert.equal(at("data").inDoubt, false);
  }
  assert.equal(classify(refused("dot", "451 4.3.0 no"), direct).inDoubt, false);
});

test("an unknown mailbox is suppressed at RCPT and at the final dot, because a message has one recipient", () => {
  for (const phase of ["rcpt", "dot"] as const) {
    const { kind, suppress } = classify(refused(phase, "554 5.1.1 User unknown"), direct);
    assert.deepEqual([kind, suppress], ["bounced", true], phase);
  }
});

test("an unknown user at MAIL is the sender, and no recipient is suppressed", () => {
  for (const reply of ["550 5.1.1 <s@example.com>: User unknown", "550 5.2.1", "553 5.2.2 mailbox full"]) {
    const outcome = classify(refused("mail", reply), direct);
    assert.deepEqual([outcome.category, outcome.suppress], ["sender-rejected", false]);
  }
});

test("an expired recipient bounces as transient with the last reply", () => {
  const outcome = expire(classify(refused("rcpt", "450 4.1.1 User unknown"), direct));
  assert.deepEqual(
    [outcome.kind, outcome.category, outcome.bounceType, outcome.suppress, outcome.reply],
    ["bounced", "expired", "transient", false, "450 4.1.1 User unknown"],
  );
});

test("a long, repetitive reply is classified and shortened", () => {
  for (const word of ["spf ", "dkim ", "mailbox ", "user ", "exceeds ", "account ", "a"]) {
    const text = word.repeat(16_384 / word.length);
    const outcome = classify(
      { kind: "refused", phase: "rcpt", reply: { code: 550, enhanced: null, text, line: `550 ${text}` } },
      direct,
    );
    assert.ok((outcome.reply?.length ?? 0) <= 1000);
    assert.ok(outcome.category in categories);
  }
});

const categoryOf = (phase: Phase, code: number, enhanced: string | null, text: string) =>
  readReply(phase, { code, enhanced, text, line: "" }).category;

test("the wording takes precedence over the enhanced code, and that over the plain code", () => {
  assert.equal(categoryOf("rcpt", 550, "5.1.1", "you are greylisted"), "greylisted");
  assert.equal(categoryOf("rcpt", 550, "5.1.1", "xyz"), "unknown-mailbox");
  assert.equal(categoryOf("rcpt", 599, null, "xyz"), "other");
});

test("a refusal before RCPT never gets a mailbox category", () => {
  assert.equal(categoryOf("mail", 550, "5.1.1", "xyz"), "sender-rejected");
  assert.equal(categoryOf("connect", 550, "5.1.1", "xyz"), "other");
  assert.equal(categoryOf("auth", 535, "5.7.8", "xyz"), "relay-login");
});

test("a quoted address and text after the first 1,000 characters do not count", () => {
  assert.equal(categoryOf("rcpt", 550, "5.1.1", "<greylisted@there.test> xyz"), "unknown-mailbox");
  assert.equal(categoryOf("rcpt", 550, "5.1.1", `${"x ".repeat(600)}greylisted`), "unknown-mailbox");
  assert.equal(categoryOf("rcpt", 450, null, "you\r\n are\t grey-listed"), "greylisted");
});

test("a reply is unknown if only its plain code, or the subject of its enhanced code, decides", () => {
  const unknown = (enhanced: string | null, text: string) =>
    readReply("rcpt", { code: 550, enhanced, text, line: "" }).unknown;
  assert.equal(unknown(null, "xyz"), true);
  assert.equal(unknown("5.7.1", "xyz"), true);
  assert.equal(unknown("5.0.0", "xyz"), true);
  assert.equal(unknown("5.1.1", "xyz"), false);
  assert.equal(unknown(null, "no such user"), false);
});
