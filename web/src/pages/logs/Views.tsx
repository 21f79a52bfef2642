import { Bookmark, Trash2 } from "lucide-react";
import { Popover } from "radix-ui";
import { type FormEvent, useState } from "react";
import { Button, IconButton, Input, toast } from "@/kit";
import { useTexts } from "@/text";
import { countFilters, type LogFilters, readFilters } from "./filters";
import { keepViews, LONGEST_NAME, loadViews, type SavedView, withoutView, withView } from "./saved";
import { logTexts } from "./texts";

/** Filters under a name, kept in this browser. */
export function Views({ filters, onChange }: { filters: LogFilters; onChange: (filters: LogFilters) => void }) {
  const t = useTexts(logTexts);
  const [open, setOpen] = useState(false);
  const [views, setViews] = useState<SavedView[]>(loadViews);
  const [name, setName] = useState("");
  const keep = (next: SavedView[]) => {
    setViews(next);
    if (!keepViews(next)) toast(t.viewNotKept, "bad");
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    keep(withView(views, name.trim(), filters));
    setName("");
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <Button icon={<Bookmark aria-hidden />}>{t.views}</Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={8}
          aria-label={t.views}
          className="anim-fade z-50 w-80 max-w-[calc(100vw-1rem)] rounded-card border border-line bg-surface shadow-raised"
        >
          {views.length === 0 ? (
            <p className="px-4 py-3 text-[13px] text-ink-2">{t.viewsNone}</p>
          ) : (
            <ul className="max-h-72 overflow-y-auto p-1">
              {views.map((view) => (
                <li key={view.name} className="flex items-center gap-1 rounded-md hover:bg-hover">
                  <button
                    type="button"
                    className="min-w-0 flex-1 truncate px-3 py-1.5 text-left text-ink"
                    onClick={() => {
                      onChange(readFilters(view.search));
                      setOpen(false);
                    }}
                  >
                    {view.name}
                  </button>
                  <IconButton
                    label={t.viewDelete(view.name)}
                    icon={<Trash2 aria-hidden />}
                    className="size-7!"
                    onClick={() => keep(withoutView(views, view.name))}
                  />
                </li>
              ))}
            </ul>
          )}
          {(countFilters(filters) > 0 || filters.q !== "") && (
            <form onSubmit={save} className="flex gap-2 border-t border-line p-3">
              <Input
                aria-label={t.viewName}
                placeholder={t.viewName}
                value={name}
                maxLength={LONGEST_NAME}
                onChange={(event) => setName(event.target.value)}
              />
              <Button type="submit" disabled={name.trim() === ""}>
                {t.viewSave}
              </Button>
            </form>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
