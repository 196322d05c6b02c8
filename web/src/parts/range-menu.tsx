/** The menu that chooses a time range. The overview and the page of reports use it. */
import { Button } from "@mantine/core";
import { DownIcon } from "./icons.tsx";
import { Menu } from "./menu.tsx";

type Range = { id: string; name: string };

export function RangeMenu(props: { range: Range; ranges: readonly Range[]; onSelect(id: string): void }) {
  const { range, ranges, onSelect } = props;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" rightSection={<DownIcon />}>
          {range.name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup value={range.id} onChange={onSelect}>
          {ranges.map(({ id, name }) => (
            <Menu.RadioItem key={id} value={id}>
              {name}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
}
