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
