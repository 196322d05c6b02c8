/** The API on the local store: runs the API's own handlers on it without a key, whether the program runs or not. The operator's commands are
 * bound by no quota. local-services.ts creates the services. Used by with-api.ts. */
import { create, fromJson, type JsonObject, type JsonValue, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { type Call, cancellationOf, type ServiceEntry } from "../../http/call.ts";
import { commandKeyId } from "../../http/caller.ts";
import { Problem } from "../../ops/problem.ts";
import { aliveRoles } from "../../postgres/workers.ts";
import type { Config } from "../config.ts";
import type { Api } from "./api-client.ts";
import { createLocalServices, type LocalStore } from "./local-services.ts";
import { withStore } from "./with-store.ts";
import { workspaceFrom } from "./workspace-option.ts";

/** What only commands on the local store have. */
export type Local = Pick<LocalStore, "sql" | "nowMs"> & { config: Config; workspaceId: string };

export async function withLocalApi<T>(
  { config, workspace, stop }: { config: Config; workspace: string | boolean | undefined; stop: AbortSignal },
  work: (api: Api & { local: Local; delivers(): Promise<boolean> }) => Promise<T>,
): Promise<T> {
  const serve = async (store: LocalStore) => {
    const { sql, nowMs } = store;
    const workspaceId = await workspaceFrom(sql, workspace, nowMs());
    const services = createLocalServices({ config, store });
    const ended = new AbortController();
    const delivers = async () => (await aliveRoles(sql)).has("delivery");
    const callOf = (signal: AbortSignal, extra: Partial<Call> = {}): Call => ({
      caller: { workspaceId, keyId: commandKeyId, permission: "full", test: false },
      requestId: "",
      cancellation: cancellationOf(signal),
      timeLeftMs: () => undefined,
      header: () => undefined,
      beginWrite() {},
      ...extra,
    });
    try {
      return await work({
        local: { sql, nowMs, config, workspaceId },
        delivers,
        async call<T>(name: string, request: JsonObject, headers: Record<string, string> = {}) {
          const { method, handler } = find(await services.get(name.split("/")[0]!), name);
          // Without a delivering program there is no first attempt to wait for.
          const timeLeftMs = name === "EmailService/SendEmail" && !(await delivers()) ? () => 0 : () => undefined;
          const call = callOf(ended.signal, { header: (header) => headers[header], timeLeftMs });
          const answer = (await handler(read(method.input, request), call)) as MessageInitShape<typeof method.output>;
          return toJson(method.output, create(method.output, answer), jsonOptions) as T;
        },
        async *stream<T>(name: string, request: JsonObject, signal = ended.signal) {
          const { method, handler } = find(await services.get(name.split("/")[0]!), name);
          const answers = handler(read(method.input, request), callOf(signal)) as AsyncIterable<
            MessageInitShape<typeof method.output>
          >;
          for await (const answer of answers)
            yield toJson(method.output, create(method.output, answer), jsonOptions) as T;
        },
      });
    } finally {
      ended.abort();
      await services.stop();
    }
  };
  return await withStore(config, serve, { stop });
}

const jsonOptions = { alwaysEmitImplicit: true } as const;

function find({ service, handlers }: ServiceEntry, name: string) {
  const method = service.methods.find((one) => one.name === name.split("/")[1]);
  const handler = method && (handlers[method.localName] as ((request: unknown, call: Call) => unknown) | undefined);
  if (!method || !handler) throw new Problem("unimplemented", `This version of Posthorn has no method ${name}.`);
  return { method, handler };
}

/** A value that the message cannot hold, such as a malformed time, is the caller's mistake. */
function read(input: Parameters<typeof fromJson>[0], request: JsonValue) {
  try {
    return fromJson(input, request, { ignoreUnknownFields: true });
  } catch (error) {
    throw new Problem("invalid_argument", (error as Error).message);
  }
}
