/** A signed-in person as a caller of the API: the cookie says who, a header says in which workspace, the role what may be done there. */
import { type People, signedOut } from "../people/people.ts";
import { invalid, Problem } from "../rules/problem.ts";
import { fromWireId } from "../store/ids.ts";
import type { Caller } from "./call.ts";
import { requireSameOrigin } from "./same-origin.ts";

export type SessionCallers = {
  /** Undefined when the request carries no session at all. */
  identify(header: (name: string) => string | undefined, needsWorkspace: boolean): Promise<Caller | undefined>;
};

export const workspaceHeader = "posthorn-workspace";

/** In a call that needs no workspace: an id that no workspace has. */
const noWorkspace = "00000000-0000-0000-0000-000000000000";

export function createSessionCallers(deps: {
  people: Pick<People, "session" | "cookieName">;
  publicUrl: string | undefined;
}): SessionCallers {
  const { people, publicUrl } = deps;
  return {
    async identify(header, needsWorkspace) {
      const cookie = header("cookie");
      if (!cookie?.includes(`${people.cookieName}=`)) return undefined;
      requireSameOrigin(header, publicUrl);
      const named = header(workspaceHeader);
      const workspaceId = fromWireId("workspace", named ?? "");
      const session = await people.session(cookie, workspaceId);
      if (!session) throw signedOut();
      if (named === undefined && needsWorkspace) throw unnamed();
      if (named !== undefined && !session.role) throw noSuchWorkspace(named);
      return {
        workspaceId: workspaceId ?? noWorkspace,
        // Streams and emails know who asked by one id, a key's or a session's.
        keyId: session.id,
        permission: session.role === "viewer" ? "read" : "full",
        domain: undefined,
        test: false,
        person: { id: session.personId, email: session.email, role: session.role ?? undefined },
      };
    },
  };
}

export function noSuchWorkspace(id: string): Problem {
  return new Problem("not_found", `You have no workspace with the id ${JSON.stringify(id.slice(0, 100))}.`);
}

function unnamed(): Problem {
  return invalid([{ field: "Posthorn-Workspace", description: "is required: the id of your workspace, ws_…" }]);
}
