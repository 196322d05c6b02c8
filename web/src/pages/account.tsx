/** The account of whoever is signed in: who they are, and their password. */
import { Alert, Button, PasswordInput, Stack, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Session } from "../api/auth.ts";
import { useSession } from "../api/session.ts";
import { Fact, Facts } from "../parts/facts.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Section } from "../parts/section.tsx";
import { Empty } from "../parts/states.tsx";
import { NewPassword } from "../people/new-password.tsx";
import { useAuth } from "../people/use-auth.ts";

export function AccountPage() {
  const { caller } = useSession();
  if (caller?.kind !== "person")
    return (
      <Page title="Account">
        <Empty>You are signed in with an API key, which has no account. Sign out and sign in with your address.</Empty>
      </Page>
    );
  return (
    <Page title="Account">
      <Section title="You">
        <Facts>
          <Fact name="Name">{caller.person.name}</Fact>
          <Fact name="Email address">{caller.person.email}</Fact>
        </Facts>
      </Section>
      <ChangePassword />
    </Page>
  );
}

function ChangePassword() {
  const [currentPassword, setCurrent] = useState("");
  const [newPassword, setNew] = useState("");
  const [isDone, setIsDone] = useState(false);
  const { send, isPending, fields, error } = useAuth<Session>("change-password", () => {
    setCurrent("");
    setNew("");
    setIsDone(true);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setIsDone(false);
    send({ currentPassword, newPassword });
  };
  return (
    <Section title="Change your password">
      <form onSubmit={submit}>
        <Stack maw={420}>
          <Text size="sm" c="dimmed">
            You stay signed in here; everywhere else you are signed out.
          </Text>
          <PasswordInput
            label="Current password"
            value={currentPassword}
            onChange={(event) => setCurrent(event.currentTarget.value)}
            error={fields.currentPassword}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ "aria-label": "Show or hide the current password" }}
            required
            withAsterisk={false}
          />
          <NewPassword label="New password" value={newPassword} onChange={setNew} error={fields.newPassword} />
          {error && <ProblemAlert error={error} />}
          {isDone && (
            <Alert color="green" role="alert">
              The password is changed.
            </Alert>
          )}
          <Button type="submit" loading={isPending}>
            Change password
          </Button>
        </Stack>
      </form>
    </Section>
  );
}
