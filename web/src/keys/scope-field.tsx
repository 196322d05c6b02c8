/** The check boxes for the scopes of a key. */
import { Checkbox, Stack } from "@mantine/core";
import type { KeyScope } from "../../../src/gen/v1/options_pb.ts";
import { scopes } from "./permissions.ts";

export function ScopeField(props: { value: KeyScope[]; onChange(value: KeyScope[]): void; error: string | undefined }) {
  return (
    <Checkbox.Group
      label="Scopes"
      value={props.value.map(String)}
      onChange={(values) => props.onChange(values.map((value) => Number(value) as KeyScope))}
      error={props.error}
    >
      <Stack gap="xs" mt="xs">
        {scopes.map(({ value, name, meaning }) => (
          <Checkbox key={value} value={String(value)} label={name} description={meaning} />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
