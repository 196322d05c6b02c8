/** A signed-in person as a caller of the API: the cookie identifies the person, a header names the workspace, and the role in it decides
 * the permission. Called by http/gate.ts. */
import { noWorkspace } from "../http/caller.ts";
import type { SessionCallers } from "../http/gate.ts";
import { requireSameOrigin } from "../http/same-origin.ts";
import { invalid, type Problem } from "../ops/problem.ts";
import { fromWireId } from "../postgres/ids.ts";
import { noSuchWorkspace } from "../workspaces/rules.ts";
import { type Access, notAMember } from "./access.ts";
import { signedOut } from "./open-session.ts";
import type { People } from "./people.ts";

export const workspaceHeader = "posthorn-workspace";

export function createSessionCallers(deps: {
  people: Pick<People, "session" | "cookieName">;
  access: Access;
  publicUrl: string | undefined;
  /** The operator requires a second factor of every person. */
  requireSecondFactor: boolean;
}): SessionCallers {
  const { people, access, publicUrl } = deps;
  return {
    async identify(header, needsWorkspace) {
      const cookie = header("cookie");
      if (!cookie?.includes(`${people.cookieName}=`)) return undefined;
      requireSameOrigin(header, publicUrl);
      const named = header(workspaceHeader);
      const workspaceId = fromWireId("workspace", named ?? "");
      const session = await people.session(cookie, workspaceId);
      if (!session) throw signedOut();
      if (named === undefined && needsWorkspace) throw workspaceRequired();
      if (named !== undefined && !session.role) throw noSuchWorkspace(named);
      // A person who was removed from every workspace has a session, but no rights.
      if (!session.role && !(await access.mayUse({ id: session.personId, email: session.email }))) throw notAMember();
      return {
        workspaceId: workspaceId ?? noWorkspace,
        // Streams and emails store one id for the caller: that of a key or of a session.
        keyId: session.id,
        permission: session.role === "viewer" ? "read" : "full",
        test: false,
        person: {
          id: session.personId,
          email: session.email,
          role: session.role ?? undefined,
          proof: {
            hasSecondFactor: session.hasSecondFactor,
            // A call that needs no workspace may name one: the requirement of that workspace does not concern it.
            needsSecondFactor: deps.requireSecondFactor || (needsWorkspace && session.workspaceRequiresFactor),
            agoMs: session.personHasFactor && !session.hasSecondFactor ? null : session.provedAgoMs,
          },
          isOperator: session.isOperator && session.hasSecondFactor,
          lacksSecondFactor: session.isOperator && !session.hasSecondFactor,
        },
      };
    },
  };
}

function workspaceRequired(): Problem {
  return invalid([{ field: "Posthorn-Workspace", description: "is required: the id of your workspace, ws_…" }]);
}
