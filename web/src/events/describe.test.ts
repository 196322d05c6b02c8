import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { EventSchema } from "../../../src/gen/v1/event_pb.ts";
import { describe } from "./describe.ts";

test("a report that an email is not spam does not read as a complaint", () => {
  const reported = (feedbackType: string) =>
    describe(
      create(EventSchema, { type: "email.complained", payload: { case: "complained", value: { feedbackType } } }),
    );
  const [complaint, opposite] = [reported("abuse"), reported("not-spam")];
  assert.deepEqual(complaint.label, { text: "Complained", tone: "complained" });
  assert.equal(complaint.text, "The recipient reported it as spam");
  assert.deepEqual(opposite.label, { text: "Not spam", tone: "delivered" });
  assert.equal(opposite.text, "The recipient marked it as not spam");
});

test("the connection of a delivery says how DANE verified the certificate", () => {
  const connectionOf = (tls: { verified: boolean; dane: string }) => {
    const value = { tls: { protocol: "TLSv1.3", ...tls } };
    const event = create(EventSchema, { type: "email.delivered", payload: { case: "delivered", value } });
    return describe(event).facts.find(([name]) => name === "Connection")?.[1];
  };
  assert.equal(connectionOf({ verified: true, dane: "" }), "TLSv1.3, certificate verified");
  assert.equal(connectionOf({ verified: false, dane: "" }), "TLSv1.3, certificate not verified");
  assert.equal(connectionOf({ verified: false, dane: "match" }), "TLSv1.3, certificate verified by DANE");
  assert.equal(connectionOf({ verified: true, dane: "ta-match" }), "TLSv1.3, certificate verified by DANE");
  assert.equal(
    connectionOf({ verified: false, dane: "unusable" }),
    "TLSv1.3, certificate not verified; TLS required by DANE",
  );
});

test("a report about a new source says who sent how much, and leads to the reports of the domain", () => {
  const reported = (value: object) =>
    describe(
      create(EventSchema, {
        type: "domain.report",
        payload: {
          case: "domainReport",
          value: { domainId: "dom_1", domain: "shop.test", ip: "192.0.2.7", headerFrom: "shop.test", ...value },
        },
      }),
    );
  const one = reported({ messages: 1200, spfDomains: ["a.test", "b.test"], disposition: "rejected", moreSources: 3 });
  assert.equal(one.text, "shop.test: 1,200 messages from 192.0.2.7 failed DMARC");
  assert.deepEqual(one.facts, [
    ["SPF", "a.test, b.test"],
    ["Most were", "rejected"],
    ["Other new sources", "3"],
  ]);
  assert.equal(one.reportedDomainId, "dom_1");
  const own = reported({ messages: 1, own: true, headerFrom: "news.shop.test" });
  assert.equal(own.text, "shop.test: 1 message from 192.0.2.7, an address of this service, failed DMARC");
  assert.deepEqual(own.facts, [["From", "news.shop.test"]]);
});
