/** A form of people's accounts: one call, its errors by field. Passwords never stay behind in a cache. */
import { useMutation } from "@tanstack/react-query";
import { auth } from "../api/auth.ts";
import { explain } from "../api/problem.ts";

export function useAuth<Answer>(path: string, onDone: (answer: Answer) => unknown) {
  const call = useMutation({
    gcTime: 0,
    mutationFn: (body: Record<string, unknown>) => auth<Answer>(path, body),
    onSuccess: onDone,
  });
  const problem = call.error ? explain(call.error) : undefined;
  const hasFields = Object.keys(problem?.fields ?? {}).length > 0;
  return {
    send: call.mutate,
    isPending: call.isPending,
    fields: problem?.fields ?? {},
    /** What is not the fault of one field. */
    error: hasFields ? undefined : (call.error ?? undefined),
  };
}
