/** Single sign-on: the buttons that lead to a provider, and the sentence that explains why a sign-in there was refused. */
import { Alert, Button, Divider, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { type OidcReason, oidcSentences } from "../../../src/people/rules/oidc-refusal.ts";
import { auth, useAuthState } from "../api/auth.ts";
import { ProblemAlert } from "../parts/states.tsx";

export function useSignInOptions() {
  const { data } = useAuthState();
  return { providers: data?.providers ?? [], byPassword: data?.passwordSignIn !== false };
}

/** Asks the server for the provider's page and opens it. */
export function useProvider() {
  const start = useMutation({
    // The token of an invitation must not stay in the mutation cache.
    gcTime: 0,
    mutationFn: (body: Record<string, string>) => auth<{ url: string }>("oidc/start", body),
    onSuccess: ({ url }) => location.assign(url),
  });
  return { open: start.mutate, isPending: start.isPending, error: start.error };
}

/** `invitation` is the token of the invitation that the sign-in accepts. */
export function ProviderButtons({ invitation, hasDivider = true }: { invitation?: string; hasDivider?: boolean }) {
  const { providers, byPassword } = useSignInOptions();
  const { open, isPending, error } = useProvider();
  const [chosen, setChosen] = useState<string>();
  if (providers.length === 0) return null;
  return (
    <Stack gap="sm">
      {hasDivider && byPassword && <Divider label="or" />}
      {error && <ProblemAlert error={error} />}
      {providers.map(({ name, label }) => (
        <Button
          key={name}
          variant="default"
          loading={isPending && chosen === name}
          onClick={() => {
            setChosen(name);
            open({
              provider: name,
              ...(invitation ? { invitation } : { return: location.pathname + location.search }),
            });
          }}
        >
          Continue with {label}
        </Button>
      ))}
    </Stack>
  );
}

/** What the server added to the address of this page after a visit to a provider. It is removed, so that a reload does not repeat it. */
export function useProviderResult() {
  const [result] = useState(() => {
    const parameters = new URLSearchParams(location.search);
    const problem = parameters.get("problem") ?? "";
    const isKnown = Object.hasOwn(oidcSentences, problem);
    return { sentence: isKnown ? oidcSentences[problem as OidcReason] : undefined, linked: parameters.get("linked") };
  });
  useEffect(() => {
    if (result.sentence || result.linked) history.replaceState(history.state, "", location.pathname);
  }, [result]);
  return result;
}

export function ProviderProblem() {
  const { sentence } = useProviderResult();
  if (!sentence) return null;
  return (
    <Alert color="red" role="alert" className="wrap">
      {sentence}
    </Alert>
  );
}
