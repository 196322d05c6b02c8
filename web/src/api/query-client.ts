/** What is fetched, how long it counts as fresh, and when a failed fetch is tried again. */
import { Code, ConnectError } from "@connectrpc/connect";
import { QueryClient } from "@tanstack/react-query";

const passing = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted]);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && error instanceof ConnectError && passing.has(error.code),
    },
  },
});
