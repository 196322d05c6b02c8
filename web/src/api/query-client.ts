/** The cache of API responses: when responses become stale, which errors are retried, and how changes invalidate it. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { QueryClient } from "@tanstack/react-query";

const transientCodes = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted]);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && error instanceof ConnectError && transientCodes.has(error.code),
    },
  },
});

/** Refetches the data of these methods wherever the page shows it. Called after a change. */
export async function invalidate(...methods: DescMethodUnary[]): Promise<void> {
  await Promise.all(
    methods.map((schema) =>
      queryClient.invalidateQueries({ queryKey: createConnectQueryKey({ schema, cardinality: undefined }) }),
    ),
  );
}

/** Drops all loaded pages of a list and loads its first page again. */
export async function resetList(schema: DescMethodUnary): Promise<void> {
  await queryClient.resetQueries({ queryKey: createConnectQueryKey({ schema, cardinality: "infinite" }) });
}
