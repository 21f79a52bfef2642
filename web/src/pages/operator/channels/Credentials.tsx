/** The credentials of a channel: their state with its evidence, and what can be done about it. */
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { api, type Channel, type Credential } from "@/api";
import { Badge, Button, Checkbox, Field, IconButton, Input, Menu, type MenuItem, type Tone, toast, When } from "@/kit";
import { PanelSection } from "@/kit/records/parts";
import { useTexts } from "@/text";
import { ActDialog, useMay } from "../shared";
import { channelsTexts } from "./texts";

const tones: Record<Credential["state"], Tone> = {
  usable: "ok",
  disabled: "neutral",
  cooling_down: "warn",
  paused: "bad",
};
type Act = { what: "add" | "replace" | "pause" | "remove"; label: string };

export function Credentials({
  channel,
  onChange,
}: {
  channel: Channel;
  onChange: (changed: Channel) => Promise<void>;
}) {
  const texts = useTexts(channelsTexts);
  const t = texts.one;
  const may = useMay("channels.write");
  const [act, setAct] = useState<Act | null>(null);
  const path = `/api/operator/channels/${channel.id}/credentials`;
  const resume = async (label: string) => {
    try {
      await onChange(await api.post<Channel>(`${path}/${encodeURIComponent(label)}/resume`));
    } catch (problem) {
      toast(problem instanceof Error ? problem.message : String(problem), "bad");
    }
  };
  const items = (one: Credential): MenuItem[] => [
    { label: t.replace, onSelect: () => setAct({ what: "replace", label: one.label }) },
    one.state === "paused"
      ? { label: t.resumeCredential, onSelect: () => void resume(one.label) }
      : { label: t.pause, onSelect: () => setAct({ what: "pause", label: one.label }) },
    { label: t.remove, danger: true, onSelect: () => setAct({ what: "remove", label: one.label }) },
  ];
  return (
    <PanelSection
      title={t.credentials}
      aside={
        may && (
          <Button size="small" onClick={() => setAct({ what: "add", label: "" })}>
            {t.addCredential}
          </Button>
        )
      }
    >
      <ul className="rounded-card border border-line">
        {channel.credentials.map((one) => (
          <li
            key={one.id}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2 last:border-b-0"
          >
            <span className="min-w-0 flex-1 basis-36">
              <span className="flex items-center gap-2">
                <span className="truncate font-medium">{one.label}</span>
                <span className="num shrink-0 text-xs whitespace-nowrap text-ink-3">{one.hint}</span>
              </span>
              {one.paused_reason !== null && (
                <span className="block text-xs [overflow-wrap:anywhere] text-ink-2">
                  {t.evidence(one.paused_reason)}
                </span>
              )}
            </span>
            <Badge tone={tones[one.state]}>
              {texts.credentialStates[one.state]}
              {one.state === "cooling_down" && one.cool_until !== null && (
                <>
                  {" · "}
                  {t.until} <When at={one.cool_until} />
                </>
              )}
            </Badge>
            {may && (
              <span className="ml-auto">
                <Menu
                  trigger={<IconButton label={t.actionsFor(one.label)} icon={<Ellipsis aria-hidden />} />}
                  items={items(one)}
                />
              </span>
            )}
          </li>
        ))}
      </ul>
      {act !== null && <CredentialDialog act={act} path={path} onClose={() => setAct(null)} onChange={onChange} />}
    </PanelSection>
  );
}

interface DialogProps {
  act: Act;
  path: string;
  onClose: () => void;
  onChange: (changed: Channel) => Promise<void>;
}
function CredentialDialog({ act, path, onClose, onChange }: DialogProps) {
  const t = useTexts(channelsTexts).credential;
  const [label, setLabel] = useState(act.label);
  const [secret, setSecret] = useState("");
  const [giveUp, setGiveUp] = useState(false);
  const one = `${path}/${encodeURIComponent(act.label)}`;
  const send = async (reason: string) => {
    switch (act.what) {
      case "add":
        return onChange(await api.post<Channel>(path, { label: label.trim(), secret }));
      case "replace":
        await onChange(await api.post<Channel>(`${one}/replace`, { secret }));
        return toast(t.replaced);
      case "pause":
        return onChange(await api.post<Channel>(`${one}/pause`, { reason }));
      case "remove":
        return onChange(await api.post<Channel>(`${one}/remove`, { give_up_tasks: giveUp }));
    }
  };
  const words = {
    add: { title: t.addTitle, lead: undefined, act: t.addDo },
    replace: { title: t.replaceTitle(act.label), lead: t.replaceLead, act: t.replaceDo },
    pause: { title: t.pauseTitle(act.label), lead: t.pauseLead, act: t.pauseDo },
    remove: { title: t.removeTitle(act.label), lead: t.removeLead, act: t.removeDo },
  }[act.what];
  const hasSecret = act.what === "add" || act.what === "replace";
  return (
    <ActDialog
      open
      onClose={onClose}
      title={words.title}
      {...(words.lead === undefined ? {} : { lead: words.lead })}
      consequence={words.act}
      hasReason={act.what === "pause"}
      tone={act.what === "remove" || act.what === "pause" ? "danger" : "primary"}
      ready={!hasSecret || (secret !== "" && label.trim() !== "")}
      onAct={send}
    >
      {act.what === "add" && (
        <Field label={t.label}>
          <Input value={label} maxLength={100} onChange={(event) => setLabel(event.target.value)} />
        </Field>
      )}
      {hasSecret && (
        <Field label={t.secret}>
          <Input
            type="password"
            autoComplete="new-password"
            mono
            value={secret}
            onChange={(event) => setSecret(event.target.value)}
          />
        </Field>
      )}
      {act.what === "remove" && <Checkbox checked={giveUp} onChange={setGiveUp} label={t.giveUp} />}
    </ActDialog>
  );
}
