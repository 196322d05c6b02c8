/** posthorn.audit: read the audit log of the workspace, page by page or as JSON lines. */
import type { Call } from "./call.ts";
import { checkObject } from "./check.ts";
import type { AuditEntry, AuditFilter, ListAuditEntriesRequest, ListAuditEntriesResponse } from "./gen/audit.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export class Audit {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists the changes, newest first. All filters that are set must match. */
  list(
    filter: AuditFilter & Pick<ListAuditEntriesRequest, "pageSize" | "pageToken"> = {},
    options?: CallOptions,
  ): List<AuditEntry, ListAuditEntriesResponse> {
    return listByToken(filter, ({ pageSize, pageToken, ...rest }) =>
      this.#call("AuditService/ListAuditEntries", { filter: rest, pageSize, pageToken }, options),
    );
  }

  /** Yields the entries as JSON lines, up to 5000 lines at a time, newest first. Append the parts to one file. */
  async *export(filter: AuditFilter = {}, options?: CallOptions): AsyncGenerator<string, void, undefined> {
    checkObject(filter, "filter");
    let pageToken: string | undefined;
    do {
      const page = await this.#call("AuditService/ExportAuditEntries", { filter, pageToken }, options);
      if (page.jsonLines !== "") yield page.jsonLines;
      pageToken = page.nextPageToken;
    } while (pageToken);
  }
}
