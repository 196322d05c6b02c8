/** The part of the account page that shows how the person can sign in, and links or unlinks providers. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
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
          <Method name="Password">
            {methods.data.password
              ? "Set"
              : "Not set. To set one, sign out and request a link with “Forgot your password?”."}
          </Method>
        )}
        {linked.map((one) => (
          <LinkedProvider key={one.id} linked={one} />
        ))}
        {methods.data && others.map((provider) => <UnlinkedProvider key={provider.name} provider={provider} />)}
      </Stack>
    </Section>
  );
}

/** One way to sign in, what is known about it, and what the person can do with it. */
function Method({ name, children, action }: { name: string; children: ReactNode; action?: ReactNode }) {
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap">
      <div className="wrap">
        <Text fw={560}>{name}</Text>
        <Text size="sm" c="dimmed">
          {children}
        </Text>
      </div>
      {action}
    </Group>
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
      {label} linked. You can now sign in with it.
    </Alert>
  );
}

function LinkedProvider({ linked }: { linked: Linked }) {
  const [isOpen, setIsOpen] = useState(false);
  const { send, isPending, error } = useAuth<Methods>("oidc/unlink", (methods) => {
    queryClient.setQueryData<Methods>(methodsKey, methods);
  });
  return (
    <>
      <Method
        name={linked.label}
        action={
          linked.mayUnlink && (
            <Button variant="default" size="xs" flex="none" onClick={() => setIsOpen(true)}>
              Unlink {linked.label}
            </Button>
          )
        }
      >
        Linked on {linked.linkedAt.slice(0, 10)}.
        {linked.provider === null && " This server no longer uses this provider."}
        {!linked.mayUnlink && " You cannot unlink your only way to sign in."}
      </Method>
      <Confirm
        isOpen={isOpen}
        title={`Unlink ${linked.label}?`}
        confirmLabel="Unlink"
        isPending={isPending}
        error={error}
        onConfirm={() => send({ id: linked.id })}
        onClose={() => setIsOpen(false)}
      >
        <Text>You can no longer sign in with it. Your sessions stay open.</Text>
      </Confirm>
    </>
  );
}

function UnlinkedProvider({ provider: { name, label } }: { provider: { name: string; label: string } }) {
  const { open, isPending, error } = useProvider();
  return (
    <Stack gap="xs">
      {error && <ProblemAlert error={error} />}
      <Method
        name={label}
        action={
          <Button
            variant="default"
            size="xs"
            flex="none"
            loading={isPending}
            onClick={() => open({ provider: name, purpose: "link" })}
          >
            Link {label}
          </Button>
        }
      >
        Not linked
      </Method>
    </Stack>
  );
}
