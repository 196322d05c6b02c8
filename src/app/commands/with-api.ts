/** Gives a command the API of a workspace: on the local store, or at another instance. Every command that reads or changes what a workspace
 * has calls the API through this file. */
import { Problem } from "../../ops/problem.ts";
import { type Option, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { type Api, createApi } from "./api-client.ts";
import type { Local } from "./local-api.ts";
import { findTarget, nameOf, type RemoteTarget, type Target, targetOptions } from "./target.ts";
import { workspaceOption } from "./workspace-option.ts";

export const apiOptions = { workspace: workspaceOption, ...targetOptions } satisfies Record<string, Option>;

export type CommandApi = Api & {
  /** The other instance; undefined on the local store. */
  remote?: RemoteTarget;
  /** Set on the local store. */
  local?: Local;
  /** Whether a running program delivers queued mail. */
  delivers(): Promise<boolean>;
};

export type ApiInput = {
  options: Record<string, string | boolean | undefined>;
  config: () => Config;
  stop: AbortSignal;
};

export async function withApi<T>(input: ApiInput, work: (api: CommandApi) => Promise<T>): Promise<T> {
  return await withTarget(input, await targetOf(input), work);
}

/** The target of a command, with the mistakes in it. A command that asks before it acts needs it first. */
export async function targetOf({ options }: Pick<ApiInput, "options">): Promise<Target> {
  const target = await findTarget(options, process.env);
  if (target && options.workspace !== undefined)
    throw new UsageError(
      `--workspace works only on the local data directory. At ${nameOf(target)}, the key selects the workspace. For the local one: --profile local`,
    );
  return target;
}

export async function withTarget<T>(
  { options, config, stop }: ApiInput,
  target: Target,
  work: (api: CommandApi) => Promise<T>,
): Promise<T> {
  if (!target) {
    // The handlers of the API take a while to load, and a command for another instance does not need them.
    const { withLocalApi } = await import("./local-api.ts");
    return await withLocalApi({ config: config(), workspace: options.workspace, stop }, work);
  }
  const api = { ...createApi(target), remote: target, delivers: async () => true };
  return await work(api).catch((error) => {
    throw explained(error, target);
  });
}

/** What the operator can do about a refused key, or about an instance of another version. */
function explained(error: unknown, target: RemoteTarget): unknown {
  if (error instanceof TypeError)
    return new Problem(
      "unknown",
      `${nameOf(target)} answers with something that this version of Posthorn does not understand. Compare the versions.`,
      { cause: error },
    );
  if (!(error instanceof Problem) || error.code !== "unauthenticated") return error;
  const fix =
    target.profile === undefined
      ? "Set POSTHORN_KEY to a valid key of this instance."
      : `Replace the key of the profile: posthorn profiles add ${target.profile} ${target.url} --replace`;
  return new Problem("unauthenticated", `${error.message} (${nameOf(target)}) ${fix}`, { cause: error });
}
