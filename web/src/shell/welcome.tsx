/** What somebody sees who is not signed in: what this is, whether it runs, and the ways in. */
import { Alert, Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useSession } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { KeyForm } from "../people/key-form.tsx";
import { SignInForm } from "../people/sign-in-form.tsx";
import { ReadinessCard } from "./readiness-card.tsx";

export function Welcome() {
  return (
    <Stack gap="xl" maw={960}>
      <Text size="lg" maw={640}>
        Transactional email on your own machine: an API that takes your mail, a queue that keeps it safe, a mail server
        that delivers it, and events that tell you what became of it.
      </Text>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <WaysIn />
        <ReadinessCard />
      </SimpleGrid>
    </Stack>
  );
}

function WaysIn() {
  const { state, farewell } = useSession();
  const [byKey, setByKey] = useState(false);
  const isFirst = state.data?.signUp.first === true && state.data.signUp.by === "link";
  // A server whose people cannot be asked for still knows its keys.
  const onlyKey = state.data === undefined;
  const title = byKey || onlyKey ? "Sign in with an API key" : isFirst ? "Create the first account" : "Sign in";
  return (
    <AuthCard
      title={title}
      intro={title === "Create the first account" && "The first person who signs up owns the first workspace."}
    >
      {farewell && (
        <Alert color="yellow" role="status">
          {farewell}
        </Alert>
      )}
      {byKey || onlyKey ? (
        <KeyForm />
      ) : isFirst ? (
        <Alert color="blue">{state.data.signUp.message}</Alert>
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
