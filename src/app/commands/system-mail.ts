/** posthorn system-mail: lists the mail of the service itself, which is in no workspace that a person can open, and lets an address get it
 * again. On a running or a stopped instance. */
import { commandLine } from "../../audit/record.ts";
import { listSystemMail, removeSystemSuppression } from "../../operators/system-mail.ts";
import { toWireId } from "../../postgres/ids.ts";
import { readAddress } from "../../suppressions/rules.ts";
import { type Command, UsageError } from "../command.ts";
import { table } from "../output.ts";
import { withStore } from "./with-store.ts";

const shownByDefault = 50;

export const systemMail: Command = {
  name: "system-mail",
  summary: "List mail of the service itself, newest first: invitations, links, notices to owners. Never its content.",
  options: {
    limit: { type: "string", help: `how many emails, 1 to 1000; default: ${shownByDefault}` },
    to: { type: "string", help: "only mail to this address" },
    unsuppress: { type: "string", help: "let this address get mail of the service again, after a bounce or complaint" },
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run({ options, config }) {
    if (options.unsuppress !== undefined) {
      const read = readAddress(String(options.unsuppress));
      if (!read.ok) throw new UsageError(`--unsuppress: ${read.reason}`);
      const removed = await withStore(config(), ({ sql }) => removeSystemSuppression(sql, read.address, commandLine));
      return void process.stdout.write(`${removed} gets mail of the service again.\n`);
    }
    const limit = Number(options.limit ?? shownByDefault);
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new UsageError("--limit must be a number from 1 to 1000.");
    const recipient = options.to === undefined ? undefined : String(options.to);
    await withStore(config(), async ({ sql }) => {
      const { rows } = await listSystemMail(sql, { recipient }, { limit });
      const mails = rows.map((row) => ({
        id: toWireId("email", row.id),
        createdAt: row.createdAt.toISOString(),
        outcome: row.outcome,
        to: row.to,
        subject: row.subject,
        statusMessage: row.statusMessage,
        suppressed: row.isSuppressed,
        replies: row.replies,
      }));
      if (options.json) for (const mail of mails) process.stdout.write(`${JSON.stringify(mail)}\n`);
      else if (mails.length === 0)
        process.stdout.write(recipient === undefined ? "No system mail yet.\n" : "No system mail to this address.\n");
      else {
        const lines = mails.map(({ createdAt, outcome, suppressed, to, subject, statusMessage }) => {
          return [createdAt, outcome, suppressed ? "yes" : "", to, subject, statusMessage];
        });
        process.stdout.write(table([["TIME", "OUTCOME", "SUPPRESSED", "TO", "SUBJECT", "MESSAGE"], ...lines], ""));
      }
    });
  },
};
