/** posthorn secret: replaces the secret that encrypts keys at rest and signs tokens, on a running or a stopped instance. */
import type { Command } from "../command.ts";
import { color } from "../output.ts";
import { replaceSecret } from "../replace-secret.ts";
import { readStanding, type SecretStanding } from "../secret-standing.ts";
import { withStore } from "./with-store.ts";

const secretRotate: Command = {
  name: "secret rotate",
  summary:
    "Make POSTHORN_SECRET the secret in use instead of POSTHORN_SECRET_PREVIOUS, and re-encrypt all stored keys.",
  options: {
    new: {
      type: "boolean",
      help: "generate the new secret, if it is in the data directory and not in POSTHORN_SECRET",
    },
    revoke: {
      type: "boolean",
      help: "for a leaked secret: make its tokens invalid at once, which signs everyone out and ignores later bounces of mail sent before",
    },
    json: { type: "boolean", help: "print the result as JSON" },
  },
  async run({ options, config: read }) {
    const config = read();
    const progress = createProgress(process.stderr);
    const { standing, unreadable } = await withStore(config, async ({ sql, secrets, nowMs }) => {
      const { unreadable } = await replaceSecret({
        sql,
        secrets,
        config,
        nowMs,
        revoke: options.revoke === true,
        generate: options.new === true,
        onProgress: progress.report,
      }).finally(progress.end);
      return { unreadable, standing: await readStanding({ sql, secrets, config, nowMs }) };
    });
    if (options.json) return void process.stdout.write(`${JSON.stringify({ ...standing, unreadable })}\n`);
    process.stdout.write("The new secret is in use. Nothing is encrypted with the previous one any more.\n");
    if (standing.replacement?.revokedAt)
      process.stdout.write("Tokens of the previous secret are invalid: everyone must sign in again.\n");
    if (unreadable.length > 0)
      process.stdout.write(
        `Neither secret opens ${unreadable.length} stored secrets, so their domains and webhooks could not use them before either: ${unreadable.slice(0, 20).join(", ")}.\n`,
      );
    if (standing.next) process.stdout.write(`${standing.next}\n`);
    process.stdout.write("Keep the previous secret with backups that were made before: they need it.\n");
  },
};

const secretStatus: Command = {
  name: "secret status",
  summary: "Show whether the secret is being replaced, and what to do next.",
  options: { json: { type: "boolean", help: "print the state as JSON" } },
  async run({ options, config: read }) {
    const config = read();
    const standing = await withStore(config, async ({ sql, secrets, nowMs }) =>
      readStanding({ sql, secrets, config, nowMs }),
    );
    process.stdout.write(options.json ? `${JSON.stringify(standing)}\n` : lines(standing));
  },
};

function lines({ found, next, secrets, sealedWithOthers }: SecretStanding): string {
  const [active, ...others] = secrets;
  const rows = [`Secret ${color("bold", active!)}: ${found}.`];
  if (others.length > 0) rows.push(`Also on this machine: ${others.join(", ")}.`);
  if (sealedWithOthers) rows.push(`Stored secrets that are sealed with another one: ${sealedWithOthers}.`);
  if (next) rows.push(next);
  return `${rows.join("\n")}\n`;
}

/** On a terminal, one line that changes; elsewhere at most one line a second. */
function createProgress(output: NodeJS.WriteStream): { report(line: string): void; end(): void } {
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    report(line) {
      if (output.isTTY) return void output.write(`\r\u001b[K${line}`);
      if (performance.now() - lastMs < 1000) return;
      lastMs = performance.now();
      output.write(`${line}\n`);
    },
    end() {
      if (output.isTTY) output.write("\r\u001b[K");
    },
  };
}

export const secret = [secretRotate, secretStatus];
