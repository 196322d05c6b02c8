/**
 * Three PostgreSQL servers of this machine, one primary and two standbys made with pg_basebackup, each behind a proxy for the program
 * and another one for replication. Tests stop, kill, separate and promote them. test/harness/replica.ts runs one server.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFolder } from "../../scripts/database-folder.ts";
import { createTemplate, type TestServer } from "./database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./database-proxy.ts";
import { createReplica, ownAccount, type Replica } from "./replica.ts";
import { until } from "./wait.ts";

export { withoutReplicas } from "./replica.ts";

export type Replicas = {
  /** For a testbed. Its URL names all servers, each through its proxy. */
  server: TestServer;
  nodes: readonly Node[];
  primary(): Node;
  /** Stops the primary in an orderly way, promotes a standby, and makes the old primary follow it. */
  switchOver(): Promise<void>;
  /** Kills all processes of the primary and promotes the standby that has received most. Returns the old primary. */
  killPrimary(): Promise<Node>;
  /** Cuts the standbys off from the program and from the primary, and promotes one of them. Returns the old primary. */
  split(): Promise<Node>;
  /** Ends the split: everything reaches everything again, and the old primary still runs. */
  heal(): void;
  /** Makes a former primary a standby of the current one. */
  rejoin(node: Node): Promise<void>;
  /** Waits until both standbys have everything that the primary has written so far. */
  caughtUp(): Promise<void>;
  /** When the newest promotion was complete. */
  promotedAtMs(): number;
  stop(): Promise<void>;
};

export type Node = {
  name: string;
  replica: Replica;
  /** Between the program and this server. */
  client: DatabaseProxy;
  /** Between this server and its standbys. */
  peer: DatabaseProxy;
};

const neededBytes = 4 * 2 ** 30;

/** `synchronous`: a commit waits until one of the standbys has it. */
export async function startReplicas({ synchronous }: { synchronous: boolean }): Promise<Replicas> {
  const parent = await databaseFolder("/dev/shm", neededBytes);
  const directory = await mkdtemp(join(parent, "posthorn-replicas-"));
  const account = await ownAccount(directory);
  const settings: Record<string, string> = synchronous ? { synchronous_standby_names: "ANY 1 (*)" } : {};
  const nodes: Node[] = [];
  let promotedAtMs = 0;
  for (const name of ["a", "b", "c"]) {
    const replica = await createReplica({ name, directory: join(directory, name), account, settings });
    const client = await startDatabaseProxy(replica.url);
    nodes.push({ name, replica, client, peer: await startDatabaseProxy(replica.url) });
  }
  let primary = nodes[0]!;

  const others = () => nodes.filter((node) => node !== primary);

  async function follow(node: Node): Promise<void> {
    await node.replica.follow(primary.peer.url);
  }

  /** With a synchronous standby, only the one that has received most is sure to have all acknowledged commits. Without the end of the
   * reception, another one may get ahead of it meanwhile, and could not follow it. */
  async function promote(candidates: readonly Node[]): Promise<void> {
    primary.peer.cut("reset");
    for (const { name, replica } of candidates)
      await until(`standby ${name} to receive no more`, async () => !(await replica.isReceiving()));
    const received = await Promise.all(
      candidates.map(async (node) => ({ node, at: await node.replica.receivedBytes() })),
    );
    primary = received.sort((one, two) => (one.at < two.at ? 1 : -1))[0]!.node;
    await primary.replica.promote();
    promotedAtMs = performance.now();
    for (const node of candidates) if (node !== primary) await follow(node);
  }

  async function rejoin(node: Node): Promise<void> {
    await node.replica.kill();
    // Until its first checkpoint, the primary looks to pg_rewind as if it were still on its old timeline.
    await primary.replica.query("checkpoint");
    await node.replica.rewind(primary.peer.url).catch(() => node.replica.copy(primary.peer.url));
    await follow(node);
    await node.replica.start();
    await caughtUp();
  }

  async function caughtUp(): Promise<void> {
    const position = await primary.replica.writtenTo();
    await until(
      "two standbys to follow the primary",
      async () => (await primary.replica.standbys(position)) === 2,
    ).catch((error) => {
      const outputs = nodes.map(
        ({ name, replica }) => `${name}${name === primary.name ? " (primary)" : ""}: ${replica.output()}`,
      );
      throw new Error(`${error.message}\n${outputs.join("\n")}`);
    });
  }

  await primary.replica.create();
  await primary.replica.start();
  for (const node of others()) {
    await node.replica.copy(primary.peer.url);
    await follow(node);
    await node.replica.start();
  }
  await caughtUp();
  const [first] = nodes;
  const hosts = nodes.map(({ client }) => new URL(client.url).host).join(",");
  const url = first!.client.url.replace(/@[^/]+\//, `@${hosts}/`);
  await createTemplate(url);

  return {
    server: { url, dataDir: directory, pid: () => undefined, leftovers: async () => [], stop: async () => {} },
    nodes,
    primary: () => primary,
    promotedAtMs: () => promotedAtMs,
    rejoin,
    caughtUp,
    async switchOver() {
      const old = primary;
      await old.replica.stop();
      await promote(others());
      await follow(old);
      await old.replica.start();
      await caughtUp();
    },
    async killPrimary() {
      const old = primary;
      await old.replica.kill();
      await promote(others());
      return old;
    },
    async split() {
      const old = primary;
      old.peer.freeze();
      for (const { client } of others()) client.freeze();
      await promote(others());
      return old;
    },
    heal() {
      for (const { client, peer } of nodes) for (const proxy of [client, peer]) proxy.thaw();
    },
    async stop() {
      for (const { client, peer, replica } of nodes) {
        await replica.kill();
        await client.close();
        await peer.close();
      }
      await rm(directory, { recursive: true, force: true });
      if (parent !== tmpdir()) await rm(parent, { recursive: true, force: true });
    },
  };
}
