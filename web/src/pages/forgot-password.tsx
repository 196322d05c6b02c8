/** Asks for a mail with a link to a new password, or says who can help where no mail can be sent. */
import { Alert, Button, Code, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useAuthState } from "../api/auth.ts";
import { Back } from "../parts/back.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
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
        <Form />
      )}
      <Back to="/">Sign in</Back>
    </AuthCard>
  );
}

function Form() {
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
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send({ email: email.trim() });
      }}
    >
      <Stack>
        <TextInput
          label="Email address"
          type="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={fields.email}
          autoComplete="username"
          required
          withAsterisk={false}
        />
        {error && <ProblemAlert error={error} />}
        <Button type="submit" loading={isPending}>
          Send me a link
        </Button>
      </Stack>
    </form>
  );
}
