/** DomainService: registers sending domains, shows the state of their DNS records, looks them up, changes their keys, deletes them. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { DomainService } from "../gen/v1/domain_pb.ts";
import { invalid, notFound, type Violation } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { type DomainRow, deleteDomain, listDomains } from "../store/domains.ts";
import { fromWireId } from "../store/ids.ts";
import { domainOnWire } from "./domain-wire.ts";
import { pageSizeOf } from "./paging.ts";
import { serve } from "./service.ts";

export type DomainServiceDeps = {
  sql: Sql;
  zone: string;
  register(
    request: { workspaceId: string; domain: string; mailFromLabel: string },
    beginWrite: () => void,
  ): Promise<DomainRow>;
  checker: {
    /** Looked up again first when the last check is old. */
    get(workspaceId: string, id: string): Promise<DomainRow | undefined>;
    verify(
      workspaceId: string,
      id: string,
    ): Promise<{ row: DomainRow; wasRefreshed: boolean; nextRetryAt: Date | undefined } | undefined>;
  };
  rotate(
    workspaceId: string,
    id: string,
    beginWrite: () => void,
  ): Promise<{ row: DomainRow; signsFrom: Date } | undefined>;
  /** Whether our own DNS is asked for a name, and can be made to serve it. */
  servesLocally(domain: string): boolean;
  /** Has our own DNS serve the domain's records, and looks them up. */
  publishLocally(workspaceId: string, id: string, beginWrite: () => void): Promise<DomainRow | undefined>;
};

export function createDomainService(deps: DomainServiceDeps) {
  const { sql, zone } = deps;
  const onWire = (row: DomainRow) => domainOnWire(row, { zone, localDns: deps.servesLocally(row.domain) });
  return serve(DomainService, {
    async addDomain({ domain, mailFromLabel }, call) {
      const { workspaceId } = call.caller;
      const row = await deps.register({ workspaceId, domain, mailFromLabel }, () => call.beginWrite());
      return {
        domain: onWire(row),
        message: `${row.domain} is registered. Publish the records at its DNS provider, then call VerifyDomain. Mail can be sent as soon as one DKIM record is found.`,
      };
    },

    async getDomain(request, call) {
      const id = idFrom(request.id);
      const row = id && (await deps.checker.get(call.caller.workspaceId, id));
      if (!row) throw notFound("domain", request.id);
      return { domain: onWire(row) };
    },

    async listDomains(request, call) {
      const { limit, offset } = pageOf(request);
      const { rows, total } = await listDomains(sql, { workspaceId: call.caller.workspaceId, limit, offset });
      return { data: rows.map((row) => onWire(row)), total };
    },

    async verifyDomain(request, call) {
      const id = idFrom(request.id);
      const verified = id && (await deps.checker.verify(call.caller.workspaceId, id));
      if (!verified) throw notFound("domain", request.id);
      const { row, wasRefreshed, nextRetryAt } = verified;
      const domain = onWire(row);
      const message = domain.summary?.message ?? "";
      return {
        domain,
        wasRefreshed,
        nextRetryAt: nextRetryAt && timestampFromDate(nextRetryAt),
        message: nextRetryAt
          ? `The records were looked up a moment ago and can be again from ${nextRetryAt.toISOString()} on; this is the last known state. ${message}`
          : message,
      };
    },

    async rotateDkim(request, call) {
      const id = idFrom(request.id);
      const rotated = id && (await deps.rotate(call.caller.workspaceId, id, () => call.beginWrite()));
      if (!rotated) throw notFound("domain", request.id);
      const { row, signsFrom } = rotated;
      return {
        domain: onWire(row),
        signsFrom: timestampFromDate(signsFrom),
        message: `A new DKIM key of ${row.domain} is served from now on and signs from ${signsFrom.toISOString()} on. Nothing has to be changed in DNS.`,
      };
    },

    async publishToLocalDns(request, call) {
      const id = idFrom(request.id);
      const row = id && (await deps.publishLocally(call.caller.workspaceId, id, () => call.beginWrite()));
      if (!row) throw notFound("domain", request.id);
      const domain = onWire(row);
      return {
        domain,
        message:
          `The local DNS serves the records of ${row.domain} from now on. ${domain.summary?.message ?? ""}`.trim(),
      };
    },

    async deleteDomain(request, call) {
      const id = idFrom(request.id);
      call.beginWrite();
      const row = id && (await deleteDomain(sql, call.caller.workspaceId, id));
      if (!row) throw notFound("domain", request.id);
      return {
        message: `${row.domain} is deleted. Nothing new can be sent from it; mail that was accepted is still signed and delivered. Leave its DKIM records in DNS for 7 more days.`,
      };
    },
  });
}

function idFrom(wireId: string): string | undefined {
  if (wireId === "") throw invalid([{ field: "id", description: "is required: the id of a domain, dom_…" }]);
  return fromWireId("domain", wireId);
}

/** Pages start at 1; 0 and unset mean 1. */
function pageOf(request: { page: number; pageSize: number }): { limit: number; offset: number } {
  const problems: Violation[] = [];
  const limit = pageSizeOf(request.pageSize, problems);
  if (request.page < 0)
    problems.push({ field: "page", description: `must not be negative, is ${request.page}; the first page is 1` });
  if (problems.length > 0) throw invalid(problems);
  return { limit, offset: (Math.max(request.page, 1) - 1) * limit };
}
