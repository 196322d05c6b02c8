/** A form of people's accounts: one call, its errors by field. Passwords never stay behind in a cache. */
import { useMutation } from "@tanstack/react-query";
import { auth } from "../api/auth.ts";
import { refusals } from "../parts/form.tsx";

export function useAuth<Answer>(path: string, onDone: (answer: Answer) => unknown) {
  const call = useMutation({
    gcTime: 0,
    mutationFn: (body: Record<string, unknown>) => auth<Answer>(path, body),
    onSuccess: onDone,
  });
  return { send: call.mutate, isPending: call.isPending, ...refusals(call.error) };
}
