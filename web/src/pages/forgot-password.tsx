/** Asks for a mail with a link to a new password, or says who can help where no mail can be sent. */
import { Alert, Code, Text } from "@mantine/core";
import { useState } from "react";
import { useAuthState } from "../api/auth.ts";
import { Back } from "../parts/back.tsx";
import { Form, TextField } from "../parts/form.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { useAuth } from "../people/use-auth.ts";

export function ForgotPasswordPage() {
  const { data } = useAuthState();
  return (
    <AuthCard title="Forgot your password">
      {data?.passwordReset === "command" ? (
        <Text>
          This server cannot send mail to people yet. Whoever runs it makes a link for you with{" "}
          <Code>posthorn people reset-password EMAIL</Code>.
        </Text>
      ) : (
        <Ask />
      )}
      <Back to="/">Sign in</Back>
    </AuthCard>
  );
}

function Ask() {
  const [email, setEmail] = useState("");
  const [said, setSaid] = useState<string>();
  const done = ({ message }: { message: string }) => setSaid(message);
  const { send, isPending, fields, error } = useAuth<{ message: string }>("request-password-reset", done);
  if (said !== undefined)
    return (
      <Alert color="green" role="alert">
        {said}
      </Alert>
    );
  return (
    <Form
      act="Send me a link"
      isPending={isPending}
      error={error}
      onSubmit={() => send({ email: email.trim() })}
      isWide
    >
      <TextField
        label="Email address"
        type="email"
        value={email}
        onChange={setEmail}
        error={fields.email}
        autoComplete="username"
        isNeeded
      />
    </Form>
  );
}
