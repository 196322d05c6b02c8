/** The calls in progress, shared by workspace: from the gate until the response is closed. A workspace with a thousand unfinished requests
 * uses up its own share, and other workspaces keep theirs. Called by unary-json.ts and router.ts; streams have a share in
 * events/follower.ts. */
import { Problem } from "../ops/problem.ts";
import { createBudget } from "../shares/budget.ts";
import { onlyProcess, partOf } from "../shares/process-part.ts";
import { type Caller, noWorkspace } from "./caller.ts";

export type CallShares = {
  /** Counts a call until the returned function is called. Throws `resource_exhausted` when the workspace has too many. */
  begin(caller: Caller): () => void;
  count(): number;
};

export type CallLimits = {
  total: number;
  /** A workspace may have this many times the number of calls that is free: half of all if it is the only one. */
  factor: number;
};

const defaultLimits: CallLimits = { total: 4_000, factor: 1 };
const retryAfterMs = 1_000;

export function createCallShares(limits: Partial<CallLimits> = {}, part = onlyProcess): CallShares {
  const { total, factor } = { ...defaultLimits, ...limits };
  const calls = createBudget({ total: partOf(total, part), factor });
  return {
    begin(caller) {
      const owner = ownerOf(caller);
      if (!calls.tryTake(owner, 1)) throw tooMany();
      let ended = false;
      return () => {
        if (!ended) calls.give(owner, 1);
        ended = true;
      };
    },
    count: calls.used,
  };
}

/** The owner of a call's resources: its workspace, because keys are free, or the person who has not named a workspace. */
export function ownerOf({ workspaceId, person, keyId }: Caller): string {
  if (person && (workspaceId === "" || workspaceId === noWorkspace)) return person.id;
  return workspaceId || keyId;
}

function tooMany(): Problem {
  return new Problem(
    "resource_exhausted",
    "This workspace has too many requests in progress. Nothing was changed. Wait for answers before you send more, and retry in a second.",
    { retryAfterMs },
  );
}
