/** Runs the commands in docs/events.md and compares their output with the page. UPDATE_DOCS=1 npm test -- stream-docs updates the page. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { rerun } from "../harness/transcripts.ts";

const file = new URL("../../docs/events.md", import.meta.url);
let testbed: StreamTestbed;
before(async () => {
  testbed = await startStreamTestbed();
});
after(async () => await testbed?.stop());

test("the transcripts in docs/events.md are up to date", async () => {
  const page = await readFile(file, "utf8");
  const updated = await rerun(page, { API: testbed.program.url, KEY: testbed.program.key });
  if (process.env.UPDATE_DOCS) await writeFile(file, updated);
  else assert.equal(page, updated, "update the page: UPDATE_DOCS=1 npm test -- stream-docs");
});
