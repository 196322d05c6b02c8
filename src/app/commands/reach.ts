/** Ways from a command to the emails and events of a workspace: the store of this data directory, or a Posthorn elsewhere by its API. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Option, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { reachApi } from "./reach-api.ts";
import { reachStore } from "./reach-store.ts";

export type Reach = {
  /** SendEmail: request and answer as the API writes them. */
  send(request: JsonObject, options?: { idempotencyKey?: string }): Promise<SendAnswer>;
  /** StreamEvents, in the same form. */
  events(request: JsonObject, signal: AbortSignal): AsyncIterable<StreamAnswer>;
  /** A program that delivers what is queued. */
  delivers(): Promise<boolean>;
};

export type SendAnswer = { id: string; status: string; messageId: string; statusMessage: string };
export type WireEvent = JsonObject & { id: string; type: string; createdAt: string; emailId: string };
export type StreamAnswer = { cursor: string; event?: WireEvent };

export const urlOption: Option = {
  type: "string",
  help: "a Posthorn elsewhere, with its key in POSTHORN_KEY; left out: POSTHORN_URL, else the one of this data directory",
};

export async function withReach<T>(
  input: { options: Record<string, string | boolean | undefined>; config: () => Config; stop: AbortSignal },
  work: (reach: Reach) => Promise<T>,
): Promise<T> {
  const url = String(input.options.url ?? process.env.POSTHORN_URL ?? "").trim();
  if (url === "")
    return await reachStore({ config: input.config(), workspace: input.options.workspace, stop: input.stop }, work);
  if (input.options.workspace !== undefined)
    throw new UsageError("--workspace is for this data directory; elsewhere, the key in POSTHORN_KEY says which one.");
  return await work(reachApi({ url, key: (process.env.POSTHORN_KEY ?? "").trim() }));
}
