import assert from "node:assert/strict";
import { test } from "node:test";
import { goodFacts } from "../../../test/harness/deliverability-facts.ts";
import type { Facts, Listing, SendingHost } from "./facts.ts";
import { judgeAddressLists, judgeDomainLists, judgeHelo, judgePtr, judgeTls } from "./sending-hosts.ts";

const [host] = goodFacts.hosts as [SendingHost];
const withHosts = (...hosts: Partial<SendingHost>[]): Facts => ({
  ...goodFacts,
  hosts: hosts.map((change) => ({ ...host, ...change })),
});
const listing = (answer: Listing["answer"], detail = ""): Listing => ({
  list: "zen.test",
  subject: "1.2.3.4",
  answer,
  detail,
});

test("each address needs a PTR name that resolves back", () => {
  assert.equal(judgePtr(goodFacts).result, "pass");
  const missing = judgePtr(withHosts({}, { address: "1.2.3.5", ptr: [] }));
  assert.equal(missing.result, "fail");
  assert.match(missing.found, /1\.2\.3\.5 has no PTR/);
  assert.deepEqual(missing.records, [{ type: "A", name: "mx.mail.test", value: "1.2.3.5" }]);
  const several = judgePtr(withHosts({}, { address: "1.2.3.40", ptr: [] }, { address: "2001:db8::4", ptr: [] }));
  assert.doesNotMatch(several.fix!, /1\.2\.3\.4 /, "the address that is the beginning of another one has its record");
  assert.deepEqual(several.records, [
    { type: "A", name: "mx.mail.test", value: "1.2.3.40" },
    { type: "AAAA", name: "mx.mail.test", value: "2001:db8::4" },
  ]);
  assert.equal(judgePtr(withHosts({ ptr: [{ name: "a.test", resolvesBack: false }] })).result, "fail");
  const names = [
    { name: "a.test", resolvesBack: false },
    { name: "b.test", resolvesBack: true },
  ];
  assert.equal(judgePtr(withHosts({ ptr: names })).result, "pass", "one of several names suffices");
  assert.equal(judgePtr(withHosts({ ptr: { unanswered: "x" } })).result, "unknown");
  assert.equal(judgePtr(withHosts({ ptr: [{ name: "a.test", resolvesBack: { unanswered: "x" } }] })).result, "unknown");
  assert.equal(judgePtr(withHosts({ ptr: { unanswered: "x" } }, { ptr: [] })).result, "fail", "a failure weighs more");
});

test("the HELO name resolves to the address", () => {
  assert.equal(judgeHelo(goodFacts).result, "pass");
  const wrong = judgeHelo(withHosts({ heloAddresses: ["9.9.9.9"] }));
  assert.deepEqual([wrong.result, wrong.records?.[0]?.name], ["fail", "mx.mail.test"]);
  assert.equal(judgeHelo(withHosts({ heloAddresses: { unanswered: "x" } })).result, "unknown");
});

test("a listing fails; a refusal or silence is unknown, never a pass", () => {
  const resultOf = (...addressLists: Listing[]) => judgeAddressLists({ ...goodFacts, addressLists }).result;
  assert.equal(resultOf(listing("not_listed")), "pass");
  assert.equal(resultOf(listing("not_listed"), listing("listed", "127.0.0.2")), "fail");
  assert.equal(resultOf(listing("not_listed"), listing("refused")), "unknown");
  assert.equal(resultOf(listing("not_listed"), listing("unanswered")), "unknown");
  assert.equal(resultOf(), "unknown");
  assert.equal(judgeDomainLists({ ...goodFacts, domainLists: [] }).result, "unknown");
  assert.match(
    judgeAddressLists({ ...goodFacts, addressLists: [listing("refused", "refuses")] }).fix!,
    /POSTHORN_RESOLVERS/,
  );
});

test("through a relay and in capture mode, nothing is known about the sender", () => {
  for (const judge of [judgePtr, judgeHelo, judgeTls, judgeAddressLists])
    assert.equal(judge({ ...goodFacts, delivery: "relay" }).result, "unknown");
  for (const judge of [judgePtr, judgeHelo, judgeTls, judgeAddressLists])
    assert.equal(judge({ ...goodFacts, delivery: "capture", hosts: [] }).result, "unknown");
});
