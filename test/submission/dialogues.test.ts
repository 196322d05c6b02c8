/** Plays every SMTP dialogue of test/dialogues/submission, in capture mode, and of test/dialogues/submission-tls against the program. */
import { readdirSync, readFileSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { playDialogue } from "../harness/dialogue.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

const capture = { POSTHORN_DELIVERY: "capture", POSTHORN_MAX_MESSAGE_BYTES: "100000" };
const folders: [name: string, env: Record<string, string>][] = [
  ["submission", capture],
  ["submission-tls", {}],
];

for (const [name, env] of folders)
  suite(name, () => {
    const folder = new URL(`../dialogues/${name}/`, import.meta.url);
    let testbed: Testbed;
    before(async () => {
      testbed = await startTestbed({ env });
    });
    after(async () => await testbed?.stop());

    async function countStored(): Promise<number> {
      const [row] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
      return row!.n;
    }

    for (const file of readdirSync(folder).sort())
      test(file.replace(/\.smtp$/, "").replaceAll("-", " "), async () => {
        const { key, ports } = testbed.program;
        const text = withLogins(readFileSync(new URL(file, folder), "utf8"), key);
        await playDialogue(text, { port: ports.submission!, countStored });
      });
  });

function withLogins(text: string, key: string): string {
  const base64 = (plain: string) => Buffer.from(plain).toString("base64");
  return text
    .replaceAll("{plain}", base64(`\0posthorn\0${key}`))
    .replaceAll("{user}", base64("posthorn"))
    .replaceAll("{password}", base64(key))
    .replaceAll("{wrong}", base64("\0posthorn\0ph_wrong_0123456789"))
    .replaceAll("{wrong-user}", base64(`\0admin\0${key}`));
}
