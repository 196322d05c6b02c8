/** posthorn system-mail: lists the mail of the service itself, which is in no workspace that a person can open. On a running or a stopped
 * instance. */
import { outcomeOf } from "../../emails/rules/outcome.ts";
import { listEmails } from "../../emails/store/list.ts";
import { toWireId } from "../../postgres/ids.ts";
import { systemWorkspace } from "../../workspaces/store/first.ts";
import { type Command, table, UsageError } from "../command.ts";
import { withStore } from "./with-store.ts";

const shownByDefault = 50;

export const systemMail: Command = {
  name: "system-mail",
  summary: "List mail of the service itself, newest first: invitations, links, notices to owners. Never its content.",
  options: {
    limit: { type: "string", help: `how many emails, 1 to 1000; default: ${shownByDefault}` },
    to: { type: "string", help: "only mail to this address" },
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run({ options, config }) {
    const limit = Number(options.limit ?? shownByDefault);
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new UsageError("--limit must be a number from 1 to 1000.");
    const recipient = options.to === undefined ? undefined : String(options.to);
    await withStore(config(), async ({ sql }) => {
      const workspaceId = await systemWorkspace(sql);
      const rows = workspaceId ? (await listEmails(sql, { workspaceId, limit, recipient })).rows : [];
      const mails = rows.map((row) => ({
        id: toWireId("email", row.id),
        createdAt: row.createdAt.toISOString(),
        outcome: outcomeOf(row.counts),
        to: row.envelope.to.map(({ address }) => address).join(", "),
        subject: row.subject,
        statusMessage: row.statusMessage,
      }));
      if (options.json) for (const mail of mails) process.stdout.write(`${JSON.stringify(mail)}\n`);
      else if (mails.length === 0) process.stdout.write("No system mail yet.\n");
      else {
        const lines = mails.map((mail) => [mail.createdAt, mail.outcome, mail.to, mail.subject, mail.statusMessage]);
        process.stdout.write(table([["TIME", "OUTCOME", "TO", "SUBJECT", "MESSAGE"], ...lines], ""));
      }
    });
  },
};
