/** The page of a password reset link: a form for the new password. */
import { Alert } from "@mantine/core";
import { useState } from "react";
import { endSession } from "../api/session.ts";
import { Form } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "./auth-card.tsx";
import { useOpenedLink } from "./link-token.ts";
import { NewPassword } from "./new-password.tsx";
import { useAuth } from "./sign-in-form.tsx";

export function ResetPasswordPage() {
  const { token } = useOpenedLink();
  return (
    <AuthCard title="Choose a new password">
      {token ? <ResetForm token={token} /> : <NoLink />}
      <AnchorLink to="/" size="sm" w="fit-content">
        Back to sign in
      </AnchorLink>
    </AuthCard>
  );
}

/** Opened without a link, or reloaded: the link does not stay in the address. */
function NoLink() {
  return (
    <Alert color="yellow">
      Open the link in the email again, or <AnchorLink to="/forgot-password">request a new one</AnchorLink>.
    </Alert>
  );
}

function ResetForm({ token }: { token: string }) {
  const [password, setPassword] = useState("");
  const [doneMessage, setDoneMessage] = useState<string>();
  const { send, isPending, fields, error } = useAuth<{ message: string }>("reset-password", ({ message }) => {
    // The server ended all sessions of the person, including one in this browser.
    endSession();
    setPassword("");
    setDoneMessage(message);
  });
  if (doneMessage !== undefined)
    return (
      <Alert color="green" role="alert">
        {doneMessage}
      </Alert>
    );
  return (
    <Form
      submitLabel="Save password"
      isPending={isPending}
      error={error}
      onSubmit={() => send({ token, newPassword: password })}
      isWide
    >
      <NewPassword label="New password" value={password} onChange={setPassword} error={fields.newPassword} />
      {fields.token && (
        <Alert color="red" role="alert">
          {fields.token}
        </Alert>
      )}
    </Form>
  );
}
