import assert from "node:assert/strict";
import { test } from "node:test";
import { adviceOf, alignedRate, sourceLabel, sourceName, treatmentText } from "./sources.ts";

test("a source is aligned only if all of its mail is", () => {
  const texts = [
    { messages: 10, aligned: 10 },
    { messages: 10_000, aligned: 9_999 },
    { messages: 1, aligned: 0 },
  ].map((counts) => sourceLabel(counts).text);
  assert.deepEqual(texts, ["Aligned", "Partly aligned", "Not aligned"]);
  assert.deepEqual(
    [alignedRate({ messages: 4, aligned: 1 }), alignedRate({ messages: 0, aligned: 0 })],
    [0.25, undefined],
  );
});

test("what receivers did names the harm first", () => {
  assert.equal(treatmentText({ delivered: 1200, quarantined: 0, rejected: 0 }), "Delivered");
  assert.equal(
    treatmentText({ delivered: 1200, quarantined: 3, rejected: 1 }),
    "1 rejected, 3 quarantined, 1,200 delivered",
  );
  assert.equal(treatmentText({ delivered: 0, quarantined: 0, rejected: 7 }), "7 rejected");
  assert.equal(treatmentText({ delivered: 0, quarantined: 0, rejected: 0 }), "Not reported");
});

test("the advice depends on who sent the mail and how it failed", () => {
  const source = {
    ip: "192.0.2.1",
    own: false,
    dkimDomains: [] as string[],
    spfDomains: [] as string[],
    overrides: [] as string[],
  };
  const failing = { messages: 5, aligned: 0 };
  const partly = { messages: 5, aligned: 4 };
  const all = { messages: 5, aligned: 5 };
  const advice = (part: Partial<typeof source>, counts: typeof all) =>
    adviceOf({ ...source, ...part, counts }, "shop.test");
  assert.match(advice({ own: true }, all), /^Mail that this service sent\. All/);
  assert.match(advice({}, all), /^All of its mail passed/);
  assert.match(advice({ own: true }, partly), /Check the DNS records/);
  assert.match(advice({ overrides: ["mailing_list"] }, failing), /forwarder or a mailing list/);
  assert.match(advice({ overrides: ["local_policy"] }, partly), /^Part of its mail passes/);
  assert.match(
    advice({ dkimDomains: ["news.test"], spfDomains: ["news.test", "shop.test"] }, failing),
    /^None of its mail passes\. It authenticates as news\.test\. If you know this sender, set up DKIM for shop\.test there\./,
  );
  assert.match(advice({}, failing), /^None of its mail passes\. If you know/);
  assert.match(advice({ ip: "" }, failing), /counted together/);
  assert.deepEqual(
    [sourceName({ ip: "192.0.2.1", host: "a.test" }), sourceName({ ip: "192.0.2.1", host: "" })],
    ["a.test", "192.0.2.1"],
  );
  assert.equal(sourceName({ ip: "", host: "" }), "Other addresses");
});
