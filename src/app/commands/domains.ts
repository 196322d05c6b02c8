/** posthorn domains: registers, lists, verifies and deletes sending domains and rotates their keys, locally or at another instance. */
import { readDomainName } from "../../dns/name.ts";
import { listServedKeys } from "../../domains/store/dkim-keys.ts";
import { listReported } from "../../domains/store/report-names.ts";
import { zoneFile } from "../../domains/zone-file.ts";
import { fromWireId } from "../../postgres/ids.ts";
import { serviceZoneOf } from "../assemble/domains.ts";
import { type Command, type Option, UsageError } from "../command.ts";
import { jsonLine, plain, plainLines, write } from "../output.ts";
import { confirm, yesOption } from "./confirm.ts";
import { domainJson, showDomain, showDomains, type WireDomain } from "./domains-show.ts";
import { domainFrom, noSuchDomain, oneWord } from "./local-domain.ts";
import { nameOf } from "./target.ts";
import { apiOptions, type CommandApi, targetOf, withApi, withTarget } from "./with-api.ts";
import { withStore } from "./with-store.ts";

const jsonOption: Option = { type: "boolean", help: "print the API's JSON" };

const domainsAdd: Command = {
  name: "domains add",
  summary: "Register a sending domain and print the DNS records to publish.",
  words: "DOMAIN",
  options: {
    "mail-from-label": { type: "string", help: "first label of the return path's host name", value: "bounce" },
    json: jsonOption,
    ...apiOptions,
  },
  async run(input) {
    const request = { domain: oneWord(input.words), mailFromLabel: String(input.options["mail-from-label"] ?? "") };
    await withApi(input, async (api) => {
      const { domain } = await api.call<{ domain: WireDomain }>("DomainService/AddDomain", request);
      if (input.options.json) return await write(jsonLine(domain));
      await write(showDomain(domain));
      await write(`Once they are published, run: posthorn domains verify ${plain(domain.domain)}\n`);
    });
  },
};

const noDomains = "No domains yet. Register the first one: posthorn domains add example.com\n";

const domainsList: Command = {
  name: "domains list",
  summary: "List the workspace's sending domains, newest first.",
  options: { json: { type: "boolean", help: "one JSON object per line" }, ...apiOptions },
  async run(input) {
    await withApi(input, async (api) => {
      const domains: WireDomain[] = [];
      for await (const domain of allDomains(api)) domains.push(domain);
      if (input.options.json) for (const domain of domains) await write(jsonLine(domain));
      else await write(domains.length > 0 ? showDomains(domains) : noDomains);
    });
  },
};

const domainsVerify: Command = {
  name: "domains verify",
  summary: "Check a domain's records in DNS now and show what is missing.",
  words: "DOMAIN",
  options: { json: jsonOption, ...apiOptions },
  async run(input) {
    await withApi(input, async (api) => {
      const { id } = await findDomain(api, input.words);
      type Verified = { domain: WireDomain; wasRefreshed: boolean; message: string };
      const { domain, wasRefreshed, message } = await api.call<Verified>("DomainService/VerifyDomain", { id });
      if (!wasRefreshed) process.stderr.write(`${plain(message)}\n`);
      await write(input.options.json ? jsonLine(domain) : showDomain(domain));
    });
  },
};

const domainsRecords: Command = {
  name: "domains records",
  summary: "Print the DNS records that a domain needs, with the result of the last check.",
  words: "DOMAIN",
  options: {
    "zone-file": { type: "boolean", help: "print a zone file, for DNS providers that import one" },
    json: jsonOption,
    ...apiOptions,
  },
  async run(input) {
    await withApi(input, async (api) => {
      const domain = await findDomain(api, input.words);
      if (input.options["zone-file"]) {
        const { content } = await api.call<{ content: string }>("DomainService/GetZoneFile", { id: domain.id });
        return await write(content.endsWith("\n") ? plainLines(content) : `${plainLines(content)}\n`);
      }
      await write(input.options.json ? jsonLine(domain) : showDomain(domain));
    });
  },
};

const domainsRotate: Command = {
  name: "domains rotate",
  summary: "Replace a domain's DKIM key; DNS needs no change.",
  words: "DOMAIN",
  options: {
    json: { type: "boolean", help: "print the domain and the time from which the new key signs as JSON" },
    ...apiOptions,
  },
  async run(input) {
    await withApi(input, async (api) => {
      const { id, domain } = await findDomain(api, input.words);
      const answer = await api.call<{ signsFrom: string }>("DomainService/RotateDkim", { id });
      const signsFrom = new Date(answer.signsFrom).toISOString();
      if (input.options.json) return await write(jsonLine({ domain, signsFrom }));
      await write(`${plain(domain)} has a new DKIM key. It is in DNS now and signs mail from ${signsFrom} on.\n`);
    });
  },
};

const domainsDelete: Command = {
  name: "domains delete",
  summary: "Delete a domain: new mail from it is rejected, accepted mail is still delivered.",
  words: "DOMAIN",
  options: { yes: yesOption, json: { type: "boolean", help: "print the deleted domain as JSON" }, ...apiOptions },
  async run(input) {
    const { options } = input;
    const word = oneWord(input.words);
    const target = await targetOf(input);
    await confirm(`This deletes the domain ${word} at ${nameOf(target)}: new mail from it is rejected.`, {
      options,
      scriptsNeedNoYes: target === undefined,
    });
    await withTarget(input, target, async (api) => {
      const { id, domain } = await findDomain(api, input.words);
      await api.call("DomainService/DeleteDomain", { id });
      if (options.json) return await write(jsonLine({ domain, deleted: true }));
      await write(
        `${plain(domain)} deleted. Leave its DKIM records in DNS for 7 more days: receivers verify mail in transit with them.\n`,
      );
    });
  },
};

/** The domain that the argument names, by its name or its id. reports.ts and domain-keys.ts use it too. */
export async function findDomain(api: CommandApi, words: readonly string[]): Promise<WireDomain> {
  if (api.local) return domainJson(await domainFrom(api.local, words), api.local.config);
  const text = oneWord(words);
  const id = fromWireId("domain", text) && text;
  if (id) return (await api.call<{ domain: WireDomain }>("DomainService/GetDomain", { id })).domain;
  const read = readDomainName(text);
  if (read.ok) for await (const domain of allDomains(api)) if (domain.domain === read.name.ascii) return domain;
  throw noSuchDomain(text);
}

const pageSize = 100;

/** This list has numbered pages. A domain that is added meanwhile moves others to the next page, so each is returned once. */
async function* allDomains(api: CommandApi): AsyncGenerator<WireDomain> {
  const seen = new Set<string>();
  for (let page = 1; ; page += 1) {
    const { data } = await api.call<{ data: WireDomain[] }>("DomainService/ListDomains", { page, pageSize });
    for (const domain of data) {
      if (!seen.has(domain.id)) yield domain;
      seen.add(domain.id);
    }
    if (data.length < pageSize) return;
  }
}

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
    const text = await withStore(config, async ({ sql }) =>
      zoneFile(input, { keys: await listServedKeys(sql), reported: await listReported(sql) }),
    );
    await write(text.endsWith("\n") ? text : `${text}\n`);
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
