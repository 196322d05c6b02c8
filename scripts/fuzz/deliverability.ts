/** Fuzz targets for the pre-flight and for receivers' wordings: samples, answers of spam filters, replies that are folded to a shape. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { readMessageFacts } from "../../src/deliverability/message-facts.ts";
import { readRspamdAnswer } from "../../src/deliverability/rspamd.ts";
import { judge } from "../../src/deliverability/rules/judge.ts";
import { readSpamdAnswer } from "../../src/deliverability/spamd.ts";
import { foldReply } from "../../src/delivery/rules/shape.ts";
import { goodFacts } from "../../test/harness/deliverability-facts.ts";
import { bytes, texts } from "./inputs.ts";
import { target } from "./target.ts";

const sampleTokens = [
  ...[
    "From: ",
    "Date: ",
    "Message-ID: <a@b.test>",
    "Subject: Re: ",
    "List-Unsubscribe: <https://b.test/",
    "DKIM-Signature: h=",
    ":",
  ],
  ...[
    "\r\n",
    "\n",
    "\r",
    "\r\n\r\n",
    " ",
    "<",
    ">",
    ",",
    "(",
    "\\",
    '"',
    "a@b.test",
    "18 Nov 2026 14:00:00 +0000",
    "font-size:",
    "0",
  ],
];
const samples = target("samples", bytes(sampleTokens), async (raw) => {
  const text = raw.toString("latin1");
  const message = await readMessageFacts(raw, { text, html: text });
  for (const bulk of [false, true]) judge({ ...goodFacts, bulk, message });
});

const answerTokens = [
  ...[
    "SPAMD/1.1 0 EX_OK",
    "\r\n",
    "\r\n\r\n",
    "Spam: True ; ",
    "9",
    ".",
    " / ",
    "5.0",
    " 0.1 RULE  ",
    "          more",
    " ",
  ],
  ...[
    '{"score":',
    "1e308",
    ',"required_score":15',
    ',"symbols":{"A":',
    '{"name":"A","score":',
    "-",
    "}",
    "[",
    "null",
    ":",
    ",",
  ],
];
const filters = target("filter-answers", texts(answerTokens), (text) => {
  for (const facts of [readSpamdAnswer(text), readRspamdAnswer(text)]) {
    if (!facts) continue;
    for (const number of [facts.score, facts.threshold, ...facts.rules.map(({ score }) => score)])
      assert.ok(Number.isFinite(number), String(number));
  }
});

const replyTokens = [
  "jo",
  "miller",
  "@",
  "%40",
  ".",
  "example",
  ".test",
  "<",
  ">",
  " ",
  "\u00ad",
  "550",
  "5.7.1",
  "OFR_999",
  "://",
  "www.",
];
const shapes = target("reply-shapes", fc.tuple(texts(replyTokens), texts(replyTokens)), ([text, word]) => {
  const recipient = "jo.miller@example.test";
  const shape = foldReply(`${text} ${recipient} <${recipient}> ${word}`, recipient);
  assert.ok(shape.length <= 200 && shape.isWellFormed());
  assert.doesNotMatch(shape, /jo\.miller|@|example\.test/i);
});

export const deliverabilityTargets = [samples, filters, shapes];
