/** Whether this instance can serve, asked again every 10 seconds while somebody looks. */
import { useQuery } from "@tanstack/react-query";

export interface Readiness {
  ready: boolean;
}

export function useReadiness() {
  return useQuery({
    queryKey: ["readyz"],
    queryFn: async ({ signal }): Promise<Readiness> => {
      const response = await fetch("/readyz", { signal });
      // 503 is an answer too: not ready.
      if (response.status !== 200 && response.status !== 503) throw new Error(`HTTP ${response.status}`);
      return (await response.json()) as Readiness;
    },
    refetchInterval: 10_000,
  });
}
