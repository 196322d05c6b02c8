import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { DomainSchema, DomainStatus, RecordStatus, RecordType } from "../../../src/gen/v1/domain_pb.ts";
import { headlineOf, zoneOf } from "./summary.ts";

const domain = (status: DomainStatus, canSend: boolean, nextAction = "CONFIGURE_DNS") =>
  create(DomainSchema, {
    domain: "mail.contoso.test",
    status,
    summary: { canSend, nextAction },
    records: {
      dkimRecords: [1, 2].map((slot) => ({
        recordType: RecordType.DKIM,
        name: `ph${slot}._domainkey.mail.contoso.test`,
        nameShort: `ph${slot}._domainkey`,
        nameInZone: `ph${slot}._domainkey.mail`,
        status: slot === 1 ? RecordStatus.MISMATCH : RecordStatus.MISSING,
      })),
      mxRecords: [{ recordType: RecordType.MX_INBOUND, status: RecordStatus.MISMATCH }],
    },
  });

test("the headline says whether the domain can send, and which required records to correct or add", () => {
  const pending = headlineOf(domain(DomainStatus.PENDING, false));
  assert.deepEqual(pending, {
    tone: "queued",
    title: "Cannot send yet. One DKIM record is enough to start.",
    text: "Correct: DKIM key 1. Add: DKIM key 2.",
  });
  assert.match(headlineOf(domain(DomainStatus.VERIFYING, true)).title, /^Can send already/);
  assert.equal(headlineOf(domain(DomainStatus.DEGRADED, false)).tone, "bounced");
  assert.match(headlineOf(domain(DomainStatus.FAILED, false)).text!, /^It recovers automatically.*Add: DKIM key 2\.$/);
  assert.equal(headlineOf(domain(DomainStatus.READY, true)).title, "Ready to send mail.");
});

test("while resolvers cache old answers, nothing is to be done", () => {
  assert.match(headlineOf(domain(DomainStatus.PENDING, false, "WAIT")).text!, /do not need to do anything/);
});

test("the zone is the server's, or the one that the names assume", () => {
  const unknown = domain(DomainStatus.PENDING, false);
  assert.equal(zoneOf(unknown), "contoso.test");
  assert.equal(zoneOf({ ...unknown, zone: "mail.contoso.test" }), "mail.contoso.test");
});
