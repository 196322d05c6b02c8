/** The account of whoever is signed in: who they are, and their password. */
import { Alert, Box, Text } from "@mantine/core";
import { useState } from "react";
import type { Session } from "../api/auth.ts";
import { useSession } from "../api/session.ts";
import { Fact, Facts } from "../parts/facts.tsx";
import { Form, SecretField } from "../parts/form.tsx";
import { Page } from "../parts/page.tsx";
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
  const submit = () => {
    setIsDone(false);
    send({ currentPassword, newPassword });
  };
  return (
    <Section title="Change your password">
      <Box maw={420}>
        <Form act="Change password" isPending={isPending} error={error} onSubmit={submit} isWide>
          <Text size="sm" c="dimmed">
            You stay signed in here; everywhere else you are signed out.
          </Text>
          <SecretField
            label="Current password"
            value={currentPassword}
            onChange={setCurrent}
            error={fields.currentPassword}
            autoComplete="current-password"
            what="the current password"
            isNeeded
          />
          <NewPassword label="New password" value={newPassword} onChange={setNew} error={fields.newPassword} />
          {isDone && (
            <Alert color="green" role="alert">
              The password is changed.
            </Alert>
          )}
        </Form>
      </Box>
    </Section>
  );
}
