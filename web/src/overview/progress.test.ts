import assert from "node:assert/strict";
import { test } from "node:test";
import { type Facts, isEstablished, progressOf } from "./progress.ts";

const empty: Facts = { domains: [], keys: [], hasWebhook: false, emailId: undefined };
const own = { id: "dom_2", domain: "shop.test", canSend: false };

test("what a new instance has of its own ticks no step", () => {
  const domains = [{ id: "dom_1", domain: "example.test", canSend: true }];
  const keys = [{ name: "first key", isRevoked: false }];
  const { done, current, domain } = progressOf({ ...empty, domains, keys }, {});
  assert.deepEqual(Object.values(done), [false, false, false, false, false, false]);
  assert.equal(current, "domain");
  assert.equal(domain, undefined);
});

test("the steps follow each other: domain, records, key, send, events, webhook", () => {
  const order: (string | undefined)[] = [];
  let facts = empty;
  let remembered = {};
  const note = (more: Partial<Facts>, seen = {}) => {
    facts = { ...facts, ...more };
    remembered = { ...remembered, ...seen };
    order.push(progressOf(facts, remembered).current);
  };
  note({});
  note({ domains: [own] });
  note({ domains: [{ ...own, canSend: true }] });
  note({ keys: [{ name: "The shop", isRevoked: false }] });
  note({ emailId: "em_1" });
  note({}, { areEventsSeen: true });
  note({ hasWebhook: true });
  assert.deepEqual(order, ["domain", "records", "key", "send", "events", "webhook", undefined]);
});

test("the guide is about a domain that can send, else about the newest", () => {
  const ready = { id: "dom_1", domain: "old.test", canSend: true };
  assert.equal(progressOf({ ...empty, domains: [own, ready] }, {}).domain, ready);
  assert.equal(progressOf({ ...empty, domains: [own, { ...ready, canSend: false }] }, {}).domain, own);
});

test("a revoked key does not count, and the step can be skipped", () => {
  const keys = [{ name: "The shop", isRevoked: true }];
  assert.equal(progressOf({ ...empty, keys }, {}).done.key, false);
  assert.equal(progressOf({ ...empty, keys }, { isKeySkipped: true }).done.key, true);
});

test("the email that was sent with the guide stays, also when a newer one is listed", () => {
  assert.equal(progressOf({ ...empty, emailId: "em_2" }, { sentId: "em_1" }).sentId, "em_1");
});

test("a workspace that sends already is established, unless the guide was opened before", () => {
  const facts: Facts = { ...empty, domains: [{ ...own, canSend: true }], emailId: "em_1" };
  assert.equal(isEstablished(progressOf(facts, {}), {}), true);
  assert.equal(isEstablished(progressOf(facts, { state: "open" }), { state: "open" }), false);
  assert.equal(isEstablished(progressOf({ ...facts, emailId: undefined }, {}), {}), false);
});
