/** The Client for the local store: runs the API's own handlers on it without a key, whether the program runs or not.
 * Used by posthorn send and events. */
import { create, fromJson, toJson } from "@bufbuild/protobuf";
import { createAccept } from "../../emails/accept.ts";
import { createEmailService, createWaitForFirstAttempt } from "../../emails/service.ts";
import { createCatchUp } from "../../events/catch-up.ts";
import { createFollower, type Follower } from "../../events/follower.ts";
import {
  type EmailService,
  SendEmailRequestSchema,
  SendEmailResponseSchema,
  StreamEventsRequestSchema,
  StreamEventsResponseSchema,
} from "../../gen/v1/email_pb.ts";
import { type Call, cancellationOf, type Handlers } from "../../http/call.ts";
import { commandKeyId } from "../../http/caller.ts";
import { compose } from "../../mail/compose.ts";
import { textsOf } from "../../mail/message/digest.ts";
import { readMessage } from "../../mail/message/read.ts";
import type { Clock } from "../../ops/clock.ts";
import { silentLog } from "../../ops/log.ts";
import { createWake } from "../../postgres/wake.ts";
import { aliveRoles } from "../../postgres/workers.ts";
import { createLoopShare } from "../../shares/loop-share.ts";
import { UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import type { Store } from "../open-store.ts";
import { type Client, createApiClient, type SendAnswer, type StreamAnswer } from "./api-client.ts";
import { workspaceFrom } from "./keys.ts";
import { withStore } from "./with-store.ts";

export async function withStoreClient<T>(
  { config, workspace, stop }: { config: Config; workspace: string | boolean | undefined; stop: AbortSignal },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const serve = async ({ sql, clock }: Store & { clock: Clock }) => {
    const log = silentLog();
    const workspaceId = await workspaceFrom(sql, workspace, clock.nowMs());
    const wake = createWake({ sql, log });
    const catchUp = createCatchUp({ sql, loop: createLoopShare(), heap: { note() {} } });
    const follower = createFollower({ sql, log, wake, catchUp });
    const keyless: Follower = { ...follower, subscribe: (workspaceId) => follower.subscribe(workspaceId, undefined) };
    const { limits, quotas } = config;
    const accept = createAccept({ sql, clock, wake, limits, quotas, retryForMs: config.retry.forMs });
    const stopping = new AbortController();
    const service = createEmailService({
      sql,
      clock,
      wake,
      accept,
      compose: async (email) => ({ raw: compose(email) }),
      readTexts: async (_, raw) => textsOf(readMessage(raw)),
      follower: keyless,
      catchUp,
      waitForFirstAttempt: createWaitForFirstAttempt({ sql, wake }),
      stopping: stopping.signal,
      heartbeatMs: config.stream.heartbeatMs,
    });
    const { sendEmail, streamEvents } = service.handlers as Required<Handlers<typeof EmailService>>;
    const delivers = async () => (await aliveRoles(sql)).has("delivery");
    const call = (signal: AbortSignal, extra: Partial<Call> = {}): Call => ({
      caller: { workspaceId, keyId: commandKeyId, permission: "full", test: false },
      requestId: "",
      cancellation: cancellationOf(signal),
      timeLeftMs: () => undefined,
      header: () => undefined,
      beginWrite() {},
      ...extra,
    });
    await wake.start();
    follower.start();
    try {
      return await work({
        async send(request, { idempotencyKey } = {}) {
          const header = (name: string) => (name === "idempotency-key" ? idempotencyKey : undefined);
          // Without a delivering program there is no first attempt to wait for.
          const timeLeftMs = (await delivers()) ? () => undefined : () => 0;
          const message = fromJson(SendEmailRequestSchema, request);
          const answer = await sendEmail(message, call(stopping.signal, { header, timeLeftMs }));
          return toJson(SendEmailResponseSchema, create(SendEmailResponseSchema, answer), jsonOptions) as SendAnswer;
        },
        async *events(request, signal) {
          const message = fromJson(StreamEventsRequestSchema, request);
          for await (const answer of streamEvents(message, call(signal)))
            yield toJson(
              StreamEventsResponseSchema,
              create(StreamEventsResponseSchema, answer),
              jsonOptions,
            ) as StreamAnswer;
        },
        delivers,
      });
    } finally {
      stopping.abort();
      follower.stop();
      await accept.idle();
      await wake.stop();
    }
  };
  return await withStore(config, serve, { stop });
}

const jsonOptions = { alwaysEmitImplicit: true } as const;

/** Gives a command the Client of a workspace: on the local store, or with --url on another Posthorn's API. */
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
