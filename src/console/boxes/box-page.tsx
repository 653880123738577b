import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { BoxDetail } from '../../core/boxes/index.ts'
import { duration } from '../../core/kit/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  CliLine,
  Duration,
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
  Timeline,
  useAsked,
  useMay,
} from '../kit/index.ts'
import { boxState, boxTone, driftTones, marksOf } from './box-state.ts'
import { boxQuery, historyQuery, snapshotsQuery } from './queries.ts'
import { useScan } from './use-scan.ts'
import { driftWords, words } from './words.ts'

export function Page() {
  const { slug = '' } = useParams({ strict: false }) as { slug?: string }
  const query = useQuery(boxQuery(slug))
  return (
    <>
      <PageHeader title={slug} answer={query.data && <Answer box={query.data} />} actions={query.data && <Actions box={query.data} />} />
      <Loaded query={query} rows={10}>
        {(box) => <Detail box={box} />}
      </Loaded>
    </>
  )
}

const Answer = ({ box }: Readonly<{ box: BoxDetail }>) => (
  <span className="counts">
    <Status tone={boxTone(box)}>{boxState(box)}</Status>
    <Status tone={driftTones[box.severity]}>{words.driftOf(box.severity)}</Status>
    <span>{box.tenant}</span>
    {marksOf(box) && <span>{marksOf(box)}</span>}
  </span>
)

type Asked = 'scan' | 'check' | 'maintenance' | 'canary'

function Actions({ box }: Readonly<{ box: BoxDetail }>) {
  const { slug, canary, maintenance } = box
  const [asked, setAsked] = useState<Asked>()
  const { start } = useScan()
  const may = {
    scan: useMay('boxes', 'scanBoxes').why,
    check: useMay('boxes', 'checkBox').why,
    maintenance: useMay('boxes', 'maintainBox').why,
    canary: useMay('boxes', 'changeBox').why,
  }
  const open = (what: Asked) => (may[what] ? undefined : () => setAsked(what))
  useAsked({ scan: open('scan'), check: open('check'), maintenance: open('maintenance'), canary: open('canary') })
  const after = async (work: Promise<unknown>) => {
    await work
    await queryClient.invalidateQueries({ queryKey: ['boxes'] })
  }
  const dialogs = {
    scan: {
      ...{ title: words.scanTitle(1), consequence: words.scanEffect, confirm: words.scan },
      ...{ cli: () => `tenantry boxes scan ${slug}`, run: () => after(start([slug])) },
    },
    check: {
      ...{ title: words.checkTitle(slug), consequence: words.checkEffect, confirm: words.check },
      ...{ cli: () => `tenantry boxes check ${slug}`, run: () => after(api.boxes.checkBox({ params: { slug } })) },
    },
    maintenance: {
      title: maintenance ? words.leaveTitle(slug) : words.enterTitle(slug),
      consequence: maintenance ? words.leaveEffect : words.enterEffect,
      confirm: maintenance ? 'End maintenance' : 'Enter maintenance',
      reason: 'required' as const,
      danger: !maintenance,
      cli: ({ reason }: { reason: string }) =>
        `tenantry boxes maintenance ${maintenance ? 'off' : 'on'} ${slug} --reason ${quoted(reason)}`,
      run: ({ reason }: { reason: string }) => after(api.boxes.maintainBox({ params: { slug }, body: { on: !maintenance, reason } })),
    },
    canary: {
      title: words.canaryTitle(slug, !canary),
      consequence: words.canaryEffect(!canary),
      confirm: canary ? 'Make ordinary' : 'Make canary',
      cli: () => `tenantry boxes canary ${canary ? 'off' : 'on'} ${slug}`,
      run: () => after(api.boxes.changeBox({ params: { slug }, body: { canary: !canary } })),
    },
  }
  return (
    <>
      <Button why={may.scan} onPress={() => setAsked('scan')}>
        {words.scan}
      </Button>
      <Button why={may.check} onPress={() => setAsked('check')}>
        {words.check}
      </Button>
      <Button why={may.canary} onPress={() => setAsked('canary')}>
        {canary ? words.unmarkCanary : words.markCanary}
      </Button>
      <Button why={may.maintenance} onPress={() => setAsked('maintenance')}>
        {maintenance ? words.leave : words.enter}
      </Button>
      {asked && <ActionDialog {...dialogs[asked]} consequence={<p>{dialogs[asked].consequence}</p>} onClose={() => setAsked(undefined)} />}
    </>
  )
}

const Detail = ({ box }: Readonly<{ box: BoxDetail }>) => (
  <>
    {box.setUp.error && box.status !== 'ready' && (
      <div className="problem" role="alert">
        <p className="problem-title">
          Set-up failed <code className="dim">{box.setUp.error.code}</code>
        </p>
        <p>{box.setUp.error.message}</p>
      </div>
    )}
    <Section title={words.versions} aside={box.last_drift_check_at && <>compared {<Ago at={box.last_drift_check_at} />}</>}>
      <Versions box={box} />
    </Section>
    <div className="columns">
      <Section title={words.box}>
        <KeyValues facts={factsOf(box)} />
      </Section>
      <Section title={words.probe} aside={box.probe && <Ago at={box.probe.at} />}>
        <Probe box={box} />
      </Section>
    </div>
    <Snapshots slug={box.slug} />
    <History slug={box.slug} />
  </>
)

function Versions({ box: { driftReport, installed } }: Readonly<{ box: BoxDetail }>) {
  const rows = driftReport?.components ?? []
  if (rows.length === 0) return <p className="dim">{words.noReport}</p>
  return (
    <table className="grid">
      <thead>
        <tr>
          <th scope="col">Component</th>
          <th scope="col">Installed</th>
          <th scope="col">Manifest</th>
          <th scope="col">Drift</th>
          <th scope="col">Explanation</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ component, target, severity, explanation }) => (
          <tr key={component}>
            <th scope="row">{component}</th>
            <td>
              <code>{installed[component]}</code>
            </td>
            <td>
              <code>{target}</code>
            </td>
            <td>
              <Status tone={driftTones[severity]}>{driftWords[severity]}</Status>
            </td>
            <td className="dim">{severity === 'none' ? '' : explanation}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const factsOf = (box: BoxDetail): readonly Fact[] => [
  ['Tenant', `${box.tenant} (${box.plan}, tier ${box.tier})`],
  ['Host', <Link to={`/hosts/${box.host}`}>{`${box.host}${box.hostStatus === 'online' ? '' : ` (${box.hostStatus})`}`}</Link>],
  ['Chat domain', <Id>{box.chatDomain}</Id>],
  ['Public address', box.publicUrl],
  ['Maintenance', box.maintenance && `${box.maintenance.reason} (by ${box.maintenance.by})`],
  ['Window', box.window && windowWords(box.window)],
  ['On hold', box.heldBy?.replace(':', ' ')],
  ['Fence', box.fence && <Ago at={box.fence.since} />],
  ['Last report', <Ago at={box.reportedAt} />],
  ['Verified restore', box.lastProvenRestore ? <Ago at={box.lastProvenRestore.at} /> : box.live && 'never'],
  ['Created', <Ago at={box.createdAt} />],
  ['Id', <Id>{box.boxId}</Id>],
]

const windowWords = ({ window, timeZone }: NonNullable<BoxDetail['window']>) =>
  `${window.map(({ days, from, to }) => `${days.length === 7 ? 'daily' : days.join(', ')} ${from} to ${to}`).join('; ')} (${timeZone})`

const componentWords = {
  chatApi: 'Chat API',
  chatSync: 'Sending a message',
  database: 'Database',
  objectStorage: 'Object storage',
} as const

function Probe({ box: { probe } }: Readonly<{ box: BoxDetail }>) {
  if (!probe) return <p className="dim">{words.noProbe}</p>
  return (
    <>
      {probe.reason && <p>{probe.reason}</p>}
      <ul className="lines">
        {(Object.keys(componentWords) as (keyof typeof componentWords)[]).map((name) => {
          const { ok, ms, error } = probe.components[name]
          return (
            <li key={name}>
              <Status tone={ok ? 'ok' : 'failed'}>{componentWords[name]}</Status>
              <span className="grow dim">{error}</span>
              <Duration ms={ms} />
            </li>
          )
        })}
      </ul>
    </>
  )
}

function Snapshots({ slug }: Readonly<{ slug: string }>) {
  const query = useQuery(snapshotsQuery(slug))
  return (
    <Section title={words.snapshots} aside={<Link to={`/snapshots?box=${slug}`}>all, take, restore, test</Link>}>
      <Loaded query={query} rows={3}>
        {({ snapshots }) =>
          snapshots.length === 0 ? (
            <p className="dim">{words.noSnapshots}</p>
          ) : (
            <ul className="lines">
              {snapshots.slice(0, 5).map(({ snapshotId, tier, takenAt, status, lastProof }) => (
                <li key={snapshotId}>
                  <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id>
                  <span>{tier}</span>
                  <span className="grow">
                    <Ago at={takenAt} />
                  </span>
                  <Status tone={status !== 'present' ? 'failed' : lastProof ? 'ok' : 'off'}>
                    {status !== 'present'
                      ? status
                      : lastProof
                        ? `proven${lastProof.durationMs ? ` in ${duration(lastProof.durationMs)}` : ''}`
                        : 'not proven'}
                  </Status>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

type History = Awaited<ReturnType<typeof api.audit.listAudit>>

function History({ slug }: Readonly<{ slug: string }>) {
  const query: UseQueryResult<History> = useQuery(historyQuery(slug))
  return (
    <Section title={words.history}>
      <Loaded query={query} rows={3}>
        {({ entries }) =>
          entries.length === 0 ? (
            <p className="dim">{words.noHistory}</p>
          ) : (
            <Timeline
              label={words.history}
              entries={entries.map(({ chain, seq, at, actor, action, data }) => ({
                ...{ key: `${chain} ${seq}`, at, tone: 'off' as const, text: action },
                detail: `${actor}${reasonIn(data)}`,
              }))}
            />
          )
        }
      </Loaded>
      <CliLine>{`tenantry boxes show ${slug}`}</CliLine>
    </Section>
  )
}

const reasonIn = (data: unknown): string => {
  const { reason } = (data ?? {}) as { reason?: unknown }
  return typeof reason === 'string' ? `: ${reason}` : ''
}
