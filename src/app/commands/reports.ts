/** posthorn reports: what receivers report about a domain's mail (DMARC) and senders about TLS to it, locally or at another instance. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Command, type Option, UsageError } from "../command.ts";
import { jsonLine, write } from "../output.ts";
import { findDomain } from "./domains.ts";
import { limitOf, listOptions, printList } from "./listing.ts";
import { oneWord } from "./local-domain.ts";
import { readChoice, readTime } from "./read-options.ts";
import {
  type DmarcSource,
  type DmarcSummary,
  type Report,
  reportColumns,
  showDmarc,
  showTls,
  sourceColumns,
  type TlsSummary,
} from "./reports-show.ts";
import { apiOptions, withApi } from "./with-api.ts";

const rangeOptions = {
  from: { type: "string", help: "first day: 2026-11-01, or 90d for the last 90 days", value: "30d" },
  to: { type: "string", help: "end, not included; default: now" },
} satisfies Record<string, Option>;

const jsonOption: Option = { type: "boolean", help: "print the API's response as JSON" };

const kinds = ["dmarc", "tls"];

const reportsSummary: Command = {
  name: "reports summary",
  summary: "Show how much mail in a domain's name passes DMARC, and the next safe step toward p=reject.",
  words: "DOMAIN",
  options: { ...rangeOptions, json: jsonOption, ...apiOptions },
  async run(input) {
    const range = readRange(input);
    await withApi(input, async (api) => {
      const { id: domainId, domain } = await findDomain(api, input.words);
      const answer = await api.call<DmarcSummary>("ReportService/GetDmarcSummary", { domainId, ...range });
      await write(input.options.json ? jsonLine(answer) : showDmarc(domain, answer));
    });
  },
};

const reportsSources: Command = {
  name: "reports sources",
  summary: "List the addresses that send mail in a domain's name, the most messages first.",
  words: "DOMAIN",
  options: {
    ...rangeOptions,
    failing: { type: "boolean", help: "only addresses with mail that failed DMARC" },
    ...listOptions,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const range = readRange(input);
    limitOf(options);
    await withApi(input, async (api) => {
      const { id: domainId } = await findDomain(api, input.words);
      await printList<DmarcSource>(api, options, {
        method: "ReportService/ListDmarcSources",
        request: { domainId, ...range, unalignedOnly: options.failing === true },
        columns: sourceColumns,
        empty: options.failing
          ? "No address sent mail that failed DMARC, according to the reports of this time."
          : "No reported mail in this time. See: posthorn reports summary DOMAIN",
      });
    });
  },
};

const reportsList: Command = {
  name: "reports list",
  summary: "List the reports about a domain that arrived, newest first.",
  words: "DOMAIN",
  options: {
    kind: { type: "string", help: `only one kind: ${kinds.join(", ")}` },
    ...listOptions,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    oneWord(input.words);
    limitOf(options);
    const request: JsonObject = {};
    if (options.kind !== undefined) request.kind = readChoice("kind", String(options.kind), "REPORT_KIND_", kinds);
    await withApi(input, async (api) => {
      const { id: domainId } = await findDomain(api, input.words);
      await printList<Report>(api, options, {
        method: "ReportService/ListReports",
        request: { ...request, domainId },
        columns: reportColumns,
        empty: "No reports have arrived yet. The record to publish: posthorn reports summary DOMAIN",
      });
    });
  },
};

const reportsTls: Command = {
  name: "reports tls",
  summary: "Show which senders reached a domain's mail servers with TLS, and what failed.",
  words: "DOMAIN",
  options: { ...rangeOptions, json: jsonOption, ...apiOptions },
  async run(input) {
    const range = readRange(input);
    await withApi(input, async (api) => {
      const { id: domainId, domain } = await findDomain(api, input.words);
      const answer = await api.call<TlsSummary>("ReportService/GetTlsSummary", { domainId, ...range });
      await write(input.options.json ? jsonLine(answer) : showTls(domain, answer));
    });
  },
};

/** Called before the API is opened, so that a mistake is reported at once. */
function readRange({ options, words }: Parameters<Command["run"]>[0]): JsonObject {
  oneWord(words);
  const [from, to] = [readTime("from", options.from), readTime("to", options.to)];
  if (from !== undefined && to !== undefined && from >= to) throw new UsageError("--from must be before --to.");
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

export const reports = [reportsSummary, reportsSources, reportsList, reportsTls];
