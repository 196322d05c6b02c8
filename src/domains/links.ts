/** The methods of links that show a domain's records without a sign-in. Part of DomainService; shared-page.ts answers what a link shows. */
import { actorOf, audited } from "../audit/record.ts";
import { cutPage, keysetPage } from "../http/paging.ts";
import { hashToken, makeToken } from "../ops/one-time-token.ts";
import { invalid, notFound, Problem } from "../ops/problem.ts";
import { fromWireId, makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { getDomain } from "./store/domains.ts";
import { addLink, listLinks, maxLinksPerDomain, revokeLink } from "./store/links.ts";
import { type DomainHandlers, linkOnWire } from "./wire.ts";

const defaultDays = 7;
const maxDays = 30;

type LinkHandlers = Pick<DomainHandlers, "createDomainLink" | "listDomainLinks" | "revokeDomainLink">;

export function linkHandlers(deps: { sql: Sql; nowMs: () => number; publicUrl: string | undefined }): LinkHandlers {
  const { sql } = deps;
  return {
    async createDomainLink(request, call) {
      const days = request.days === 0 ? defaultDays : request.days;
      if (request.id === "") throw invalid([{ field: "id", description: "is required: the id of a domain, dom_…" }]);
      if (days < 1 || days > maxDays)
        throw invalid([{ field: "days", description: `must be between 1 and ${maxDays}, is ${request.days}` }]);
      const { workspaceId } = call.caller;
      const domainId = fromWireId("domain", request.id);
      const token = makeToken();
      call.beginWrite();
      const link =
        domainId &&
        (await audited(
          sql,
          actorOf(call.caller),
          (tx) => addLink(tx, { workspaceId, domainId, id: makeUuid(deps.nowMs()), tokenHash: hashToken(token), days }),
          (added) =>
            added && added !== "full"
              ? { action: "domain.shared", workspaceId, target: { kind: "domain", id: domainId } }
              : undefined,
        ));
      if (!link) throw notFound("domain", request.id);
      if (link === "full")
        throw new Problem(
          "resource_exhausted",
          `The domain has ${maxLinksPerDomain} links, which is the limit. Revoke one first.`,
        );
      return { link: linkOnWire(link), url: `${deps.publicUrl ?? ""}/dns#${token}` };
    },

    async listDomainLinks(request, call) {
      if (request.id === "") throw invalid([{ field: "id", description: "is required: the id of a domain, dom_…" }]);
      const page = keysetPage(request);
      const { workspaceId } = call.caller;
      const domainId = fromWireId("domain", request.id);
      if (!domainId || !(await getDomain(sql, workspaceId, domainId))) throw notFound("domain", request.id);
      const rows = await listLinks(sql, { workspaceId, domainId, before: page.before, limit: page.limit + 1 });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map(linkOnWire), nextPageToken: cut.nextPageToken };
    },

    async revokeDomainLink(request, call) {
      if (request.id === "") throw invalid([{ field: "id", description: "is required: the id of a link, lnk_…" }]);
      const { workspaceId } = call.caller;
      const id = fromWireId("link", request.id);
      call.beginWrite();
      const link =
        id &&
        (await audited(
          sql,
          actorOf(call.caller),
          (tx) => revokeLink(tx, { workspaceId, id }),
          (revoked) =>
            revoked && { action: "domain.unshared", workspaceId, target: { kind: "domain", id: revoked.domainId } },
        ));
      if (!link) throw notFound("link", request.id);
      return { message: "The link was revoked and no longer works." };
    },
  };
}
