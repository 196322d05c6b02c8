/** Gives a command a Client for a workspace's emails and events: on the local store, or with --url on another Posthorn's API. */
import { UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { type Client, createApiClient } from "./api-client.ts";
import { withStoreClient } from "./store-client.ts";

export async function withClient<T>(
  input: { options: Record<string, string | boolean | undefined>; config: () => Config; stop: AbortSignal },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const url = String(input.options.url ?? process.env.POSTHORN_URL ?? "").trim();
  if (url === "")
    return await withStoreClient(
      { config: input.config(), workspace: input.options.workspace, stop: input.stop },
      work,
    );
  if (input.options.workspace !== undefined)
    throw new UsageError(
      "--workspace works only on the local data directory. With a URL, the key in POSTHORN_KEY selects the workspace.",
    );
  return await work(createApiClient({ url, key: (process.env.POSTHORN_KEY ?? "").trim() }));
}
