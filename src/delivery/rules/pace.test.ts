import assert from "node:assert/strict";
import { test } from "node:test";
import { type Evidence, type Phase, sessionOpened } from "../../smtp/client/evidence.ts";
import { classify } from "./outcome.ts";
import { backOffMs, shareOf, signalOf } from "./pace.ts";

const reply = (line: string) => {
  const [, code = "", enhanced, text = ""] = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/.exec(line)!;
  return { code: Number(code), enhanced: enhanced ?? null, text, line };
};
const refused = (phase: Phase, line: string): Evidence => ({ kind: "refused", phase, reply: reply(line) });
const signal = (evidence: Evidence) => signalOf(classify(evidence, { relay: false }), sessionOpened(evidence));

test("the outcome of a transaction gives a signal about the site", () => {
  const accepted: Evidence = { kind: "accepted", reply: reply("250 2.0.0 ok") };
  const cases: [string, Evidence][] = [
    ["ok", accepted],
    ["ok", refused("rcpt", "550 5.1.1 no such user")],
    ["ok", refused("rcpt", "451 4.7.1 Greylisted, please try again later")],
    ["ok", refused("rcpt", "452 4.2.2 mailbox full")],
    ["ok", { kind: "unroutable", reason: "nxdomain", message: "" }],
    ["slow", refused("mail", "421 4.7.0 Try again later")],
    ["slow", refused("dot", "451 4.7.0 too many messages, slow down")],
    ["down", refused("banner", "421 4.3.2 Too many connections")],
    ["down", { kind: "lost", phase: "connect", code: "ECONNREFUSED", message: "" }],
    ["down", { kind: "timeout", phase: "banner", message: "" }],
    ["down", { kind: "unroutable", reason: "dns-timeout", message: "" }],
    ["none", { kind: "aborted", phase: "connect", message: "" }],
    ["none", { kind: "tls", phase: "tls", reply: null, message: "" }],
    ["none", { kind: "tls", phase: "tls", reply: null, message: "", dane: true }],
  ];
  for (const [expected, evidence] of cases) assert.equal(signal(evidence), expected, JSON.stringify(evidence));
});

test("shares of a limit add up to it, for every number of nodes", () => {
  for (let nodes = 1; nodes <= 7; nodes++)
    for (let whole = 0; whole <= 20; whole++) {
      const parts = Array.from({ length: nodes }, (_, rank) => shareOf(whole, { rank, nodes }, "a.test"));
      assert.equal(
        parts.reduce((sum, part) => sum + part, 0),
        whole,
      );
      assert.ok(Math.max(...parts) - Math.min(...parts) <= 1);
    }
});

test("the back-off follows the schedule, up to 15 minutes", () => {
  const wait = (failures: number) => backOffMs(failures, [30_000, 120_000, 7_200_000], () => 0.5);
  assert.deepEqual([1, 2, 3, 9].map(wait), [30_000, 120_000, 900_000, 900_000]);
});
