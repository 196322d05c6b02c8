/** Sets a new password with the link that was sent. */
import { Alert } from "@mantine/core";
import { useState } from "react";
import { endSession } from "../api/session.ts";
import { Back } from "../parts/back.tsx";
import { Form } from "../parts/form.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { useLinkToken } from "../people/link-token.ts";
import { NewPassword } from "../people/new-password.tsx";
import { useAuth } from "../people/use-auth.ts";

export function ResetPasswordPage() {
  const token = useLinkToken();
  return (
    <AuthCard title="Choose a new password">
      {token ? <Choose token={token} /> : <Alert color="yellow">Open the link from the mail once more.</Alert>}
      <Back to="/">Sign in</Back>
    </AuthCard>
  );
}

function Choose({ token }: { token: string }) {
  const [password, setPassword] = useState("");
  const [said, setSaid] = useState<string>();
  const { send, isPending, fields, error } = useAuth<{ message: string }>("reset-password", ({ message }) => {
    // All sessions end with it, one in this browser included.
    endSession();
    setPassword("");
    setSaid(message);
  });
  if (said !== undefined)
    return (
      <Alert color="green" role="alert">
        {said}
      </Alert>
    );
  return (
    <Form
      act="Save the password"
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
