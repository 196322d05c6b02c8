/** The page for callers without a session: a short description, the state of the instance, and the sign-in options. */
import { Alert, Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useSession } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { KeyForm } from "../people/key-form.tsx";
import { ProviderButtons, ProviderProblem } from "../people/providers.tsx";
import { SignInForm } from "../people/sign-in-form.tsx";
import { ReadinessCard } from "./readiness-card.tsx";

export function Welcome() {
  return (
    <Stack gap="xl" maw={960}>
      <Text size="lg" maw={640}>
        Self-hosted transactional email: an API that accepts your mail, a queue that stores it safely, a mail server
        that delivers it, and events that report what happened to it.
      </Text>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <SignInOptions />
        <ReadinessCard />
      </SimpleGrid>
    </Stack>
  );
}

function SignInOptions() {
  const { state, endReason } = useSession();
  const [byKey, setByKey] = useState(false);
  const isFirst = state.data?.signUp.first === true && state.data.signUp.by === "link";
  // If the /auth endpoints do not respond, signing in with a key still works.
  const onlyKey = state.data === undefined;
  const title = byKey || onlyKey ? "Sign in with an API key" : isFirst ? "Create the first account" : "Sign in";
  return (
    <AuthCard
      title={title}
      intro={
        title === "Create the first account" &&
        "The first person who signs up becomes the owner of the first workspace."
      }
    >
      {endReason && (
        <Alert color="yellow" role="status">
          {endReason}
        </Alert>
      )}
      <ProviderProblem />
      {byKey || onlyKey ? (
        <KeyForm />
      ) : isFirst ? (
        <>
          <Alert color="blue">{state.data.signUp.message}</Alert>
          <ProviderButtons />
        </>
      ) : (
        <SignInForm />
      )}
      {!onlyKey && (
        <Group justify="space-between" gap="xs">
          <Button variant="subtle" size="compact-sm" onClick={() => setByKey(!byKey)}>
            {byKey ? (isFirst ? "Create an account instead" : "Use an account instead") : "Use an API key instead"}
          </Button>
          {!isFirst && (
            <AnchorLink to="/sign-up" size="sm">
              Create an account
            </AnchorLink>
          )}
        </Group>
      )}
    </AuthCard>
  );
}
