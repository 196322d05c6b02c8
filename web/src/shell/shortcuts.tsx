/** The list of keys, opened with `?`. */
import { Modal, Text } from "@mantine/core";
import { groups } from "./sections.tsx";

export function Shortcuts({ opened, onClose }: { opened: boolean; onClose(): void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts" size="md">
      <dl className="shortcuts">
        <Shortcut keys={["Ctrl", "K"]}>Search and commands</Shortcut>
        <Shortcut keys={["/"]}>Search</Shortcut>
        <Shortcut keys={["?"]}>This list</Shortcut>
        {groups.flatMap(({ links }) =>
          links.map(({ letter, label }) => (
            <Shortcut key={letter} keys={["g", letter]}>
              {label}
            </Shortcut>
          )),
        )}
      </dl>
      <Text size="sm" c="dimmed">
        On a Mac, Command works like Ctrl. Press g and then the letter.
      </Text>
    </Modal>
  );
}

function Shortcut({ keys, children }: { keys: readonly string[]; children: string }) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
