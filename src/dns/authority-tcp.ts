/** One client of the authoritative server over TCP: framed, pipelined, bounded in time and in what it may leave waiting. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { createFrameReader, frame } from "./transport-tcp.ts";

// A question with all its options fits many times over.
const maxQueryBytes = 4096;
const maxWaiting = 64;

export function serveConnection(
  socket: Socket,
  deps: {
    answer: (packet: Buffer) => Promise<Buffer | undefined>;
    idleTimeoutMs: number;
    onError: (error: unknown) => void;
    signal: AbortSignal;
  },
): void {
  const reader = createFrameReader(maxQueryBytes);
  const waiting: Buffer[] = [];
  let working = false;
  let ended = false;
  const end = (): void => {
    socket.destroy();
  };
  // RFC 7766 §6.2.3: idle is counted from the last whole message, so that dripping bytes buys no time.
  let idle = setTimeout(end, deps.idleTimeoutMs);
  const refresh = (): void => {
    clearTimeout(idle);
    if (!socket.destroyed) idle = setTimeout(end, deps.idleTimeoutMs);
  };

  deps.signal.addEventListener("abort", end, { once: true });
  socket.on("error", () => {});
  socket.on("close", () => {
    clearTimeout(idle);
    deps.signal.removeEventListener("abort", end);
  });
  // RFC 7766 §6.2.4: a client that has said all it wants still gets its answers.
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
    if (!working) void work();
  });
  if (deps.signal.aborted) end();

  async function work(): Promise<void> {
    working = true;
    try {
      for (let packet = waiting.shift(); packet !== undefined && !socket.destroyed; packet = waiting.shift()) {
        const reply = await deps.answer(packet);
        // What deserves no answer over UDP ends the talk here.
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
