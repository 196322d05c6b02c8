/** Connections to endpoints that are kept for the next request: few, not for long, and never more in all than a process can spare. */
import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";

/** Idle connections to one endpoint, and to all together. */
const idlePerEndpoint = 4;
const idleInAll = 256;
/** A connection is pinned to the address it was made to: it must not outlive a change of DNS by much. */
const idleMs = 5_000;

export type Agents = { http: http.Agent; https: https.Agent; destroy(): void };

export function createAgents(): Agents {
  const options = { keepAlive: true, maxFreeSockets: idlePerEndpoint, timeout: idleMs };
  const agents = { http: new http.Agent(options), https: new https.Agent({ ...options, rejectUnauthorized: true }) };
  const idle = () => countFree(agents.http) + countFree(agents.https);
  for (const agent of [agents.http, agents.https]) {
    const keep = agent.keepSocketAlive.bind(agent) as unknown as (socket: Duplex) => boolean;
    // Node's own limits are per endpoint, or count idle connections against those in use, so that one endpoint could block another.
    agent.keepSocketAlive = (socket) => idle() < idleInAll && keep(socket);
  }
  return {
    ...agents,
    destroy() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function countFree(agent: http.Agent): number {
  return Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
}
