/** posthorn suppressions: the addresses that a workspace does not send to, locally or at another instance. */
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import { Problem } from "../../ops/problem.ts";
import { type Command, type Option, UsageError } from "../command.ts";
import { jsonLine, plain, plainLines, write } from "../output.ts";
import { splitCsv } from "./csv-parts.ts";
import { type Column, constantText, limitOf, listOptions, printList, timeText } from "./listing.ts";
import { outputOption, withOutput } from "./output-file.ts";
import { showProgress } from "./progress-line.ts";
import { readChoice, readWords } from "./read-options.ts";
import { apiOptions, type CommandApi, withApi } from "./with-api.ts";

type WireSuppression = JsonObject & { address: string; reason: string; note: string; createdAt: string };
type Imported = {
  added: number;
  alreadyPresent: number;
  refused: number;
  problems: { line: number; message: string }[];
};

const json: Option = { type: "boolean", help: "print the API's response as JSON" };
const reasons = ["bounce", "complaint", "manual", "import"];

const columns: Column<WireSuppression>[] = [
  { head: "ADDRESS", of: ({ address }) => address },
  { head: "REASON", of: ({ reason }) => constantText(reason, "SUPPRESSION_REASON_") },
  { head: "SINCE", of: ({ createdAt }) => timeText(createdAt) },
  { head: "NOTE", of: ({ note }) => note, cut: true },
];

const suppressionsList: Command = {
  name: "suppressions list",
  summary: "List suppressed addresses, newest first.",
  options: {
    reason: { type: "string", help: `only this reason: ${reasons.join(", ")}` },
    search: { type: "string", help: "only addresses that contain this text" },
    ...listOptions,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    limitOf(options);
    const request: JsonObject = { search: String(options.search ?? "") };
    if (options.reason !== undefined)
      request.reason = readChoice("reason", String(options.reason), "SUPPRESSION_REASON_", reasons);
    const isFiltered = options.reason !== undefined || options.search !== undefined;
    const empty = isFiltered
      ? "No suppressed address matches."
      : "No suppressed addresses. Bounces and complaints add them, and so does: posthorn suppressions add ADDRESS";
    const list = { method: "SuppressionService/ListSuppressions", request, columns, empty };
    await withApi(input, (api) => printList(api, options, list));
  },
};

const suppressionsAdd: Command = {
  name: "suppressions add",
  summary: "Add an address, which then gets no mail.",
  words: "ADDRESS",
  options: { note: { type: "string", help: "why, up to 500 characters" }, json, ...apiOptions },
  async run(input) {
    const [address] = readWords(input.words, ["an address"], "suppressions add ada@example.net");
    const request = { address, note: String(input.options.note ?? "") };
    await withApi(input, async (api) => {
      type Added = { suppression: WireSuppression };
      const { suppression } = await api.call<Added>("SuppressionService/AddSuppression", request);
      await write(input.options.json ? jsonLine(suppression) : `${plain(suppression.address)} gets no mail.\n`);
    });
  },
};

const suppressionsRemove: Command = {
  name: "suppressions remove",
  summary: "Remove an address, which then gets mail again.",
  words: "ADDRESS",
  options: { json, ...apiOptions },
  async run(input) {
    const [address] = readWords(input.words, ["an address"], "suppressions remove ada@example.net");
    await withApi(input, async (api) => {
      const answer = await api.call<{ message: string }>("SuppressionService/RemoveSuppression", { address });
      await write(input.options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
    });
  },
};

const suppressionsImport: Command = {
  name: "suppressions import",
  summary: "Add the addresses of a CSV file with a column `address`. Exit code 1 if a line is invalid.",
  words: "FILE|-",
  options: { json: { type: "boolean", help: "print the counts and the invalid lines as JSON" }, ...apiOptions },
  async run(input) {
    const [path] = readWords(input.words, ["a CSV file, or - for standard input"], "suppressions import list.csv");
    const text = await readText(path);
    await withApi(input, async (api) => {
      const result = await importAll(api, text);
      if (result.refused > 0) process.exitCode = 1;
      if (input.options.json) return await write(jsonLine(result));
      const { added, alreadyPresent, refused, problems } = result;
      await write(`${added} added, ${alreadyPresent} already on the list, ${refused} invalid.\n`);
      for (const { line, message } of problems) process.stderr.write(`line ${line}: ${plain(message)}\n`);
      if (refused > problems.length) process.stderr.write(`The first ${problems.length} invalid lines are shown.\n`);
    });
  },
};

async function readText(path: string): Promise<string> {
  const octets = await (path === "-" ? buffer(process.stdin) : readFile(path)).catch((error: Error) => {
    throw new UsageError(`Cannot read the file ${path}: ${error.message}`);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(octets);
  } catch {
    throw new UsageError(`${path} is not UTF-8 text. Save it as CSV in UTF-8.`);
  }
}

const maxProblems = 100;

/** Part by part: one call has a limit of 64 MiB, and a person wants to see how far it is. Addresses on the list are skipped, so that the
 * command can be repeated after a failure. */
async function importAll(api: CommandApi, text: string): Promise<Imported> {
  let done = 0;
  const total: Imported = { added: 0, alreadyPresent: 0, refused: 0, problems: [] };
  const progress = showProgress();
  try {
    for (const { csv, lineOf } of splitCsv(text)) {
      progress.show(`${total.added + total.alreadyPresent} addresses`, Math.min(1, done / text.length));
      const answer = await api.call<Imported>("SuppressionService/ImportSuppressions", { csv });
      total.added += answer.added;
      total.alreadyPresent += answer.alreadyPresent;
      total.refused += answer.refused;
      const problems = answer.problems.map(({ line, message }) => ({ line: lineOf(line), message }));
      total.problems = [...total.problems, ...problems].slice(0, maxProblems);
      done += csv.length;
    }
    return total;
  } catch (error) {
    const { added } = total;
    if (!(error instanceof Problem) || added === 0) throw error;
    const state = `${added} addresses were added before. Repeat the command: addresses on the list are skipped.`;
    throw new Problem(error.code, `${error.message} ${state}`, { cause: error });
  } finally {
    progress.end();
  }
}

const suppressionsExport: Command = {
  name: "suppressions export",
  summary: "Write the list as CSV, in the format that suppressions import reads.",
  options: { output: outputOption, ...apiOptions },
  async run(input) {
    const { options } = input;
    await withApi(input, async (api) => {
      const progress = showProgress();
      const toTerminal = options.output === undefined && process.stdout.isTTY;
      let lines = 0;
      try {
        await withOutput(options.output, async (output) => {
          for (let pageToken = ""; ; ) {
            type Page = { csv: string; nextPageToken: string };
            const page = await api.call<Page>("SuppressionService/ExportSuppressions", { pageToken });
            await output.write(toTerminal ? plainLines(page.csv) : page.csv);
            lines += page.csv.split("\n").length - 1;
            if (!toTerminal) progress.show(`${lines} lines`);
            if (page.nextPageToken === "") return;
            pageToken = page.nextPageToken;
          }
        });
      } finally {
        progress.end();
      }
    });
  },
};

export const suppressions = [
  suppressionsList,
  suppressionsAdd,
  suppressionsRemove,
  suppressionsImport,
  suppressionsExport,
];
