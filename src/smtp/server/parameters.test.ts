import assert from "node:assert/strict";
import { test } from "node:test";
import { mailRefusal, readChunkSize } from "./parameters.ts";

const about = { messageBytes: 100, tooLarge: "552 too large", mayLogIn: false };
const refusal = (entries: [string, string][], more = {}) => mailRefusal(new Map(entries), { ...about, ...more });

test("known parameters of MAIL are accepted, others refused", () => {
  assert.equal(
    refusal([
      ["SIZE", "100"],
      ["BODY", "8bitmime"],
      ["SMTPUTF8", ""],
    ]),
    undefined,
  );
  assert.equal(refusal([["SIZE", "101"]]), "552 too large");
  assert.match(refusal([["SIZE", "x"]])!, /^501/);
  assert.match(refusal([["BODY", "BINARYMIME"]])!, /^501/);
  assert.match(refusal([["RET", "FULL"]])!, /^555/);
  assert.match(refusal([["AUTH", "<>"]])!, /^555/);
  assert.equal(refusal([["AUTH", "<>"]], { mayLogIn: true }), undefined);
});

test("BDAT has a size, and LAST for the last chunk", () => {
  assert.deepEqual(readChunkSize("10"), { bytes: 10, isLast: false });
  assert.deepEqual(readChunkSize("0 last"), { bytes: 0, isLast: true });
  for (const wrong of ["", "x", "10 MORE", "-1", "99999999999"]) assert.equal(readChunkSize(wrong), undefined, wrong);
});
