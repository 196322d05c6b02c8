/** Makes an account: at once, with a link, or by asking for the mail that brings one. */
import { Alert, Button, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Session } from "../api/auth.ts";
import { signInAs } from "../api/session.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { NewPassword } from "./new-password.tsx";
import { useAuth } from "./use-auth.ts";

type Sent = { sent: true; message: string };

export function SignUpForm(props: { token?: string; email?: string; act?: string }) {
  const { token, email: fixed, act = "Create account" } = props;
  const [email, setEmail] = useState(fixed ?? "");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { send, isPending, fields, error } = useAuth<Session>("sign-up", signInAs);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send({ email: email.trim(), name: name.trim(), password, ...(token ? { token } : {}) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Email address"
          type="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={fields.email}
          readOnly={fixed !== undefined}
          autoComplete="username"
          required
          withAsterisk={false}
        />
        <TextInput
          label="Your name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fields.name}
          autoComplete="name"
          maxLength={100}
          required
          withAsterisk={false}
        />
        <NewPassword value={password} onChange={setPassword} error={fields.password} />
        {fields.token && (
          <Alert color="red" role="alert">
            {fields.token}
          </Alert>
        )}
        {error && <ProblemAlert error={error} />}
        <Button type="submit" loading={isPending}>
          {act}
        </Button>
      </Stack>
    </form>
  );
}

/** Where accounts are made by a link in a mail, the address is all that is asked for. */
export function SignUpByMail() {
  const [email, setEmail] = useState("");
  const [said, setSaid] = useState<string>();
  const { send, isPending, fields, error } = useAuth<Sent>("sign-up", ({ message }) => setSaid(message));
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
        <Text size="sm">We send you a mail with a link; with it you choose a name and a password.</Text>
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
          Send me the link
        </Button>
      </Stack>
    </form>
  );
}
