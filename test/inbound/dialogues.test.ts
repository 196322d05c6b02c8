/** Plays every SMTP dialogue of test/dialogues/inbound against the program. */
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { playDialogue } from "../harness/dialogue.ts";
import { type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";

const folder = new URL("../dialogues/inbound/", import.meta.url);
let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed({ env: { POSTHORN_MAX_MESSAGE_BYTES: "100000" } });
});
after(async () => await testbed.stop());

async function countStored(): Promise<number> {
  const [row] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from inbound_messages`;
  return row!.n;
}

for (const file of readdirSync(folder).sort()) {
  test(file.replace(/\.smtp$/, "").replaceAll("-", " "), async () => {
    await playDialogue(readFileSync(new URL(file, folder), "utf8"), { port: testbed.smtpPort, countStored });
  });
}
