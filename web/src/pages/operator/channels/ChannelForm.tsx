/** Adds a channel, or changes one. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Channel, type Provider } from "@/api";
import { Field, Input, Select, Textarea, toast, useGo } from "@/kit";
import { useTexts } from "@/text";
import { ActDialog } from "../shared";
import { readCost, readList, readModels, readNumber, writeModels } from "./form";
import { channelsTexts } from "./texts";

const FIRST_LABEL = "main";

export function ChannelForm({ channel, onClose }: { channel: Channel | null; onClose: () => void }) {
  const t = useTexts(channelsTexts).form;
  const client = useQueryClient();
  const go = useGo();
  const providers = useQuery({
    queryKey: ["operator", "providers"],
    queryFn: ({ signal }) => api.get<{ data: Provider[] }>("/api/operator/providers", { signal }),
    enabled: channel === null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [name, setName] = useState("");
  const [provider, setProvider] = useState("");
  const [address, setAddress] = useState(channel?.base_url ?? "");
  const [secret, setSecret] = useState("");
  const [models, setModels] = useState(channel === null ? "" : writeModels(channel.models));
  const [groups, setGroups] = useState(channel?.groups.join(", ") ?? "");
  const [priority, setPriority] = useState(String(channel?.priority ?? 10));
  const [weight, setWeight] = useState(String(channel?.weight ?? 1));
  const [rpm, setRpm] = useState(String(channel?.requests_per_minute ?? ""));
  const [concurrent, setConcurrent] = useState(String(channel?.concurrent_calls ?? ""));
  const [cost, setCost] = useState(channel?.cost == null ? "" : JSON.stringify(channel.cost, null, 2));
  const readings = { models: readModels(models), cost: readCost(cost) };
  const numbers = [priority, weight, rpm, concurrent].map(readNumber);
  const isNew = channel === null;
  const isReady =
    readings.models !== null &&
    readings.cost !== undefined &&
    numbers.every((one) => one !== undefined) &&
    (!isNew || (name.trim() !== "" && provider !== "" && secret !== ""));
  const act = async () => {
    const [first, second, third, fourth] = numbers;
    const body = {
      base_url: address.trim() === "" ? null : address.trim(),
      models: readings.models,
      groups: readList(groups),
      priority: first ?? 10,
      weight: second ?? 1,
      requests_per_minute: third ?? null,
      concurrent_calls: fourth ?? null,
      cost: readings.cost ?? null,
    };
    if (channel !== null) {
      const changed = await api.patch<Channel>(`/api/operator/channels/${channel.id}`, body);
      client.setQueryData(["operator", "channel", String(channel.id)], changed);
      toast(t.saved);
    } else {
      // What is not set is left out of a new one.
      const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
      const made = await api.post<Channel>("/api/operator/channels", {
        name: name.trim(),
        provider,
        fields: given,
        credentials: [{ label: FIRST_LABEL, secret }],
      });
      toast(t.added(made.name));
      go(`/operator/channels/${made.id}`);
    }
    await client.invalidateQueries({ queryKey: ["operator", "channels"] });
  };
  const number = (label: string, value: string, set: (value: string) => void, hint?: string) => (
    <Field label={label} {...(hint === undefined ? { aside: t.optional } : { hint })}>
      <Input inputMode="numeric" mono value={value} onChange={(event) => set(event.target.value)} />
    </Field>
  );
  return (
    <ActDialog
      open
      wide
      onClose={onClose}
      title={isNew ? t.addTitle : t.editTitle(channel.name)}
      lead={t.lead}
      consequence={isNew ? t.addDo : t.editDo}
      hasReason={false}
      ready={isReady}
      onAct={act}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {isNew && (
          <>
            <Field label={t.name} hint={t.nameHint}>
              <Input value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
            </Field>
            <Field label={t.provider}>
              <Select
                value={provider}
                onChange={setProvider}
                options={(providers.data?.data ?? []).map((one) => ({ value: one.name, label: one.name }))}
              />
            </Field>
            <Field label={t.credential} hint={t.credentialHint}>
              <Input
                type="password"
                autoComplete="new-password"
                mono
                value={secret}
                onChange={(event) => setSecret(event.target.value)}
              />
            </Field>
          </>
        )}
        <Field label={t.address} hint={t.addressHint} aside={t.optional}>
          <Input mono value={address} onChange={(event) => setAddress(event.target.value)} />
        </Field>
      </div>
      <Field
        label={t.models}
        hint={t.modelsHint}
        error={models.trim() !== "" && readings.models === null ? t.modelsWrong : undefined}
      >
        <Textarea mono rows={5} value={models} onChange={(event) => setModels(event.target.value)} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t.groups} hint={t.groupsHint}>
          <Input value={groups} onChange={(event) => setGroups(event.target.value)} />
        </Field>
        {number(t.priority, priority, setPriority, t.priorityHint)}
        {number(t.weight, weight, setWeight, "")}
        {number(t.rpm, rpm, setRpm)}
        {number(t.concurrent, concurrent, setConcurrent)}
      </div>
      <Field
        label={t.cost}
        hint={t.costHint}
        aside={t.optional}
        error={readings.cost === undefined ? t.costWrong : undefined}
      >
        <Textarea mono rows={6} value={cost} onChange={(event) => setCost(event.target.value)} />
      </Field>
    </ActDialog>
  );
}
