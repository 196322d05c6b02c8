/** Body hashes of messages with large parts, computed in a thread of their own: SHA-256 and base64 of 5 MiB take 20 ms. Called by streamed.ts. */
import { Worker } from "node:worker_threads";
import type { BodyChunk } from "./body-digest.ts";
import type { DigestAnswer, DigestCommand } from "./digest-worker.ts";
import { transferable } from "./job.ts";

export type DigestSession = {
  /** Waits while the thread is behind. The memory of the bytes may be transferred: do not use them afterwards. */
  add(chunk: BodyChunk): Promise<void>;
  /** The hash in base64. Ends the session. */
  hash(): Promise<string>;
  /** Ends the session without a hash. */
  drop(): void;
};

export type Digests = { open(): DigestSession; end(): Promise<void> };

/** Chunks of a session that the thread has not added yet. Two keep it busy. */
const mostOutstanding = 2;

type Session = {
  outstanding: number;
  ready: PromiseWithResolvers<void>;
  hash: PromiseWithResolvers<string>;
  /** The thread has exited, and answers nothing that is posted from now on. */
  error?: Error;
};

export function createDigests(): Digests {
  let running: { worker: Worker; sessions: Map<number, Session> } | undefined;
  let lastId = 0;

  function start() {
    const worker = new Worker(new URL("./digest-worker.ts", import.meta.url), { name: "digest" });
    const own = { worker, sessions: new Map<number, Session>() };
    worker.on("message", ({ id, hash }: DigestAnswer) => {
      const session = own.sessions.get(id);
      if (!session) return;
      if (hash !== undefined) return session.hash.resolve(hash);
      session.outstanding -= 1;
      session.ready.resolve();
    });
    // Without a listener an error would end the process.
    worker.on("error", () => {});
    worker.once("exit", (code) => {
      if (running === own) running = undefined;
      const error = new Error(`the digest thread exited with code ${code}`);
      for (const session of own.sessions.values()) {
        session.error = error;
        session.ready.reject(error);
        session.hash.reject(error);
      }
    });
    // The thread alone does not keep the process alive.
    worker.unref();
    running = own;
    return own;
  }

  return {
    open() {
      const { worker, sessions } = running ?? start();
      const id = ++lastId;
      const session: Session = { outstanding: 0, ready: Promise.withResolvers(), hash: Promise.withResolvers() };
      session.hash.promise.catch(() => {});
      session.ready.promise.catch(() => {});
      sessions.set(id, session);
      const post = (command: DigestCommand, memory: ArrayBuffer[] = []) => worker.postMessage(command, memory);
      const close = () => sessions.delete(id);
      return {
        async add(chunk) {
          session.outstanding += 1;
          const own = transferable(chunk.bytes);
          // A view on larger memory would be cloned with all of it.
          const bytes = own.length > 0 ? chunk.bytes : new Uint8Array(chunk.bytes);
          post({ id, chunk: { ...chunk, bytes } }, [bytes.buffer as ArrayBuffer]);
          while (session.outstanding >= mostOutstanding) {
            if (session.error) throw session.error;
            await session.ready.promise;
            session.ready = Promise.withResolvers();
            session.ready.promise.catch(() => {});
          }
        },
        async hash() {
          post({ id, end: true });
          return await session.hash.promise.finally(close);
        },
        drop() {
          if (close()) post({ id, drop: true });
        },
      };
    },
    async end() {
      await running?.worker.terminate();
    },
  };
}
