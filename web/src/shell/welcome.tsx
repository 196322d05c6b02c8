/** The page for callers without a session: the sign-in options. It says nothing about the state of the server to strangers. */
import { Alert, Button, Group } from "@mantine/core";
import { useState } from "react";
import { useSession } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { KeyForm } from "../people/key-form.tsx";
import { ProviderButtons, ProviderProblem } from "../people/providers.tsx";
import { SignInForm } from "../people/sign-in-form.tsx";

export function Welcome() {
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
          <Button variant="subtle" size="compact-sm" ml={-8} onClick={() => setByKey(!byKey)}>
            {byKey ? (isFirst ? "Create an account instead" : "Use an account instead") : "Use an API key instead"}
          </Button>
          {state.data.signUp.by === "mail" && !isFirst && (
            <AnchorLink to="/sign-up" size="sm">
              Create an account
            </AnchorLink>
          )}
        </Group>
      )}
    </AuthCard>
  );
}
