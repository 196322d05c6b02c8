import assert from "node:assert/strict";
import { test } from "node:test";
import { goodFacts, goodMessage } from "../../../test/harness/deliverability-facts.ts";
import { checkIds, demands } from "./demands.ts";
import type { Facts } from "./facts.ts";
import { counted, judge, overall, summarize } from "./judge.ts";

const resultsOf = (facts: Facts) => new Map(judge(facts).map(({ id, result }) => [id, result]));

test("every row of the table is judged, and good facts pass except for what only receivers know", () => {
  const checks = judge(goodFacts);
  assert.deepEqual(
    checks.map(({ id }) => id),
    checkIds,
  );
  const open = checks.filter(({ result }) => result !== "pass");
  assert.deepEqual(
    open.map(({ id, result }) => [id, result]),
    [["spam-rate", "unknown"]],
  );
  for (const { found, fix = "", result } of checks) {
    assert.match(found, /^\S.*[.)]$/s, found);
    if (result === "pass") assert.equal(fix, "", found);
  }
});

test("without a sample nothing about the content passes", () => {
  const results = resultsOf({ ...goodFacts, ownSample: true });
  for (const id of checkIds)
    if ("needsSample" in demands[id]) assert.equal(results.get(id), "unknown", id);
    else assert.notEqual(results.get(id), "fail", id);
});

test("when nothing answers, nothing passes that depends on an answer", () => {
  const unanswered = { unanswered: "DNS did not answer in time" };
  const results = resultsOf({
    ...goodFacts,
    spf: unanswered,
    dkim: unanswered,
    dmarc: unanswered,
    hosts: goodFacts.hosts.map((host) => ({ ...host, ptr: unanswered, heloAddresses: unanswered })),
    addressLists: [{ list: "zen.test", subject: "1.2.3.4", answer: "unanswered", detail: "did not answer in time" }],
    domainLists: [{ list: "dbl.test", subject: "example.com", answer: "unanswered", detail: "did not answer in time" }],
    replies: { domain: "example.com", receives: unanswered },
    message: unanswered,
    spam: unanswered,
  });
  const passed = [...results].filter(([, result]) => result === "pass").map(([id]) => id);
  assert.deepEqual(passed, ["accepted", "alignment", "from-domain", "tls"], "these need no question");
});

test("what is required of bulk senders only is a recommendation for others", () => {
  const facts: Facts = {
    ...goodFacts,
    dmarc: { ...(goodFacts.dmarc as object), status: "missing" } as Facts["dmarc"],
  };
  assert.equal(resultsOf(facts).get("dmarc"), "fail");
  assert.equal(resultsOf({ ...facts, bulk: false }).get("dmarc"), "warn");
  const plain = { ...goodMessage, fields: goodMessage.fields.filter(({ name }) => !name.startsWith("List-")) };
  assert.equal(resultsOf({ ...goodFacts, message: plain }).get("one-click"), "fail");
  assert.equal(resultsOf({ ...goodFacts, message: plain, bulk: false }).get("one-click"), "not_needed");
});

test("what only receivers know does not keep good facts from passing", () => {
  const checks = counted(judge(goodFacts));
  assert.equal(overall(checks), "pass");
  assert.equal(summarize(checks, "a.test"), "a.test meets every demand that was checked.");
  assert.equal(overall(counted(judge({ ...goodFacts, dkim: { unanswered: "DNS did not answer" } }))), "unknown");
});

test("the worst result counts, and the summary counts what is open", () => {
  const of = (...results: Parameters<typeof overall>[0][number]["result"][]) => results.map((result) => ({ result }));
  assert.equal(overall(of("pass", "unknown", "not_needed")), "unknown");
  assert.equal(overall(of("pass", "unknown", "warn", "fail")), "fail");
  assert.equal(overall(of("pass", "not_needed")), "pass");
  assert.equal(overall([]), "unknown");
  assert.equal(summarize(of("pass"), "a.test"), "a.test meets every demand that was checked.");
  assert.equal(
    summarize(of("fail", "warn", "warn", "unknown"), "a.test"),
    "a.test: 1 demand is not met, 2 recommendations are not met, 1 could not be checked.",
  );
});
