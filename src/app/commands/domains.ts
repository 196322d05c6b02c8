/** posthorn domains …: registers, shows, verifies and deletes sending domains, on a running or a stopped instance. */
import { zoneFile } from "../../dns/zone-file.ts";
import { listServedKeys } from "../../store/dkim-keys.ts";
import { deleteDomain, listDomains } from "../../store/domains.ts";
import { serviceZoneOf } from "../assemble-domains.ts";
import { type Command, UsageError } from "../command.ts";
import { domainJson, showDomain, showDomains, showZoneLines } from "./domains-show.ts";
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
    "mail-from-label": { type: "string", help: "first label of the return path's name", value: "bounce" },
    workspace: workspaceOption,
    json: jsonOption,
  },
  async run({ words, options, config: read }) {
    const config = read();
    const domain = oneWord(words);
    await withDomains(config, options.workspace, async ({ domains, workspaceId }) => {
      const mailFromLabel = String(options["mail-from-label"] ?? "");
      const row = await domains.registrar.register({ workspaceId, domain, mailFromLabel });
      if (options.json) return printJson(domainJson(row, config));
      print(showDomain(row, config.zone));
      print(`When they are published: posthorn domains verify ${row.domain}`);
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
  summary: "Look a domain's records up in DNS now and say what is still needed.",
  words: "DOMAIN",
  options: { workspace: workspaceOption, json: jsonOption },
  async run({ words, options, config: read }) {
    const config = read();
    await withDomains(config, options.workspace, async (at) => {
      const { id } = await domainFrom(at, words);
      const row = await at.domains.checker.refresh(at.workspaceId, id);
      if (!row) throw new UsageError(`${words[0]} was deleted meanwhile.`);
      if (options.json) return printJson(domainJson(row, config));
      print(showDomain(row, config.zone));
    });
  },
};

const domainsRecords: Command = {
  name: "domains records",
  summary: "Print the DNS records that a domain needs, with what was last found.",
  words: "DOMAIN",
  options: {
    "zone-file": { type: "boolean", help: "as lines of a zone file, for providers that import one" },
    workspace: workspaceOption,
    json: jsonOption,
  },
  async run({ words, options, config: read }) {
    const config = read();
    await withDomains(config, options.workspace, async (at) => {
      const row = await domainFrom(at, words);
      if (options["zone-file"]) return print(showZoneLines(row, config.zone));
      if (options.json) return printJson(domainJson(row, config));
      print(showDomain(row, config.zone));
    });
  },
};

const domainsRotate: Command = {
  name: "domains rotate",
  summary: "Replace a domain's DKIM key; nothing has to be changed in DNS.",
  words: "DOMAIN",
  options: { workspace: workspaceOption, json: jsonOption },
  async run({ words, options, config: read }) {
    await withDomains(read(), options.workspace, async (at) => {
      const { id, domain } = await domainFrom(at, words);
      const { signsFrom } = (await at.domains.rotate(at.workspaceId, id)) ?? {};
      if (!signsFrom) throw new UsageError(`${words[0]} was deleted meanwhile.`);
      if (options.json) return printJson({ domain, signsFrom });
      print(`A new DKIM key of ${domain} is served from now on and signs from ${signsFrom.toISOString()} on.`);
    });
  },
};

const domainsDelete: Command = {
  name: "domains delete",
  summary: "Delete a domain: nothing new is sent from it, accepted mail is still delivered.",
  words: "DOMAIN",
  options: { workspace: workspaceOption, json: { type: "boolean", help: "print what was deleted as JSON" } },
  async run({ words, options, config }) {
    await withDomains(config(), options.workspace, async (at) => {
      const row = await domainFrom(at, words);
      await deleteDomain(at.sql, at.workspaceId, row.id);
      if (options.json) return printJson({ domain: row.domain, deleted: true });
      print(
        `${row.domain} is deleted. Leave its DKIM records in DNS for 7 more days: mail on its way is verified with them.`,
      );
    });
  },
};

const domainsZone: Command = {
  name: "domains zone",
  summary: "Print the service's own DNS zone as a master file, for DNS servers of your own.",
  options: {},
  async run({ config: read }) {
    const config = read();
    const input = serviceZoneOf(config, Date.now());
    if (input.publicIps.length === 0)
      throw new UsageError(
        "POSTHORN_PUBLIC_IPS is not set, and a zone whose hosts have no address is of no use. Set it to the addresses that mail leaves from.",
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
