/** posthorn dns …: in capture mode, our own DNS stands in for the provider of a reserved name. */
import { publish } from "../../domains/publish.ts";
import { asksItself } from "../assemble-domains.ts";
import { type Command, UsageError } from "../command.ts";
import { workspaceOption } from "./keys.ts";
import { domainFrom, withDomains } from "./with-domains.ts";

export const dnsPublish: Command = {
  name: "dns publish",
  summary: "Serve a reserved name's records (.test, .example, example.com …) from our own DNS; capture mode only.",
  words: "DOMAIN",
  options: {
    workspace: workspaceOption,
    json: { type: "boolean", help: "print what was done as JSON" },
  },
  async run({ words, options, config: read }) {
    const config = read();
    if (config.delivery !== "capture")
      throw new UsageError(
        `dns publish works in capture mode only, and POSTHORN_DELIVERY is ${config.delivery}. Publish the records at the domain's DNS provider.`,
      );
    await withDomains(config, options.workspace, async (at) => {
      const row = await domainFrom(at, words);
      const { records, replaced } = await publish(at.sql, row, { zone: config.zone, takeOver: true });
      if (options.json)
        return void process.stdout.write(`${JSON.stringify({ domain: row.domain, records, replaced })}\n`);
      const lines = [`${records} records of ${row.domain} are served by Posthorn's own DNS from now on.`];
      if (replaced) lines.push("They replace those of another registration of the same name.");
      if (!asksItself(config))
        lines.push("Domain checks ask the servers in POSTHORN_RESOLVERS: they see this only if they ask our DNS.");
      lines.push(`Next: posthorn domains verify ${row.domain}`);
      process.stdout.write(`${lines.join("\n")}\n`);
    });
  },
};
