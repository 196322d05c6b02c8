/** The sessions of a person: where and when they signed in and with which browser. The person ends one or all others; this takes effect
 * at once on every node, because each call looks its session up. Called by people.ts. */
import { audited } from "../audit/record.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { personActor, type Visitor } from "./open-session.ts";
import { browserName } from "./rules/browser-name.ts";
import { endOtherSessions, endSessionOf, type LiveSession, listSessions } from "./store/sessions.ts";

export function createSessionList({ sql }: { sql: Sql }) {
  return {
    async list(live: LiveSession) {
      const rows = await listSessions(sql, live.personId);
      return rows.map(({ id, userAgent, ...rest }) => ({
        id,
        ...browserName(userAgent),
        ...rest,
        isCurrent: id === live.id,
      }));
    },

    async end(id: string | undefined, live: LiveSession, visitor: Visitor): Promise<void> {
      const ended =
        id !== undefined &&
        (await audited(
          sql,
          personActor(live.personId, visitor),
          (tx) => endSessionOf(tx, live.personId, id),
          (done) => (done ? { action: "session.ended", target: { kind: "session", id } } : undefined),
        ));
      if (!ended) throw new Problem("not_found", "You have no session with this id. It may have ended already.");
    },

    /** Returns how many sessions ended. */
    async endOthers(live: LiveSession, visitor: Visitor): Promise<number> {
      const target = { kind: "person", id: live.personId } as const;
      const ended = await audited(
        sql,
        personActor(live.personId, visitor),
        (tx) => endOtherSessions(tx, live.personId, live.id),
        (ids) => (ids.length > 0 ? { action: "session.ended", target, fields: ["others"] } : undefined),
      );
      return ended.length;
    },
  };
}
