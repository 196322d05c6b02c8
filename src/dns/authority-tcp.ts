/** Serves one TCP client of the authoritative server, with pipelining, an idle timeout, a longest lifetime and a limit on waiting queries. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { createFrameReader, frame } from "./transport-tcp.ts";

/** Many times the size of a question with all its options. */
const maxQueryBytes = 4096;
const maxWaiting = 64;

export function serveConnection(
  socket: Socket,
  deps: {
    answer: (packet: Buffer) => Promise<Buffer | undefined>;
    idleTimeoutMs: number;
    /** The connection ends after this time: one question per idle timeout would hold it for ever. */
    lifetimeMs: number;
    onError: (error: unknown) => void;
    signal: AbortSignal;
  },
): { idleMs(): number | undefined } {
  const reader = createFrameReader(maxQueryBytes);
  const waiting: Buffer[] = [];
  let working = false;
  let ended = false;
  const end = (): void => {
    socket.destroy();
  };
  // RFC 7766 §6.2.3: the idle time starts at the last whole message, so a client that sends single bytes gains no time.
  let idle = setTimeout(end, deps.idleTimeoutMs);
  const lifetime = setTimeout(end, deps.lifetimeMs);
  let idleSinceMs = performance.now();
  const refresh = (): void => {
    clearTimeout(idle);
    idleSinceMs = performance.now();
    if (!socket.destroyed) idle = setTimeout(end, deps.idleTimeoutMs);
  };

  deps.signal.addEventListener("abort", end, { once: true });
  socket.on("error", () => {});
  socket.on("close", () => {
    clearTimeout(idle);
    clearTimeout(lifetime);
    deps.signal.removeEventListener("abort", end);
  });
  // RFC 7766 §6.2.4: a client that half-closes the connection still gets its answers.
  socket.on("end", () => {
    ended = true;
    if (!working) socket.end();
  });
  socket.on("data", (chunk) => {
    const messages = reader.push(chunk);
    if (messages === undefined) return end();
    if (messages.length === 0) return;
    refresh();
    waiting.push(...messages);
    if (waiting.length >= maxWaiting) socket.pause();
    if (!working) void answerWaiting();
  });
  if (deps.signal.aborted) end();
  return { idleMs: () => (working ? undefined : performance.now() - idleSinceMs) };

  async function answerWaiting(): Promise<void> {
    working = true;
    try {
      for (let packet = waiting.shift(); packet !== undefined && !socket.destroyed; packet = waiting.shift()) {
        const reply = await deps.answer(packet);
        // A packet that gets no answer over UDP closes the connection over TCP.
        if (reply === undefined) return end();
        if (socket.destroyed) return;
        if (!socket.write(frame(reply)))
          await once(socket, "drain", { signal: AbortSignal.timeout(deps.idleTimeoutMs) });
        refresh();
        if (waiting.length < maxWaiting / 2 && socket.isPaused()) socket.resume();
      }
    } catch (error) {
      if (!socket.destroyed && !(error instanceof Error && error.name === "AbortError")) deps.onError(error);
      end();
    } finally {
      working = false;
    }
    if (ended && !socket.destroyed) socket.end();
  }
}
