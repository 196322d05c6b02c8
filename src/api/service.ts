/** What a service's handlers are, whoever calls them: the router behind HTTP, or a command on this machine. Loads nothing of Connect. */
import type { DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Call } from "./call.ts";

export type Handlers<S extends DescService> = {
  [K in keyof S["method"]]?: S["method"][K] extends { methodKind: "server_streaming" }
    ? (
        request: MessageShape<S["method"][K]["input"]>,
        call: Call,
      ) => AsyncIterable<MessageInitShape<S["method"][K]["output"]>>
    : (
        request: MessageShape<S["method"][K]["input"]>,
        call: Call,
      ) => Promise<MessageInitShape<S["method"][K]["output"]>>;
};

/** A service of the contract and the methods of it that are built; the others answer `unimplemented`. */
export type ServiceEntry = { service: DescService; handlers: Record<string, unknown> };

export function serve<S extends DescService>(service: S, handlers: Handlers<S>): ServiceEntry {
  return { service, handlers: handlers as Record<string, unknown> };
}
