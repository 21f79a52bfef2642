/** A new secret for a key. The old one works on for a while, so that programs can change over. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Key, type KeyWithSecret } from "@/api";
import { Button, Dialog, Field, Problem, Select } from "@/kit";
import { useTexts } from "@/text";
import { useTakeKey } from "./data";
import { SecretOnce } from "./parts";
import { rememberSecret } from "./secrets";
import { keysTexts } from "./texts";

const OVERLAPS = ["0", "3600", "86400", "604800"] as const;
type Overlap = (typeof OVERLAPS)[number];

export function RotateDialog({ keyRow, onClose }: { keyRow: Key; onClose: () => void }) {
  const t = useTexts(keysTexts);
  const takeKey = useTakeKey();
  const [overlap, setOverlap] = useState<Overlap>("86400");
  const rotate = useMutation({
    mutationFn: () => api.post<KeyWithSecret>(`/api/keys/${keyRow.id}/rotate`, { overlap_seconds: Number(overlap) }),
    onSuccess: (made) => {
      rememberSecret(made.key.id, made.secret);
      takeKey(made.key);
    },
  });
  const made = rotate.data;
  if (made !== undefined) {
    return (
      <Dialog
        open
        modal
        onClose={onClose}
        title={t.madeTitle}
        footer={
          <>
            <Button href={`/connect/${made.key.id}`}>{t.madeNext}</Button>
            <Button variant="primary" onClick={onClose}>
              {t.madeDone}
            </Button>
          </>
        }
      >
        <SecretOnce secret={made.secret} />
      </Dialog>
    );
  }
  const calls = keyRow.calls_last_hour;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t.rotateTitle}
      lead={t.rotateText}
      footer={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button
            variant={overlap === "0" ? "danger" : "primary"}
            busy={rotate.isPending}
            className="h-auto! min-h-9 py-1.5 whitespace-normal!"
            onClick={() => rotate.mutate()}
          >
            {overlap === "0" ? t.rotateNow(calls) : t.rotateDo(calls, t.overlaps[overlap])}
          </Button>
        </>
      }
    >
      <Field label={t.overlap}>
        <Select
          value={overlap}
          onChange={setOverlap}
          options={OVERLAPS.map((value) => ({ value, label: t.overlaps[value] }))}
        />
      </Field>
      {rotate.error !== null && <Problem error={rotate.error} compact className="mt-4" />}
    </Dialog>
  );
}
