/** docs/events.md shows what the program really says: its commands are run here. UPDATE_DOCS=1 npm test -- stream-docs renews the page. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { type StreamWorld, startStreamWorld } from "../harness/streams.ts";
import { rerun } from "../harness/transcripts.ts";

const file = new URL("../../docs/events.md", import.meta.url);
let world: StreamWorld;
before(async () => {
  world = await startStreamWorld();
});
after(async () => await world?.stop());

test("the transcripts of docs/events.md", async () => {
  const page = await readFile(file, "utf8");
  const renewed = await rerun(page, { API: world.program.url, KEY: world.program.key });
  if (process.env.UPDATE_DOCS) await writeFile(file, renewed);
  else assert.equal(page, renewed, "renew the page: UPDATE_DOCS=1 npm test -- stream-docs");
});
