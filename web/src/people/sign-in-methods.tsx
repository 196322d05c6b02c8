/** The part of the account page that shows how the person can sign in, and links or unlinks providers. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { auth } from "../api/auth.ts";
import { queryClient } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { useProvider, useProviderResult, useSignInOptions } from "./providers.tsx";
import { useAuth } from "./sign-in-form.tsx";

type Linked = { id: string; provider: string | null; label: string; linkedAt: string; mayUnlink: boolean };
type Methods = { password: boolean; linked: Linked[] };

const methodsKey = ["auth", "methods"];

export function SignInMethods() {
  const { providers, byPassword } = useSignInOptions();
  const methods = useQuery({
    queryKey: methodsKey,
    queryFn: () => auth<Methods>("sign-in-methods", {}),
    gcTime: 0,
    retry: false,
  });
  // Without providers the form for the password says all.
  if (providers.length === 0 && !methods.data?.linked.length) return null;
  const linked = methods.data?.linked ?? [];
  const others = providers.filter(({ name }) => !linked.some(({ provider }) => provider === name));
  return (
    <Section title="Sign-in methods">
      <Stack>
        <Result />
        {methods.isPending && <Loading what="your sign-in methods" rows={2} />}
        {methods.error && <ProblemAlert error={methods.error} onRetry={() => void methods.refetch()} />}
        {methods.data && byPassword && (
          <Text size="sm">
            {methods.data.password
              ? "Password: you have one."
              : "Password: you have none. To get one, sign out and request a link with “Forgot your password?”."}
          </Text>
        )}
        {linked.map((one) => (
          <LinkedProvider key={one.id} linked={one} />
        ))}
        {methods.data && others.map((provider) => <UnlinkedProvider key={provider.name} provider={provider} />)}
      </Stack>
    </Section>
  );
}

/** What happened at the provider. */
function Result() {
  const { sentence, linked } = useProviderResult();
  const { providers } = useSignInOptions();
  const label = providers.find(({ name }) => name === linked)?.label;
  if (sentence)
    return (
      <Alert color="red" role="alert" className="wrap">
        {sentence}
      </Alert>
    );
  if (!label) return null;
  return (
    <Alert color="green" role="alert" className="wrap">
      {label} linked. You can sign in with it from now on.
    </Alert>
  );
}

function LinkedProvider({ linked }: { linked: Linked }) {
  const [isOpen, setIsOpen] = useState(false);
  const { send, isPending, error } = useAuth<Methods>("oidc/unlink", (methods) => {
    queryClient.setQueryData<Methods>(methodsKey, methods);
  });
  return (
    <Group justify="space-between" gap="xs">
      <Text size="sm" className="wrap">
        {linked.label}: linked on {linked.linkedAt.slice(0, 10)}.
        {linked.provider === null && " This provider is no longer set up on this server."}
        {!linked.mayUnlink && " It is the only way you can sign in."}
      </Text>
      {linked.mayUnlink && (
        <Button variant="default" size="compact-sm" onClick={() => setIsOpen(true)}>
          Unlink {linked.label}
        </Button>
      )}
      <Confirm
        isOpen={isOpen}
        title={`Unlink ${linked.label}?`}
        confirmLabel="Unlink"
        isPending={isPending}
        error={error}
        onConfirm={() => send({ id: linked.id })}
        onClose={() => setIsOpen(false)}
      >
        <Text size="sm">You can no longer sign in with it. Your sessions stay open.</Text>
      </Confirm>
    </Group>
  );
}

function UnlinkedProvider({ provider: { name, label } }: { provider: { name: string; label: string } }) {
  const { open, isPending, error } = useProvider();
  return (
    <Stack gap="xs">
      {error && <ProblemAlert error={error} />}
      <Group justify="space-between" gap="xs">
        <Text size="sm" className="wrap">
          {label}: not linked.
        </Text>
        <Button
          variant="default"
          size="compact-sm"
          loading={isPending}
          onClick={() => open({ provider: name, purpose: "link" })}
        >
          Link {label}
        </Button>
      </Group>
    </Stack>
  );
}
