import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, ShieldOff, UserMinus, UserPlus, Users } from "lucide-react";
import { useState } from "react";
import { api, type OperatorPerson, type OperatorRole } from "@/api";
import {
  Badge,
  Button,
  type Column,
  Confirm,
  DataTable,
  Empty,
  Field,
  IconButton,
  Input,
  Menu,
  Select,
  toast,
  When,
} from "@/kit";
import { useTexts } from "@/text";
import { ActDialog, OperatorPage, useIsAdmitted, useMay } from "../shared";
import { operatorTexts } from "../texts";
import { operatorsTexts } from "./texts";

const ROLES: readonly OperatorRole[] = ["owner", "finance", "support", "read_only"];
const nameOf = (one: OperatorPerson) => (one.name === "" ? one.email : one.name);

export default function OperatorsPage() {
  const t = useTexts(operatorsTexts);
  const may = useMay("operators.write");
  const client = useQueryClient();
  const [isAdding, setAdding] = useState(false);
  const [act, setAct] = useState<{ what: "reset" | "remove"; person: OperatorPerson } | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "operators"],
    queryFn: ({ signal }) => api.get<{ data: OperatorPerson[] }>("/api/operator/operators", { signal }),
    enabled: useIsAdmitted(),
  });
  const columns: Column<OperatorPerson>[] = [
    {
      id: "name",
      head: t.columns.name,
      primary: true,
      cell: (row) => (
        <span className="flex min-w-0 flex-wrap items-center gap-x-2 py-1">
          <span className="max-w-full truncate">{nameOf(row)}</span>
          {row.you && <Badge>{t.you}</Badge>}
          {row.name !== "" && <span className="w-full truncate text-xs font-normal text-ink-3">{row.email}</span>}
        </span>
      ),
    },
    { id: "role", head: t.columns.role, width: 180, bare: true, cell: (row) => <RoleCell person={row} /> },
    {
      id: "factor",
      head: t.columns.factor,
      width: 130,
      bare: true,
      cell: (row) => (
        <Badge tone={row.has_second_factor ? "ok" : "warn"}>{row.has_second_factor ? t.on : t.missing}</Badge>
      ),
    },
    {
      id: "seen",
      head: t.columns.seen,
      width: 140,
      cell: (row) => (row.last_seen_at === null ? t.never : <When at={row.last_seen_at} />),
    },
    {
      id: "added",
      head: t.columns.added,
      width: 200,
      clip: true,
      cell: (row) => (
        <>
          <When at={row.added_at} /> {row.added_by !== null && t.by(row.added_by)}
        </>
      ),
    },
    {
      id: "act",
      head: "",
      align: "right",
      width: 56,
      cell: (row) =>
        may ? (
          <Menu
            trigger={<IconButton label={t.actionsFor(nameOf(row))} icon={<Ellipsis aria-hidden />} />}
            items={[
              {
                label: t.reset,
                icon: <ShieldOff aria-hidden />,
                disabled: !row.has_second_factor,
                onSelect: () => setAct({ what: "reset", person: row }),
              },
              {
                label: t.remove,
                icon: <UserMinus aria-hidden />,
                danger: true,
                onSelect: () => setAct({ what: "remove", person: row }),
              },
            ]}
          />
        ) : null,
    },
  ];
  const name = act === null ? "" : nameOf(act.person);
  return (
    <OperatorPage
      title={t.title}
      lead={t.lead}
      action={
        may && (
          <Button variant="primary" icon={<UserPlus aria-hidden />} onClick={() => setAdding(true)}>
            {t.add}
          </Button>
        )
      }
    >
      <DataTable
        label={t.title}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.id}
        skeletonRows={3}
        cardFields={["name", "role", "factor", "seen", "act"]}
        empty={<Empty icon={<Users aria-hidden />} title={t.empty} />}
      />
      {isAdding && <AddOperator onClose={() => setAdding(false)} />}
      <Confirm
        open={act !== null}
        onClose={() => setAct(null)}
        title={act?.what === "reset" ? t.resetTitle(name) : t.removeTitle(name)}
        consequence={act?.what === "reset" ? t.reset : t.remove}
        onConfirm={async () => {
          if (act === null) return;
          const path = `/api/operator/operators/${act.person.id}`;
          if (act.what === "reset") await api.post(`${path}/reset-second-factor`);
          else {
            await api.delete(path);
            toast(t.removed(name));
          }
          await client.invalidateQueries({ queryKey: ["operator", "operators"] });
        }}
      >
        {act?.what === "reset" ? t.resetText : t.removeText}
      </Confirm>
    </OperatorPage>
  );
}

function RoleCell({ person }: { person: OperatorPerson }) {
  const t = useTexts(operatorsTexts);
  const o = useTexts(operatorTexts);
  const may = useMay("operators.write");
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (role: OperatorRole) => api.patch<OperatorPerson>(`/api/operator/operators/${person.id}`, { role }),
    onSuccess: (changed) => {
      toast(t.changed(nameOf(person), o.roles[changed.role]));
      void client.invalidateQueries({ queryKey: ["operator", "operators"] });
    },
    onError: (problem) => toast(problem.message, "bad"),
  });
  if (!may) return <span data-tip={o.roleMeans[person.role]}>{o.roles[person.role]}</span>;
  return (
    <Select
      size="small"
      className="h-7! min-w-32"
      aria-label={t.roleOf(nameOf(person))}
      value={person.role}
      disabled={change.isPending}
      onChange={(role) => change.mutate(role)}
      options={ROLES.map((value) => ({ value, label: o.roles[value], hint: o.roleMeans[value] }))}
    />
  );
}

function AddOperator({ onClose }: { onClose: () => void }) {
  const t = useTexts(operatorsTexts).dialog;
  const o = useTexts(operatorTexts);
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<OperatorRole>("support");
  return (
    <ActDialog
      open
      onClose={onClose}
      title={t.title}
      lead={t.lead}
      hasReason={false}
      ready={email.includes("@")}
      consequence={t.act}
      onAct={async () => {
        await api.post("/api/operator/operators", { email: email.trim(), role });
        await client.invalidateQueries({ queryKey: ["operator", "operators"] });
        toast(t.done(email.trim()));
      }}
    >
      <Field label={t.email}>
        <Input type="email" value={email} onChange={(event) => setEmail(event.target.value)} />
      </Field>
      <Field label={t.role} hint={o.roleMeans[role]}>
        <Select value={role} onChange={setRole} options={ROLES.map((value) => ({ value, label: o.roles[value] }))} />
      </Field>
    </ActDialog>
  );
}
