/** docs/preflight.md: its table is that of the program, and its commands work. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Demand, demands, type Level, receivers, sources } from "../../src/deliverability/rules/demands.ts";
import { startCommandBed } from "../harness/commands.ts";
import { blocksOf } from "../harness/pages.ts";
import { runCommand } from "../harness/program.ts";

const names = { gmail: "Gmail", yahoo: "Yahoo", microsoft: "Microsoft" };
const words: Record<Level, string> = { required: "required", "required-bulk": "bulk", recommended: "recommended" };

const readPage = () => readFile(new URL("../../docs/preflight.md", import.meta.url), "utf8");

test("the page has every demand with its receivers and sources, and no other", async () => {
  const page = await readPage();
  const rows = Object.entries(demands as Record<string, Demand>).map(([id, { title, by }]) => {
    const cells = receivers.map((receiver) => {
      const level = Object.entries(by).find(
        ([source]) => sources[source as keyof typeof sources].receiver === receiver,
      );
      return level ? words[level[1]] : "";
    });
    return `| \`${id}\` | ${title} | ${cells.join(" | ")} |`;
  });
  assert.deepEqual(
    page.split("\n").filter((line) => /^\| `[a-z-]+` \|.*\|.*\|.*\|.*\|$/.test(line)),
    rows,
  );
  const listed = Object.values(sources).map(
    ({ receiver, url, published }) => `| ${names[receiver]} | <${url}> | ${published} |`,
  );
  assert.deepEqual(
    page.split("\n").filter((line) => line.includes("| <https://")),
    listed,
  );
});

test("the commands of the page work", async (t) => {
  const bed = await startCommandBed();
  t.after(bed.stop);
  const [block] = blocksOf(await readPage());
  await writeFile(join(bed.folder, "newsletter.eml"), "From: a@example.test\r\nSubject: News\r\n\r\nNews\r\n");
  const email = { from: "a@example.test", to: ["b@there.test"], subject: "Hi", body: "Hello" };
  await writeFile(join(bed.folder, "email.json"), JSON.stringify(email));
  const codes = [];
  for (const line of block!.text.trim().split("\n")) {
    const args = line
      .replace("npx posthorn ", "")
      .split(" ")
      .map((word) => (/\.(eml|json)$/.test(word) ? join(bed.folder, word) : word));
    const { code, stderr } = await runCommand(args, { dataDir: bed.program.dataDir, databaseUrl: bed.database.url });
    assert.equal(stderr, "", line);
    codes.push(code);
  }
  assert.deepEqual(codes, [0, 1, 0], "bulk mail without one-click fails");
});
