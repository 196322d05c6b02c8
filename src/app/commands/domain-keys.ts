/** posthorn domains keys, import-key, export-key and remove-key: the DKIM keys of a domain. A private key is read from a file and written to
 * one, never to an argument or a terminal. */
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { type Command, UsageError } from "../command.ts";
import { fittedTable, jsonLine, plain, write } from "../output.ts";
import { confirm, yesOption } from "./confirm.ts";
import { findDomain } from "./domains.ts";
import { constantText } from "./listing.ts";
import { outputOption, withOutput } from "./output-file.ts";
import { readWords } from "./read-options.ts";
import { nameOf } from "./target.ts";
import { apiOptions, type CommandApi, targetOf, withApi, withTarget } from "./with-api.ts";
import { workspaceOption } from "./workspace-option.ts";

type WireKey = {
  id: string;
  selector: string;
  bits: number;
  primes: number;
  imported: boolean;
  signing: boolean;
  status: string;
  lastSignedAt?: string;
  signsFrom?: string;
  record?: { type: string; name: string; value: string; problem: string };
  note: string;
};

const domainsKeys: Command = {
  name: "domains keys",
  summary: "List the DKIM keys of a domain: which one signs, and whether DNS has its public key.",
  words: "DOMAIN",
  options: { json: { type: "boolean", help: "one JSON object per line" }, ...apiOptions },
  async run(input) {
    await withApi(input, async (api) => {
      const keys = await keysOf(api, (await findDomain(api, input.words)).id);
      if (input.options.json) for (const key of keys) await write(jsonLine(key));
      else await write(showKeys(keys));
    });
  },
};

const domainsImportKey: Command = {
  name: "domains import-key",
  summary: "Add your own DKIM key (RSA, PEM) to a domain and print the TXT record to publish.",
  words: "DOMAIN SELECTOR FILE|-",
  options: { json: { type: "boolean", help: "print the key as JSON" }, ...apiOptions },
  async run(input) {
    const what = ["a domain", "a selector", "a PEM file, or - for standard input"] as const;
    const [name, selector, path] = readWords(input.words, what, "domains import-key example.com s1 key.pem");
    const privateKeyPem = await readPem(path);
    await withApi(input, async (api) => {
      const { id } = await findDomain(api, [name]);
      const request = { id, selector, privateKeyPem };
      const { key } = await api.call<{ key: WireKey }>("DomainService/ImportDkimKey", request);
      if (input.options.json) return await write(jsonLine(key));
      await write(`The key is stored. Publish this record; the key signs once a check finds it:\n\n`);
      await write(plain(`${key.record!.type}  ${key.record!.name}  ${key.record!.value}`));
      await write(`\n\nThen run: posthorn domains verify ${plain(name)}\n`);
      if (key.note) process.stderr.write(`${plain(key.note)}\n`);
    });
  },
};

const domainsExportKey: Command = {
  name: "domains export-key",
  summary: "Write the private key of a DKIM key to a file, on the server itself.",
  words: "DOMAIN SELECTOR",
  options: { output: outputOption, workspace: workspaceOption },
  async run(input) {
    const [name, selector] = readWords(input.words, ["a domain", "a selector"], "domains export-key example.com ph1");
    const { output } = input.options;
    if ((output === undefined || output === "-") && process.stdout.isTTY)
      throw new UsageError("A private key is not printed to a terminal. Use --output FILE, or a pipe.");
    // API keys cannot export: see docs/decisions/0059-own-dkim-keys.md.
    await withTarget(input, undefined, async (api) => {
      const { id } = await findKey(api, name, selector);
      await withOutput(output, async (file) => {
        type Exported = { privateKeyPem: string; message: string };
        const { privateKeyPem, message } = await api.call<Exported>("DomainService/ExportDkimKey", { id });
        await file.write(privateKeyPem);
        process.stderr.write(`${plain(message)}\n`);
      });
    });
  },
};

const domainsRemoveKey: Command = {
  name: "domains remove-key",
  summary: "Delete an imported DKIM key: mail is signed with another key.",
  words: "DOMAIN SELECTOR",
  options: { yes: yesOption, json: { type: "boolean", help: "print the deleted key as JSON" }, ...apiOptions },
  async run(input) {
    const { options } = input;
    const [name, selector] = readWords(input.words, ["a domain", "a selector"], "domains remove-key example.com s1");
    const target = await targetOf(input);
    await confirm(`This deletes the DKIM key ${selector} of ${name} at ${nameOf(target)}, with its private key.`, {
      options,
      scriptsNeedNoYes: target === undefined,
    });
    await withTarget(input, target, async (api) => {
      const { id } = await findKey(api, name, selector);
      const { message } = await api.call<{ message: string }>("DomainService/RemoveDkimKey", { id });
      await write(options.json ? jsonLine({ domain: name, selector, deleted: true }) : `${plain(message)}\n`);
    });
  },
};

async function keysOf(api: CommandApi, id: string): Promise<WireKey[]> {
  return (await api.call<{ keys: WireKey[] }>("DomainService/GetDkimKeys", { id })).keys;
}

async function findKey(api: CommandApi, name: string, selector: string): Promise<WireKey> {
  const keys = await keysOf(api, (await findDomain(api, [name])).id);
  const found = keys.find((key) => key.selector === selector.toLowerCase());
  if (!found)
    throw new UsageError(
      `${name} has no DKIM key with the selector ${selector}. It has: ${keys.map((key) => key.selector).join(", ")}`,
    );
  return found;
}

function showKeys(keys: readonly WireKey[]): string {
  const rows = keys.map((key) => [
    key.selector,
    key.signing ? "yes" : key.signsFrom ? `from ${new Date(key.signsFrom).toISOString()}` : "no",
    constantText(key.status, "RECORD_STATUS_").toUpperCase(),
    key.imported ? "imported" : "made here",
    `${key.bits} bits, ${key.primes} primes`,
    key.lastSignedAt ? new Date(key.lastSignedAt).toISOString() : "never",
  ]);
  const notes = keys.flatMap(({ selector, note, record }) =>
    [note, record?.problem ?? ""].filter((text) => text !== "").map((text) => `${plain(`${selector}: ${text}`)}\n`),
  );
  const head = ["SELECTOR", "SIGNS", "IN DNS", "ORIGIN", "KEY", "LAST SIGNED"];
  return [fittedTable([head, ...rows], []), ...notes].join("");
}

async function readPem(path: string): Promise<string> {
  const octets = await (path === "-" ? buffer(process.stdin) : readFile(path)).catch((error: Error) => {
    throw new UsageError(`Cannot read the file ${path}: ${error.message}`);
  });
  return octets.toString("latin1");
}

export const domainKeys = [domainsKeys, domainsImportKey, domainsExportKey, domainsRemoveKey];
