/** posthorn domains: registers, lists, verifies and deletes sending domains and rotates their keys, on a running or a stopped instance. */
import { audited, commandLine } from "../../audit/record.ts";
import { listServedKeys } from "../../domains/store/dkim-keys.ts";
import { deleteDomain, listDomains } from "../../domains/store/domains.ts";
import { zoneFile } from "../../domains/zone-file.ts";
import { serviceZoneOf } from "../assemble/domains.ts";
import { type Command, UsageError } from "../command.ts";
import { domainJson, showDomain, showDomains, showZoneFile } from "./domains-show.ts";
import { workspaceOption } from "./keys.ts";
import { domainFrom, jsonOption, oneWord, withDomains } from "./with-domains.ts";
import { withStore } from "./with-store.ts";

const print = (text: string) => void process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
const printJson = (value: unknown) => print(JSON.stringify(value));

const domainsAdd: Command = {
  name: "domains add",
  summary: "Register a sending domain and print the DNS records to publish.",
  words: "DOMAIN",
  options: {
    "mail-from-label": { type: "string", help: "first label of the return path's host name", value: "bounce" },
    workspace: workspaceOption,
    json: jsonOption,
  },
  async run({ words, options, config: read }) {
    const config = read();
    const domain = oneWord(words);
    await withDomains(config, options.workspace, async ({ domains, workspaceId }) => {
      const mailFromLabel = String(options["mail-from-label"] ?? "");
      const row = await domains.registrar.register({ workspaceId, domain, mailFromLabel, actor: commandLine });
      if (options.json) return printJson(domainJson(row, config));
      print(showDomain(row, config.zone));
      print(`Once they are published, run: posthorn domains verify ${row.domain}`);
    });
  },
};

const domainsList: Command = {
  name: "domains list",
  summary: "List the workspace's sending domains, newest first.",
  options: { workspace: workspaceOption, json: { type: "boolean", help: "one JSON object per line" } },
  async run({ options, config: read }) {
    const config = read();
    await withDomains(config, options.workspace, async ({ sql, workspaceId }) => {
      const { rows } = await listDomains(sql, { workspaceId, limit: 10_000, offset: 0 });
      if (options.json) for (const row of rows) printJson(domainJson(row, config));
      else print(showDomains(rows));
    });
  },
};

const domainsVerify: Command = {
  name: "domains verify",
  summary: "Check a domain's records in DNS now and show what is missing.",
  words: "DOMAIN",
  options: { workspace: workspaceOption, json: jsonOption },
  async run({ words, options, config: read }) {
    const config = read();
    await withDomains(config, options.workspace, async (context) => {
      const { id } = await domainFrom(context, words);
      const row = await context.domains.checker.refresh(context.workspaceId, id);
      if (!row) throw new UsageError(`${words[0]} was deleted in the meantime.`);
      if (options.json) return printJson(domainJson(row, config));
      print(showDomain(row, config.zone));
    });
  },
};

const domainsRecords: Command = {
  name: "domains records",
  summary: "Print the DNS records that a domain needs, with the result of the last check.",
  words: "DOMAIN",
  options: {
    "zone-file": { type: "boolean", help: "print a zone file, for DNS providers that import one" },
    workspace: workspaceOption,
    json: jsonOption,
  },
  async run({ words, options, config: read }) {
    const config = read();
    await withDomains(config, options.workspace, async (context) => {
      const row = await domainFrom(context, words);
      if (options["zone-file"]) return print(showZoneFile(row, config.zone));
      if (options.json) return printJson(domainJson(row, config));
      print(showDomain(row, config.zone));
    });
  },
};

const domainsRotate: Command = {
  name: "domains rotate",
  summary: "Replace a domain's DKIM key; DNS needs no change.",
  words: "DOMAIN",
  options: {
    workspace: workspaceOption,
    json: { type: "boolean", help: "print the domain and the time from which the new key signs as JSON" },
  },
  async run({ words, options, config: read }) {
    await withDomains(read(), options.workspace, async (context) => {
      const { id, domain } = await domainFrom(context, words);
      const { signsFrom } =
        (await context.domains.rotate({ workspaceId: context.workspaceId, id, actor: commandLine })) ?? {};
      if (!signsFrom) throw new UsageError(`${words[0]} was deleted in the meantime.`);
      if (options.json) return printJson({ domain, signsFrom });
      print(`${domain} has a new DKIM key. It is in DNS now and signs mail from ${signsFrom.toISOString()} on.`);
    });
  },
};

const domainsDelete: Command = {
  name: "domains delete",
  summary: "Delete a domain: new mail from it is rejected, accepted mail is still delivered.",
  words: "DOMAIN",
  options: { workspace: workspaceOption, json: { type: "boolean", help: "print the deleted domain as JSON" } },
  async run({ words, options, config }) {
    await withDomains(config(), options.workspace, async (context) => {
      const row = await domainFrom(context, words);
      const { workspaceId } = context;
      await audited(
        context.sql,
        commandLine,
        (tx) => deleteDomain(tx, workspaceId, row.id),
        (deleted) => deleted && { action: "domain.deleted", workspaceId, target: { kind: "domain", id: row.id } },
      );
      if (options.json) return printJson({ domain: row.domain, deleted: true });
      print(
        `${row.domain} deleted. Leave its DKIM records in DNS for 7 more days: receivers verify mail in transit with them.`,
      );
    });
  },
};

const domainsZone: Command = {
  name: "domains zone",
  summary: "Print the service's own DNS zone as a zone file, to serve it from other DNS servers.",
  options: {},
  async run({ config: read }) {
    const config = read();
    const input = serviceZoneOf(config, Date.now());
    if (input.publicIps.length === 0)
      throw new UsageError(
        "POSTHORN_PUBLIC_IPS is not set, so the zone's hosts would have no address. Set it to the addresses that mail is sent from.",
      );
    await withStore(config, async ({ sql }) => print(zoneFile(input, await listServedKeys(sql))));
  },
};

export const domains = [
  domainsAdd,
  domainsList,
  domainsVerify,
  domainsRecords,
  domainsDelete,
  domainsRotate,
  domainsZone,
];
