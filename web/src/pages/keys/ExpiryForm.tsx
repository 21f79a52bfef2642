/** When a key ends: never, after some days, or at a moment of one's choice. For a new key and for changing it later. */
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, type Key } from "@/api";
import { Button, Dialog, Field, format, Input, Problem, Select, toast, useNow } from "@/kit";
import { locale, useLanguage, useTexts } from "@/text";
import { useTakeKey } from "./data";
import { dayOf, END_CHOICES, type EndChoice, type EndDraft, endDraftOf, endFault, endOf } from "./form";
import { keysTexts } from "./texts";

interface Props {
  draft: EndDraft;
  onChange: (next: Partial<EndDraft>) => void;
  /** Whether what was chosen lies in the past, as far as it was looked at. */
  past: boolean;
}

export function ExpiryForm({ draft, onChange, past }: Props) {
  const t = useTexts(keysTexts);
  const now = new Date(useNow());
  const endName = (choice: EndChoice) => {
    if (choice === "never") return t.endNever;
    if (choice === "date") return t.endDate;
    return choice === "365" ? t.endYear : t.endDays(Number(choice));
  };
  return (
    <div className="space-y-4">
      <Field label={t.end}>
        <Select
          value={draft.end}
          onChange={(end: EndChoice) => onChange({ end })}
          options={END_CHOICES.map((choice) => ({ value: choice, label: endName(choice) }))}
        />
      </Field>
      {draft.end === "date" && (
        <div className="grid grid-cols-2 gap-4">
          <Field label={t.endDateLabel} error={past ? t.endPast : undefined}>
            <Input
              type="date"
              min={dayOf(now)}
              value={draft.endDate}
              onChange={(event) => onChange({ endDate: event.target.value })}
            />
          </Field>
          <Field label={t.endTimeLabel} hint={t.endTimeHint}>
            <Input type="time" value={draft.endTime} onChange={(event) => onChange({ endTime: event.target.value })} />
          </Field>
        </div>
      )}
      <EndWords draft={draft} now={now} />
    </div>
  );
}

/** What the choice comes to, to the second and in the reader's zone. */
function EndWords({ draft, now }: { draft: EndDraft; now: Date }) {
  const t = useTexts(keysTexts);
  const language = useLanguage();
  const end = endOf(draft, now);
  if (draft.end === "never") return <p className="text-xs text-ink-3">{t.endNeverText}</p>;
  if (end === null || end <= now) return null;
  return <p className="text-xs text-ink-3">{t.endText(format.exactTime(end.toISOString(), locale(language)))}</p>;
}

export function ExpiryDialog({ keyRow, onClose }: { keyRow: Key; onClose: () => void }) {
  const t = useTexts(keysTexts);
  const takeKey = useTakeKey();
  const [draft, setDraft] = useState<EndDraft>(() => endDraftOf(keyRow.expires_at));
  const [past, setPast] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      api.patch<Key>(`/api/keys/${keyRow.id}`, { expires_at: endOf(draft, new Date())?.toISOString() ?? null }),
    onSuccess: (key) => {
      takeKey(key);
      toast(t.done.end);
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const fault = endFault(draft, new Date());
    setPast(fault);
    if (!fault) save.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t.changeEnd}
      lead={keyRow.state === "expired" ? t.endAgain : t.endLead}
      footer={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button variant="primary" type="submit" form="end-key" busy={save.isPending}>
            {t.save}
          </Button>
        </>
      }
    >
      <form id="end-key" noValidate onSubmit={submit}>
        <ExpiryForm
          draft={draft}
          past={past}
          onChange={(next) => {
            const changed = { ...draft, ...next };
            setDraft(changed);
            if (past) setPast(endFault(changed, new Date()));
          }}
        />
      </form>
      {save.error !== null && <Problem error={save.error} compact className="mt-4" />}
    </Dialog>
  );
}
