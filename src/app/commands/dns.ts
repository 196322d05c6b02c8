/** posthorn dns publish: in capture mode, our own DNS replaces the provider of a reserved name. */
import { audited, commandLine } from "../../audit/record.ts";
import { publish } from "../../domains/publish.ts";
import { usesOwnDns } from "../assemble/domains.ts";
import { type Command, UsageError } from "../command.ts";
import { domainFrom } from "./local-domain.ts";
import { withStore } from "./with-store.ts";
import { workspaceFrom, workspaceOption } from "./workspace-option.ts";

export const dnsPublish: Command = {
  name: "dns publish",
  summary:
    "Serve the records of a reserved name (.test, .example, example.com …) from Posthorn's DNS; capture mode only.",
  words: "DOMAIN",
  options: {
    workspace: workspaceOption,
    json: { type: "boolean", help: "print the result as JSON" },
  },
  async run({ words, options, config: read }) {
    const config = read();
    if (config.delivery !== "capture")
      throw new UsageError(
        `dns publish works in capture mode only, and POSTHORN_DELIVERY is ${config.delivery}. Publish the records at the domain's DNS provider.`,
      );
    await withStore(config, async ({ sql, nowMs }) => {
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      const row = await domainFrom({ sql, workspaceId }, words);
      const { records, replaced } = await audited(
        sql,
        commandLine,
        (tx) => publish(tx, row, { zone: config.zone, takeOver: true }),
        () => ({ action: "domain.published", workspaceId, target: { kind: "domain", id: row.id } }),
      );
      if (options.json)
        return void process.stdout.write(`${JSON.stringify({ domain: row.domain, records, replaced })}\n`);
      const lines = [`Posthorn's own DNS now serves ${records} records of ${row.domain}.`];
      if (replaced) lines.push("They replace the records of another registration of the same name.");
      if (!usesOwnDns(config))
        lines.push(
          "Domain checks query the servers in POSTHORN_RESOLVERS, which find these records only if they forward to Posthorn's DNS.",
        );
      lines.push(`Next: posthorn domains verify ${row.domain}`);
      process.stdout.write(`${lines.join("\n")}\n`);
    });
  },
};
