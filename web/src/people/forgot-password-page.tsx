/** The page that requests a password reset link by email, or explains how to get one when the server cannot send email. */
import { Alert, Code, Text } from "@mantine/core";
import { useState } from "react";
import { useAuthState } from "../api/auth.ts";
import { Form, TextField } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "./auth-card.tsx";
import { useAuth } from "./sign-in-form.tsx";

export function ForgotPasswordPage() {
  const { data } = useAuthState();
  return (
    <AuthCard title="Reset your password">
      {data?.passwordReset === "command" ? (
        <Text>
          This server cannot send email yet. Ask its operator to create a reset link with{" "}
          <Code>posthorn people reset-password EMAIL</Code>.
        </Text>
      ) : (
        <RequestLink />
      )}
      <AnchorLink to="/" size="sm" w="fit-content">
        Back to sign in
      </AnchorLink>
    </AuthCard>
  );
}

function RequestLink() {
  const [email, setEmail] = useState("");
  const [message, setMessage] = useState<string>();
  const done = (result: { message: string }) => setMessage(result.message);
  const { send, isPending, fields, error } = useAuth<{ message: string }>("request-password-reset", done);
  if (message !== undefined)
    return (
      <Alert color="green" role="alert">
        {message}
      </Alert>
    );
  return (
    <Form
      submitLabel="Send reset link"
      isPending={isPending}
      error={error}
      onSubmit={() => send({ email: email.trim() })}
      isWide
    >
      <Text c="dimmed">You will get an email with a link to choose a new password.</Text>
      <TextField
        label="Email address"
        type="email"
        value={email}
        onChange={setEmail}
        error={fields.email}
        autoComplete="username"
        isRequired
      />
    </Form>
  );
}
