/** The account of the signed-in person: profile, password, second factors and sessions. */
import { Alert, SimpleGrid, Stack, Text } from "@mantine/core";
import { useState } from "react";
import type { Session } from "../api/auth.ts";
import { refreshSessions } from "../api/factors.ts";
import { useSession } from "../api/session.ts";
import { Form, SecretField } from "../parts/form.tsx";
import { Back, Fact, Facts, Page, Section } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";
import { NewPassword } from "./new-password.tsx";
import { useSignInOptions } from "./providers.tsx";
import { SecondFactors } from "./second-factors.tsx";
import { Sessions } from "./sessions.tsx";
import { useAuth } from "./sign-in-form.tsx";
import { SignInMethods } from "./sign-in-methods.tsx";

export function AccountPage() {
  const { caller } = useSession();
  const { byPassword } = useSignInOptions();
  if (caller?.kind !== "person")
    return (
      <Page title="Account">
        <Empty>An API key has no account. Sign in with your email address to see yours.</Empty>
      </Page>
    );
  return (
    <Page title="Account" back={!caller.workspace && <Back to="/">Dashboard</Back>}>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md" style={{ alignItems: "start" }}>
        <Stack gap="md">
          <Section title="Profile">
            <Facts>
              <Fact name="Name">{caller.person.name}</Fact>
              <Fact name="Email address">{caller.person.email}</Fact>
            </Facts>
          </Section>
          <SignInMethods />
          {byPassword && <ChangePassword />}
        </Stack>
        <Stack gap="md">
          <SecondFactors />
          <Sessions />
        </Stack>
      </SimpleGrid>
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
    void refreshSessions();
  });
  const submit = () => {
    setIsDone(false);
    send({ currentPassword, newPassword });
  };
  return (
    <Section title="Password">
      <Form submitLabel="Change password" isPending={isPending} error={error} onSubmit={submit}>
        <Text size="sm" c="dimmed">
          A new password ends all your other sessions.
        </Text>
        <SecretField
          label="Current password"
          value={currentPassword}
          onChange={setCurrent}
          error={fields.currentPassword}
          autoComplete="current-password"
          what="the current password"
          isRequired
        />
        <NewPassword label="New password" value={newPassword} onChange={setNew} error={fields.newPassword} />
        {isDone && (
          <Alert color="green" role="alert">
            Password changed.
          </Alert>
        )}
      </Form>
    </Section>
  );
}
