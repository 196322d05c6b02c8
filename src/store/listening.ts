/** One connection that listens on every channel of a process, opened anew when it is lost. It also carries pings: no other statement
 * keeps it busy. Made by sql.ts. */
import type { Client } from "pg";

/** Gets what was said along; nothing where something may have been missed. */
export type Heard = (words: string) => void;

export type Listening = {
  listen(channel: string, heard: Heard): Promise<{ unlisten(): Promise<void> }>;
  /** Rejects when the server does not answer in time. A connection that stayed silent is closed and opened anew. */
  ping(withinMs: number): Promise<void>;
  close(): Promise<void>;
};

const againAfterMs = 250;

export function createListening(connect: () => Promise<Client>): Listening {
  const channels = new Map<string, Set<Heard>>();
  let current: Promise<Client> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function client(): Promise<Client> {
    current ??= open().catch((error) => {
      current = undefined;
      throw error;
    });
    return current;
  }

  async function open(): Promise<Client> {
    const fresh = await connect();
    fresh.on("error", () => {});
    fresh.on("end", lost);
    fresh.on("notification", ({ channel, payload }) => tell(channel, payload ?? ""));
    try {
      for (const channel of channels.keys()) await fresh.query(`listen ${channel}`);
    } catch (error) {
      await fresh.end().catch(() => {});
      throw error;
    }
    return fresh;
  }

  function lost(): void {
    current = undefined;
    clearTimeout(timer);
    if (!closed && channels.size > 0) timer = setTimeout(() => client().then(missed, lost), againAfterMs);
  }

  /** What was said while nobody listened is not said again: everybody looks once. */
  function missed(): void {
    for (const channel of channels.keys()) tell(channel, "");
  }

  function tell(channel: string, words: string): void {
    for (const heard of channels.get(channel) ?? []) heard(words);
  }

  function forget(channel: string, heard: Heard): void {
    const all = channels.get(channel);
    all?.delete(heard);
    if (all?.size === 0) channels.delete(channel);
  }

  async function end(): Promise<void> {
    clearTimeout(timer);
    const open = await current?.catch(() => undefined);
    current = undefined;
    await open?.end().catch(() => {});
  }

  return {
    async listen(channel, heard) {
      channels.set(channel, (channels.get(channel) ?? new Set()).add(heard));
      const wasOpen = current !== undefined;
      try {
        const session = await client();
        // A connection that has just been made listens to all there is.
        if (wasOpen) await session.query(`listen ${channel}`);
      } catch (error) {
        forget(channel, heard);
        throw error;
      }
      heard("");
      return {
        async unlisten() {
          forget(channel, heard);
          if (channels.size === 0) return await end();
          if (!channels.has(channel)) await (await current)?.query(`unlisten ${channel}`);
        },
      };
    },
    async ping(withinMs) {
      if (closed) throw new Error("the connection to the database is closed");
      const session = await client();
      // node-postgres reads a time limit of one statement, but its types do not name it.
      const query = { text: "select 1", query_timeout: withinMs };
      await session.query(query).catch((error) => {
        void session.end().catch(() => {});
        throw error;
      });
    },
    async close() {
      closed = true;
      await end();
    },
  };
}
