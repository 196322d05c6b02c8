/**
 * The connection for LISTEN: one per process for all channels, reopened when it is lost. It also carries pings, because no other
 * statement keeps it busy. Created by sql.ts.
 */
import type { Client } from "pg";

/** Gets the payload of a notification; an empty payload when notifications may have been missed. */
export type NotificationListener = (payload: string) => void;

export type Listening = {
  listen(channel: string, listener: NotificationListener): Promise<{ unlisten(): Promise<void> }>;
  /** Rejects when the server does not answer in time; the connection is then closed and reopened. */
  ping(withinMs: number): Promise<void>;
  close(): Promise<void>;
};

const reconnectAfterMs = 250;

export function createListening(connect: () => Promise<Client>): Listening {
  const channels = new Map<string, Set<NotificationListener>>();
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
    const connection = await connect();
    connection.on("error", () => {});
    connection.on("end", reconnect);
    connection.on("notification", ({ channel, payload }) => dispatch(channel, payload ?? ""));
    try {
      for (const channel of channels.keys()) await connection.query(`listen ${channel}`);
    } catch (error) {
      await connection.end().catch(() => {});
      throw error;
    }
    return connection;
  }

  function reconnect(): void {
    current = undefined;
    clearTimeout(timer);
    if (!closed && channels.size > 0) timer = setTimeout(() => client().then(resync, reconnect), reconnectAfterMs);
  }

  /** Notifications sent while the connection was down are lost, so every listener checks once. */
  function resync(): void {
    for (const channel of channels.keys()) dispatch(channel, "");
  }

  function dispatch(channel: string, payload: string): void {
    for (const listener of channels.get(channel) ?? []) listener(payload);
  }

  function removeListener(channel: string, listener: NotificationListener): void {
    const listeners = channels.get(channel);
    listeners?.delete(listener);
    if (listeners?.size === 0) channels.delete(channel);
  }

  async function end(): Promise<void> {
    clearTimeout(timer);
    const open = await current?.catch(() => undefined);
    current = undefined;
    await open?.end().catch(() => {});
  }

  return {
    async listen(channel, listener) {
      channels.set(channel, (channels.get(channel) ?? new Set()).add(listener));
      const wasOpen = current !== undefined;
      try {
        const session = await client();
        // A new connection already listens on every channel.
        if (wasOpen) await session.query(`listen ${channel}`);
      } catch (error) {
        removeListener(channel, listener);
        throw error;
      }
      listener("");
      return {
        async unlisten() {
          removeListener(channel, listener);
          if (channels.size === 0) return await end();
          if (!channels.has(channel)) await (await current)?.query(`unlisten ${channel}`);
        },
      };
    },
    async ping(withinMs) {
      if (closed) throw new Error("the connection to the database is closed");
      const session = await client();
      // node-postgres supports query_timeout per statement, but its types do not have it.
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
