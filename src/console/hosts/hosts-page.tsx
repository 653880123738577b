import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import type { HostView, RegistryEntry } from '../../core/hosts/index.ts'
import { bytesText } from '../../core/kit/index.ts'
import {
  ActionDialog,
  Ago,
  agoColumn,
  api,
  Button,
  CliLine,
  Empty,
  ListPage,
  Loaded,
  queryClient,
  Section,
  Status,
  type TableColumn,
  useMay,
  usePaletteAction,
} from '../kit/index.ts'
import { hostsQuery, hostTone, registriesQuery } from './queries.ts'
import { words } from './words.ts'

const columns: readonly TableColumn<HostView>[] = [
  { key: 'host', title: 'Host', width: 'minmax(140px, 2fr)', value: ({ name }) => name },
  {
    key: 'status',
    title: 'Status',
    width: '130px',
    value: ({ status }) => status,
    cell: (host) => <Status tone={hostTone(host)}>{host.skewed ? `${host.status}, clock off` : host.status}</Status>,
  },
  agoColumn(['seen', 'Last seen'], ({ lastSeenAt }) => lastSeenAt),
  { key: 'boxes', title: 'Boxes', width: '70px', align: 'right', value: ({ resources }) => resources?.boxes },
  {
    key: 'load',
    narrow: 'hidden',
    title: 'Load',
    width: '70px',
    align: 'right',
    value: ({ resources }) => resources?.load?.[0]?.toFixed(1),
  },
  {
    key: 'disk',
    title: 'Free disk',
    width: '100px',
    align: 'right',
    value: ({ resources }) => resources?.freeDiskBytes,
    cell: ({ resources, diskLow }) =>
      resources ? diskLow ? <Status tone="failed">{bytesText(resources.freeDiskBytes)}</Status> : bytesText(resources.freeDiskBytes) : '–',
  },
  { key: 'agent', title: 'Agent', width: '160px', value: ({ agentVersion }) => agentVersion },
  { key: 'engine', narrow: 'hidden', title: 'Engine', width: '120px', value: ({ engine }) => engine?.engine },
  { key: 'reason', title: 'Reason', width: 'minmax(120px, 3fr)', value: ({ reason }) => reason },
]

export function Page() {
  const hosts = useQuery(hostsQuery)
  const [inviting, setInviting] = useState(false)
  const [invite, setInvite] = useState<Invitation>()
  const { why, allowed } = useMay('hosts', 'inviteHost')
  usePaletteAction({ invite: allowed ? () => setInviting(true) : undefined })
  return (
    <ListPage
      title={words.title}
      answer={hosts.data && <Answer hosts={hosts.data.hosts} />}
      actions={
        <Button look="primary" why={why} onPress={() => setInviting(true)}>
          {words.invite}
        </Button>
      }
      filters={[
        { text: 'Filter by name', of: ({ name }) => name },
        { label: 'Status', name: 'status', choices: ['online', 'offline', 'frozen', 'revoked'], of: ({ status }) => status },
      ]}
      query={hosts}
      rows={({ hosts: all }) => all}
      columns={columns}
      rowKey={({ name }) => name}
      rowLink={({ name }) => `/hosts/${encodeURIComponent(name)}`}
      empty={
        <Empty title={words.none} tone="off">
          <p>{words.noneHint}</p>
          <CliLine>tenantry hosts invite host-1</CliLine>
        </Empty>
      }
      noMatch={words.nothingFits}
      reserve={330}
    >
      <Registries />
      {inviting && <Invite onCreated={setInvite} onClose={() => setInviting(false)} />}
      {invite && <Invited {...invite} onClose={() => setInvite(undefined)} />}
    </ListPage>
  )
}

function Answer({ hosts }: Readonly<{ hosts: readonly HostView[] }>) {
  const known = hosts.filter(({ status }) => status !== 'revoked')
  const trouble = known.filter((host) => hostTone(host) !== 'ok').length
  if (known.length === 0) return null
  return trouble === 0 ? (
    <Status tone="ok">{words.allOnline(known.length)}</Status>
  ) : (
    <Status tone="failed">{words.trouble(trouble)}</Status>
  )
}

function Registries() {
  const registries = useQuery(registriesQuery)
  return (
    <Section title={words.registries} aside={<CliLine>{words.setRegistry}</CliLine>}>
      <Loaded query={registries} rows={2}>
        {({ registries: entries }) =>
          entries.length === 0 ? (
            <p className="dim">{words.noRegistries}</p>
          ) : (
            <ul className="lines">
              {entries.map((entry) => (
                <li key={`${entry.registry} ${entry.host}`}>
                  <code>{entry.registry}</code>
                  <span className="grow">{registryWords(entry)}</span>
                  <span className="aside">
                    by {entry.updatedBy} <Ago at={entry.updatedAt} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

const registryWords = ({ host, mirror, username, hasPassword }: RegistryEntry): string =>
  [
    host ? `for ${host}` : 'for all hosts',
    mirror && `mirror ${mirror}`,
    username && `as ${username}${hasPassword ? ' (password stored)' : ''}`,
  ]
    .filter(Boolean)
    .join(' · ')

type Invitation = Readonly<{ token: string; name: string }>

function Invite({ onCreated, onClose }: Readonly<{ onCreated(invite: Invitation): void; onClose(): void }>) {
  const [name, setName] = useState('')
  return (
    <ActionDialog
      title={words.invite}
      consequence={words.inviteConsequence}
      confirm="Create token"
      cli={() => `tenantry hosts invite ${name || '<name>'}`}
      isComplete={name !== ''}
      run={async () => {
        onCreated(await api.hosts.inviteHost({ body: { name } }))
        await queryClient.invalidateQueries({ queryKey: ['hosts'] })
      }}
      onClose={onClose}
    >
      <TextField className="field" value={name} onChange={(text) => setName(text.trim().toLowerCase())} autoFocus autoComplete="off">
        <Label>{words.name}</Label>
        <Input placeholder="host-1" />
      </TextField>
    </ActionDialog>
  )
}

const Invited = ({ name, token, onClose }: Invitation & Readonly<{ onClose(): void }>) => (
  <ActionDialog title={`Enrol ${name}`} consequence={words.invited(name)} confirm="Done" run={async () => undefined} onClose={onClose}>
    <CliLine>{`install -m 600 /dev/stdin enrol.token <<< '${token}'`}</CliLine>
    <CliLine>{`tenantry-agent enrol --url ${location.origin} --token-file enrol.token`}</CliLine>
    <CliLine>tenantry-agent run</CliLine>
  </ActionDialog>
)
