/** DomainService: registers, lists, checks and deletes sending domains, and rotates their DKIM keys. links.ts and own-keys.ts have the rest. */

import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Actor } from "../audit/entry.ts";
import { actorOf, audited } from "../audit/record.ts";
import { DomainService } from "../gen/v1/domain_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { pageSizeOf } from "../http/paging.ts";
import { invalid, notFound, type Violation } from "../ops/problem.ts";
import { fromWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { linkHandlers } from "./links.ts";
import { keyHandlers, type OwnKeysDeps } from "./own-keys.ts";
import { recordsFile } from "./records-file.ts";
import { isFound } from "./rules/imported-keys.ts";
import { expectedRecords } from "./rules/records.ts";
import { judgedRecords } from "./rules/result.ts";
import { type DomainRow, deleteDomain, getDomain, listDomains } from "./store/domains.ts";
import { listImportedKeys } from "./store/imported-keys.ts";
import { domainOnWire, judgedKeyRecord } from "./wire.ts";

export type DomainServiceDeps = OwnKeysDeps & {
  sql: Sql;
  zone: string;
  publicUrl: string | undefined;
  register(
    request: { workspaceId: string; domain: string; mailFromLabel: string; actor: Actor },
    beginWrite: () => void,
  ): Promise<DomainRow>;
  checker: {
    /** Checks the records first if the last check is stale. */
    get(workspaceId: string, id: string): Promise<DomainRow | undefined>;
    verify(
      workspaceId: string,
      id: string,
    ): Promise<{ row: DomainRow; wasRefreshed: boolean; nextRetryAt: Date | undefined } | undefined>;
    /** Looks for the zone at the DNS provider in the background. */
    locate(row: DomainRow): void;
  };
  rotate(
    domain: { workspaceId: string; id: string; actor: Actor },
    beginWrite: () => void,
  ): Promise<{ row: DomainRow; signsFrom: Date } | undefined>;
  /** Whether our own DNS can serve the records of this domain. */
  servesLocally(domain: string): boolean;
  /** Publishes the domain's records in our own DNS and checks them. */
  publishLocally(
    domain: { workspaceId: string; id: string; actor: Actor },
    beginWrite: () => void,
  ): Promise<DomainRow | undefined>;
};

export function createDomainService(deps: DomainServiceDeps) {
  const { sql, zone } = deps;
  const onWire = (row: DomainRow) =>
    domainOnWire(row, { zone, publicUrl: deps.publicUrl, localDns: deps.servesLocally(row.domain) });
  return serve(DomainService, {
    ...linkHandlers(deps),
    ...keyHandlers(deps),

    async addDomain({ domain, mailFromLabel }, call) {
      const { workspaceId } = call.caller;
      const row = await deps.register({ workspaceId, domain, mailFromLabel, actor: actorOf(call.caller) }, () =>
        call.beginWrite(),
      );
      deps.checker.locate(row);
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
      // The check stores its result even if it takes longer than the deadline.
      call.beginWrite();
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
          ? `The records were checked recently and can be checked again at ${nextRetryAt.toISOString()}; this is the last known state. ${message}`
          : message,
      };
    },

    async rotateDkim(request, call) {
      const id = idFrom(request.id);
      const rotated = id && (await deps.rotate(target(id, call), () => call.beginWrite()));
      if (!rotated) throw notFound("domain", request.id);
      const { row, signsFrom } = rotated;
      const imported = (await listImportedKeys(sql, row.workspaceId, row.id)).find(isFound);
      return {
        domain: onWire(row),
        signsFrom: timestampFromDate(signsFrom),
        message: imported
          ? `A new DKIM key for ${row.domain} is published. The imported key ${imported.selector} keeps signing while its record is in DNS; without it, the new key signs from ${signsFrom.toISOString()} on.`
          : `A new DKIM key for ${row.domain} is published and starts signing at ${signsFrom.toISOString()}. You do not need to change anything in DNS.`,
      };
    },

    async getZoneFile(request, call) {
      const id = idFrom(request.id);
      const row = id && (await getDomain(sql, call.caller.workspaceId, id));
      if (!row) throw notFound("domain", request.id);
      const keys = await listImportedKeys(sql, row.workspaceId, row.id);
      const file = recordsFile(row.domain, [
        ...judgedRecords(expectedRecords({ ...row, zone, publicUrl: deps.publicUrl }), row.records),
        ...keys.map((key) => judgedKeyRecord(row, key)),
      ]);
      return { fileName: file.name, content: file.content };
    },

    async publishToLocalDns(request, call) {
      const id = idFrom(request.id);
      const row = id && (await deps.publishLocally(target(id, call), () => call.beginWrite()));
      if (!row) throw notFound("domain", request.id);
      const domain = onWire(row);
      return {
        domain,
        message: `The local DNS now serves the records of ${row.domain}. ${domain.summary?.message ?? ""}`.trim(),
      };
    },

    async deleteDomain(request, call) {
      const id = idFrom(request.id);
      call.beginWrite();
      const { workspaceId } = call.caller;
      const row =
        id &&
        (await audited(
          sql,
          actorOf(call.caller),
          (tx) => deleteDomain(tx, workspaceId, id),
          (deleted) => deleted && { action: "domain.deleted", workspaceId, target: { kind: "domain", id } },
        ));
      if (!row) throw notFound("domain", request.id);
      return {
        message: `${row.domain} is deleted and can no longer send. Accepted mail is still signed and delivered: keep its DKIM records in DNS for 7 more days.`,
      };
    },
  });
}

function target(id: string, { caller }: Call) {
  return { workspaceId: caller.workspaceId, id, actor: actorOf(caller) };
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
