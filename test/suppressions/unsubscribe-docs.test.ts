/** Runs the call in docs/unsubscribe.md in capture mode, as a developer would, and uses the link of the captured email. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { blocksOf, root } from "../harness/pages.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { shell } from "../harness/shell.ts";
import { linkOf, oneClick, publicUrl } from "../harness/unsubscribe.ts";

let program: RunningProgram;
before(async () => {
  program = await startProgram({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
});
after(async () => await program?.remove());

test("the email of the docs is sent, its link unsubscribes at the local address, and the next one is suppressed", async () => {
  const blocks = blocksOf(await readFile(join(root, "docs/unsubscribe.md"), "utf8")).filter(
    ({ language }) => language === "sh",
  );
  assert.equal(blocks.length, 1, "run each block of the page here");
  const script = blocks[0]!.text.replaceAll("http://127.0.0.1:8825", program.url);
  const send = async () => {
    const { stdout } = await shell(script, { env: { ...process.env, POSTHORN_KEY: program.key } });
    return JSON.parse(stdout) as { id: string; status: string; statusMessage: string };
  };
  const { id, status } = await send();
  assert.equal(status, "EMAIL_STATUS_SENT");
  const { body } = await program.call("EmailService/GetEmailContent", { id });
  const path = linkOf(Buffer.from(body.raw as string, "base64"));
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await fetch(`${program.url}${path}`, { method: "POST", body: oneClick, headers });
  assert.equal(await answer.text(), "You are unsubscribed from newsletter.\n");
  assert.match((await send()).statusMessage, /unsubscribed from newsletter/);
});
