/** Talking with a model: microphone in, sound out, what was said, and what each answer cost. */
import { AudioLines, ListTree, Mic, SendHorizontal, Square } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useSession } from "@/app/session";
import {
  Button,
  Card,
  Combobox,
  Empty,
  Field,
  Input,
  Link,
  Money,
  Problem,
  Select,
  Switch,
  Textarea,
  useSearch,
} from "@/kit";
import type { Model } from "@/pages/catalog/record";
import { useTexts } from "@/text";
import { playgroundTexts } from "../texts";
import { type Conversation, type Turn, totalOf } from "./conversation";
import { voiceTexts } from "./texts";
import { useVoice, type VoiceFault } from "./useVoice";

export function VoiceBench({ models, mayRun }: { models: Model[]; mayRun: boolean }) {
  const t = useTexts(voiceTexts);
  const words = useTexts(playgroundTexts);
  const { instance } = useSession();
  const [search, setSearch] = useSearch();
  const model = models.find((one) => one.name === search["model"]) ?? models[0];
  const [voice, setVoice] = useState("");
  const [instructions, setInstructions] = useState("");
  const [microphone, setMicrophone] = useState(true);
  const talk = useVoice();
  if (model === undefined) return null;
  const busy = talk.state !== "idle";
  const start = () => void talk.start({ base: instance.base_url, model: model.name, voice, instructions, microphone });
  const voices = (model.specs.voices ?? []).map((name) => ({ value: name, label: name }));
  return (
    <div className="grid gap-6 lg:grid-cols-[400px_minmax(0,1fr)]">
      <Card>
        <div className="space-y-4">
          <Field label={words.model}>
            <Combobox
              single
              disabled={busy}
              values={[model.name]}
              onChange={(values) => setSearch({ model: values[values.length - 1] })}
              options={models.map((one) => ({ value: one.name, label: one.name, hint: one.vendor }))}
            />
          </Field>
          {voices.length > 0 && (
            <Field label={t.voice}>
              <Select
                disabled={busy}
                value={voice}
                onChange={setVoice}
                options={[{ value: "", label: t.voiceDefault }, ...voices]}
              />
            </Field>
          )}
          <Field label={words.system}>
            <Textarea
              rows={3}
              disabled={busy}
              value={instructions}
              placeholder={words.systemPlaceholder}
              onChange={(event) => setInstructions(event.target.value)}
            />
          </Field>
          <Switch checked={microphone} onChange={setMicrophone} label={t.microphone} disabled={busy} />
          <div className="border-t border-line pt-4">
            {busy ? (
              <Button icon={<Square aria-hidden />} onClick={talk.stop}>
                {t.stop}
              </Button>
            ) : (
              <Button variant="primary" icon={<Mic aria-hidden />} disabled={!mayRun} onClick={start}>
                {t.start}
              </Button>
            )}
          </div>
        </div>
      </Card>
      <Card
        title={t.conversation}
        className="min-h-80"
        action={
          <span className="text-[13px] text-ink-2">
            {t.total} <Money usd={totalOf(talk.conversation)} kind="call" className="font-semibold text-ink" />
          </span>
        }
      >
        <div className="space-y-4">
          <Said conversation={talk.conversation} />
          {talk.conversation.fault !== null && (
            <p role="alert" className="rounded-card border border-bad-line bg-bad-soft px-3 py-2 text-ink">
              <span className="num mr-2 text-[13px]">{talk.conversation.fault.code}</span>
              {talk.conversation.fault.message}
            </p>
          )}
          {talk.fault !== null && <Trouble fault={talk.fault} />}
          <p role="status" className="text-[13px] text-ink-2">
            {talk.state === "connecting" ? t.connecting : talk.state === "open" ? t.listening : ""}
          </p>
          {talk.state === "open" && <Typing say={talk.say} />}
          <p className="border-t border-line pt-3 text-xs text-ink-3">{t.note}</p>
        </div>
      </Card>
    </div>
  );
}

function Said({ conversation }: { conversation: Conversation }) {
  const t = useTexts(voiceTexts);
  if (conversation.turns.length === 0)
    return <Empty icon={<AudioLines aria-hidden />} title={t.empty} text={t.emptyText} />;
  return (
    <ol className="space-y-4">
      {conversation.turns.map((turn) => (
        <li key={turn.id} className={turn.from === "you" ? "flex flex-col items-end" : ""}>
          <p
            className={
              turn.from === "you"
                ? "max-w-[85%] rounded-card bg-accent-soft px-3 py-2 whitespace-pre-wrap [overflow-wrap:anywhere] text-ink"
                : "whitespace-pre-wrap [overflow-wrap:anywhere] text-ink"
            }
          >
            <span className="sr-only">{turn.from === "you" ? t.you : t.model}: </span>
            {turn.text === "" ? t.spoken : turn.text}
          </p>
          <Cost turn={turn} />
        </li>
      ))}
    </ol>
  );
}

function Cost({ turn }: { turn: Turn }) {
  const t = useTexts(voiceTexts);
  if (turn.charge === null) return null;
  return (
    <p className="mt-1 flex flex-wrap items-center gap-x-3 text-xs text-ink-3">
      <Money usd={turn.charge.usd} kind="call" />
      <Link
        href={`/logs/${encodeURIComponent(turn.charge.requestId)}`}
        className="inline-flex items-center gap-1 text-accent-ink hover:underline"
      >
        <ListTree aria-hidden className="size-3.5" />
        {t.receipt}
      </Link>
    </p>
  );
}

function Trouble({ fault }: { fault: VoiceFault }) {
  const t = useTexts(voiceTexts);
  if (fault.kind === "api") return <Problem error={fault.error} />;
  return (
    <p role="alert" className="rounded-card border border-warn-line/40 bg-warn-soft px-3 py-2 text-ink">
      {fault.kind === "microphone" ? t.noMicrophone : `${t.closed(fault.code)} ${fault.reason}`}
    </p>
  );
}

function Typing({ say }: { say: (text: string) => void }) {
  const t = useTexts(voiceTexts);
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === "") return;
    say(text.trim());
    setText("");
  };
  return (
    <form onSubmit={submit} className="flex gap-2">
      <Input
        aria-label={t.type}
        placeholder={t.type}
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="flex-1"
      />
      <Button type="submit" icon={<SendHorizontal aria-hidden />}>
        {t.send}
      </Button>
    </form>
  );
}
