/** posthorn.reports: what other mail servers report about the workspace's domains, by DMARC and TLS reports. */
import type { Call } from "./call.ts";
import type {
  DmarcSource,
  GetDmarcSummaryRequest,
  GetDmarcSummaryResponse,
  GetTlsSummaryRequest,
  GetTlsSummaryResponse,
  ListDmarcSourcesRequest,
  ListDmarcSourcesResponse,
  ListReportsRequest,
  ListReportsResponse,
  Report,
} from "./gen/report.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export class Reports {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Returns the counts of a domain's DMARC reports, the last 30 days by default, and the next safe step toward `p=reject`. */
  async dmarc(
    domainId: string,
    range: Omit<GetDmarcSummaryRequest, "domainId"> = {},
    options?: CallOptions,
  ): Promise<GetDmarcSummaryResponse> {
    return await this.#call("ReportService/GetDmarcSummary", { ...range, domainId }, options);
  }

  /** Lists the addresses that sent mail in the name of a domain, those with the most messages first. */
  dmarcSources(
    domainId: string,
    filter: Omit<ListDmarcSourcesRequest, "domainId"> = {},
    options?: CallOptions,
  ): List<DmarcSource, ListDmarcSourcesResponse> {
    return listByToken({ ...filter, domainId }, (page) => this.#call("ReportService/ListDmarcSources", page, options));
  }

  /** Lists the reports about a domain, newest first. */
  list(
    domainId: string,
    filter: Omit<ListReportsRequest, "domainId"> = {},
    options?: CallOptions,
  ): List<Report, ListReportsResponse> {
    return listByToken({ ...filter, domainId }, (page) => this.#call("ReportService/ListReports", page, options));
  }

  /** Returns the counts of a domain's TLS reports, the last 30 days by default, and what failed. */
  async tls(
    domainId: string,
    range: Omit<GetTlsSummaryRequest, "domainId"> = {},
    options?: CallOptions,
  ): Promise<GetTlsSummaryResponse> {
    return await this.#call("ReportService/GetTlsSummary", { ...range, domainId }, options);
  }
}
