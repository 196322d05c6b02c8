/** The way through the store: the API's own handlers on this data directory, whether the program runs or not, with no key needed. */
import { create, fromJson, toJson } from "@bufbuild/protobuf";
import { createAccept } from "../../accept/accept.ts";
import type { Call } from "../../api/call.ts";
import { createEmailService } from "../../api/emails.ts";
import { createFirstAttempt } from "../../api/first-attempt.ts";
import { createFollower, type Follower } from "../../api/follower.ts";
import { lifeOf } from "../../api/life.ts";
import type { Handlers } from "../../api/service.ts";
import {
  type EmailService,
  SendEmailRequestSchema,
  SendEmailResponseSchema,
  StreamEventsRequestSchema,
  StreamEventsResponseSchema,
} from "../../gen/v1/email_pb.ts";
import { silentLog } from "../../ops/log.ts";
import { createWake } from "../../store/wake.ts";
import { aliveRoles } from "../../store/workers.ts";
import type { Config } from "../config.ts";
import type { Store } from "../open-store.ts";
import { workspaceFrom } from "./keys.ts";
import type { Reach, SendAnswer, StreamAnswer } from "./reach.ts";
import { withStore } from "./with-store.ts";

/** Whoever may open the store needs no key: this stands where its id would. */
const noKey = "00000000-0000-0000-0000-000000000000";

export async function reachStore<T>(
  { config, workspace, stop }: { config: Config; workspace: string | boolean | undefined; stop: AbortSignal },
  work: (reach: Reach) => Promise<T>,
): Promise<T> {
  const serve = async ({ sql, nowMs }: Store & { nowMs(): number }) => {
    const log = silentLog();
    const clock = { nowMs, set() {} };
    const workspaceId = await workspaceFrom(sql, workspace, nowMs());
    const wake = createWake({ sql, log });
    const follower = createFollower({ sql, log, wake });
    const keyless: Follower = { ...follower, subscribe: (workspaceId) => follower.subscribe(workspaceId, undefined) };
    const accept = createAccept({ sql, clock, wake, limits: config.limits, retryForMs: config.retry.forMs });
    const stopping = new AbortController();
    const service = createEmailService({
      ...{ sql, clock, wake, accept, follower: keyless, firstAttempt: createFirstAttempt({ sql, wake }) },
      ...{ stopping: stopping.signal, heartbeatMs: config.stream.heartbeatMs },
    });
    const { sendEmail, streamEvents } = service.handlers as Required<Handlers<typeof EmailService>>;
    const delivers = async () => (await aliveRoles(sql)).has("delivery");
    const call = (signal: AbortSignal, extra: Partial<Call> = {}): Call => ({
      caller: { workspaceId, keyId: noKey, permission: "full", domain: undefined, test: false },
      requestId: "",
      life: lifeOf(signal),
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
          // Nobody would make the first attempt: there is nothing to wait for.
          const timeLeftMs = (await delivers()) ? () => undefined : () => 0;
          const message = fromJson(SendEmailRequestSchema, request);
          const answer = await sendEmail(message, call(stopping.signal, { header, timeLeftMs }));
          return toJson(SendEmailResponseSchema, create(SendEmailResponseSchema, answer), written) as SendAnswer;
        },
        async *events(request, signal) {
          const message = fromJson(StreamEventsRequestSchema, request);
          for await (const answer of streamEvents(message, call(signal)))
            yield toJson(
              StreamEventsResponseSchema,
              create(StreamEventsResponseSchema, answer),
              written,
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

const written = { alwaysEmitImplicit: true } as const;
