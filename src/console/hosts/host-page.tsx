import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { HostView } from '../../core/hosts/index.ts'
import { bytesText, duration } from '../../core/kit/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  type Fact,
  Id,
  KeyValues,
  Link,
  Loaded,
  PageHeader,
  queryClient,
  quoted,
  Section,
  Status,
  useMay,
} from '../kit/index.ts'
import { hostQuery, hostTone } from './queries.ts'
import { words } from './words.ts'

export function Page() {
  const { name } = useParams({ strict: false }) as { name: string }
  const host = useQuery(hostQuery(name))
  const [revoking, setRevoking] = useState(false)
  const { why } = useMay('hosts', 'revokeHost')
  return (
    <>
      <PageHeader
        title={name}
        answer={host.data && <Status tone={hostTone(host.data)}>{host.data.status}</Status>}
        actions={
          host.data &&
          host.data.status !== 'revoked' && (
            <Button why={why} onPress={() => setRevoking(true)}>
              {words.revoke}…
            </Button>
          )
        }
      />
      <Loaded query={host} rows={6}>
        {(found) => <HostFacts host={found} />}
      </Loaded>
      {revoking && (
        <ActionDialog
          title={words.revokeTitle(name)}
          consequence={words.revokeConsequence}
          reason="required"
          confirm={words.revoke}
          danger
          cli={({ reason }) => `tenantry hosts revoke ${name} --reason ${quoted(reason)}`}
          run={async ({ reason }) => {
            await api.hosts.revokeHost({ params: { name }, body: { reason } })
            await queryClient.invalidateQueries({ queryKey: ['hosts'] })
          }}
          onClose={() => setRevoking(false)}
        />
      )}
    </>
  )
}

function HostFacts({ host }: Readonly<{ host: HostView }>) {
  const advice = [
    ...(host.status === 'frozen' ? [words.frozen] : []),
    ...(host.skewed ? [words.clock] : []),
    ...(host.diskLow ? [words.disk] : []),
  ]
  return (
    <>
      {advice.map((line) => (
        <p key={line}>
          <Status tone="failed">{line}</Status>
        </p>
      ))}
      <KeyValues facts={agentFacts(host)} />
      <Section title={words.facts} aside={host.resourcesAt && <Ago at={host.resourcesAt} />}>
        <KeyValues facts={machineFacts(host)} />
      </Section>
      <p>
        <Link to={`/boxes?host=${encodeURIComponent(host.name)}`}>{words.boxes}</Link>
      </p>
    </>
  )
}

const agentFacts = ({
  id,
  reason,
  lastSeenAt,
  enrolledAt,
  keySince,
  agentVersion,
  protocolVersion,
  engine,
  skewed,
  clockOffsetMs,
}: HostView) =>
  [
    ['Reason', reason],
    ['Last seen', <Ago key="seen" at={lastSeenAt} />],
    ['Enrolled', <Ago key="enrolled" at={enrolledAt} />],
    ['Key since', <Ago key="key" at={keySince} />],
    ['Agent', agentVersion && `${agentVersion} (protocol ${protocolVersion})`],
    ['Engine', engine && `Docker ${engine.engine}, compose ${engine.compose}, restic ${engine.restic ?? 'missing'}`],
    ['Clock', clockOffsetMs !== null && (skewed ? `off by ${duration(Math.abs(clockOffsetMs))}` : 'in step')],
    ['Id', <Id key="id">{id}</Id>],
  ] satisfies readonly Fact[]

function machineFacts({ resources: has, diskLow }: HostView): readonly Fact[] {
  if (!has) return [['Resources', 'not reported yet']]
  const disk = `${bytesText(has.freeDiskBytes)} of ${bytesText(has.diskBytes)} free${has.diskPath === undefined ? '' : ` (${has.diskPath})`}`
  return [
    ['CPUs', `${has.cpus}${has.load ? `, load ${has.load.map((value) => value.toFixed(2)).join(' ')}` : ''}`],
    [
      'Memory',
      `${bytesText(has.memoryBytes)}${has.memoryAvailableBytes === undefined ? '' : `, ${bytesText(has.memoryAvailableBytes)} available`}`,
    ],
    ['Disk', diskLow ? <Status tone="failed">{disk}</Status> : disk],
    ['Boxes', has.boxes],
    ['Disk reserve', has.diskReserve && words.reserve[has.diskReserve]],
  ]
}
