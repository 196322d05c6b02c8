import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { SendEmailRequestSchema } from "../../gen/v1/email_pb.ts";
import { sendRequestFrom } from "../wire.ts";
import { emptyRequest } from "./request.ts";

test("an API call without any field becomes the empty request", () => {
  assert.deepEqual(sendRequestFrom(create(SendEmailRequestSchema)), emptyRequest);
});
