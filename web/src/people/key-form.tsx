/** The form to sign in with an API key. It tests the key with a call before it stores it. */
import { ConnectError, createClient, Code as ErrorCode } from "@connectrpc/connect";
import { Code, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { explain } from "../api/problem.ts";
import { signInWithKey } from "../api/session.ts";
import { transport } from "../api/transport.ts";
import { Form, SecretField } from "../parts/form.tsx";

export function KeyForm() {
  const [key, setKey] = useState("");
  const attempt = useMutation({
    // The key must not stay in the mutation cache.
    gcTime: 0,
    mutationFn: async (candidate: string) => {
      // The browser rejects such a header with an error that does not mention the key.
      if (!/^[\x21-\x7e]+$/.test(candidate)) throw new Error("A key has no spaces or special characters.");
      const headers = { authorization: `Bearer ${candidate}` };
      await createClient(KeyService, transport).listKeys({ pageSize: 1 }, { headers });
      signInWithKey(candidate);
    },
  });
  const submit = () => {
    if (key.trim() !== "") attempt.mutate(key.trim());
  };
  return (
    <Stack>
      <Form submitLabel="Sign in with key" isPending={attempt.isPending} onSubmit={submit} isWide>
        <SecretField
          label="API key"
          description="A key with full or read permission. It is stored only in this browser tab, until you close it."
          placeholder="ph_…"
          value={key}
          onChange={setKey}
          error={attempt.error && explainKeyError(attempt.error)}
          autoComplete="off"
          spellCheck={false}
          what="the key"
          isRequired
        />
      </Form>
      <Text size="sm" c="dimmed">
        No key? On its first start, the server writes one to the file <Code>first-key</Code> in its data directory.{" "}
        <Code>posthorn keys create</Code> creates another.
      </Text>
    </Stack>
  );
}

/** Explains an error in terms of the pasted key. The messages of the API are for programs. */
function explainKeyError(error: unknown): string {
  const { code } = ConnectError.from(error);
  if (code === ErrorCode.Unauthenticated)
    return "The server does not accept this key. Check that you pasted all of it and that it is not revoked.";
  if (code === ErrorCode.PermissionDenied)
    return `The dashboard needs a key with full or read permission. ${ConnectError.from(error).rawMessage}`;
  const { title, message } = explain(error);
  return `${title}. ${message}`;
}
