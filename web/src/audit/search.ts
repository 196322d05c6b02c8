/** The filters of the audit log: read from the page's URL, and converted to a request. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { periods } from "../emails/search.ts";
import { readTextParams } from "../parts/search-params.ts";

export interface AuditSearch {
  noun?: string;
  since?: string;
  actor?: string;
  target?: string;
}

export function readAuditSearch(raw: Record<string, unknown>): AuditSearch {
  return readTextParams(raw, ["noun", "since", "actor", "target"]);
}

export function toFilter({ noun, since, actor, target }: AuditSearch, now: Date) {
  const period = periods[since ?? ""];
  return {
    action: noun ?? "",
    actorId: actor ?? "",
    targetId: target ?? "",
    from: period ? timestampFromDate(new Date(now.getTime() - period.ms)) : undefined,
  };
}
