import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { BoxCommandResult, BoxDetail, Service, ServiceUsage } from '../../core/boxes/index.ts'
import { isProblemCode, problem } from '../../core/kit/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  Loaded,
  pollMs,
  queryClient,
  quoted,
  Section,
  Status,
  useMay,
  usePaletteAction,
} from '../kit/index.ts'
import { cpuText, memoryText, stateText, serviceWords as words } from './service-words.ts'

const servicesQuery = (slug: string) =>
  ({
    queryKey: ['boxes', 'services', slug],
    queryFn: ({ signal }: { signal: AbortSignal }) => measureServices(slug, signal),
    staleTime: pollMs,
    refetchInterval: pollMs,
    retry: false,
  }) as const

/** The services of a box with what they use, measured again while the page is in view, and their restarts. */
export function Services({ box: { slug, live } }: Readonly<{ box: BoxDetail }>) {
  const { why } = useMay('boxes', 'readServices')
  const mayRestart = useMay('boxes', 'restartBox').why
  const query = useQuery({ ...servicesQuery(slug), enabled: live && !why })
  const [asked, setAsked] = useState<Readonly<{ service?: Service }>>()
  usePaletteAction({ restart: mayRestart ? undefined : () => setAsked({}) })
  if (!live) return null
  const aside = (
    <>
      {query.data && (
        <span>
          as of <Ago at={query.data.at} />
        </span>
      )}{' '}
      <Button why={mayRestart} onPress={() => setAsked({})}>
        {words.restartBox}
      </Button>
    </>
  )
  return (
    <Section title={words.title} aside={aside}>
      {why ? (
        <p className="dim">{why}</p>
      ) : (
        <Loaded query={query} rows={4}>
          {({ services }) => <ServiceTable services={services} why={mayRestart} onRestart={(service) => setAsked({ service })} />}
        </Loaded>
      )}
      {asked && <RestartDialog slug={slug} service={asked.service} onClose={() => setAsked(undefined)} />}
    </Section>
  )
}

type TableProps = Readonly<{ services: readonly ServiceUsage[]; why: string | undefined; onRestart(service: Service): void }>

function ServiceTable({ services, why, onRestart }: TableProps) {
  if (services.length === 0) return <p className="dim">{words.none}</p>
  return (
    <table className="grid stack">
      <thead>
        <tr>
          {[words.service, words.state, words.running, words.restarts, words.cpu, words.memory, words.image, ''].map((title) => (
            <th key={title} scope="col">
              {title || <span className="unseen">{words.restartConfirm}</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {services.map((one) => (
          <tr key={one.service}>
            <th scope="row">{one.service}</th>
            <td>
              <Status tone={one.state === 'running' ? 'ok' : 'failed'}>{stateText(one)}</Status>
            </td>
            <td data-label={words.running}>{one.state === 'running' && <Ago at={one.startedAt} />}</td>
            <td data-label={words.restarts}>{one.restarts}</td>
            <td data-label={words.cpu}>{cpuText(one)}</td>
            <td data-label={words.memory}>{memoryText(one)}</td>
            <td data-label={words.image}>
              <code>{one.image}</code>
            </td>
            <td>
              <Button why={why} aria-label={`Restart ${one.service}`} onPress={() => onRestart(one.service)}>
                {words.restart}
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

type DialogProps = Readonly<{ slug: string; service: Service | undefined; onClose(): void }>

const RestartDialog = ({ slug, service, onClose }: DialogProps) => (
  <ActionDialog
    title={words.restartTitle(slug, service)}
    consequence={<p>{words.restartEffect}</p>}
    confirm={words.restartConfirm}
    reason="required"
    danger
    cli={({ reason }) => `tenantry boxes restart ${slug}${service ? ` --service ${service}` : ''} --reason ${quoted(reason)}`}
    run={async ({ reason }) => {
      await api.boxes.restartBox({ params: { slug }, body: { reason, ...(service ? { services: [service] } : {}) } })
      await queryClient.invalidateQueries({ queryKey: ['boxes'] })
    }}
    onClose={onClose}
  />
)

const waitMs = 20_000

/** Requests a measurement from the agent and waits for it. Throws the agent's problem, and COMMAND_EXPIRED. */
async function measureServices(slug: string, signal: AbortSignal): Promise<BoxCommandResult<'tenant-box.services'>> {
  const { commandId: id } = await api.boxes.readServices({ params: { slug } }, { signal })
  for (let seen: number | undefined; ; ) {
    const query = seen === undefined ? {} : { waitMs, seen }
    const { status, revision, result, error } = await api.hosts.showCommand({ params: { id }, query }, { signal })
    if (status === 'succeeded') return result as BoxCommandResult<'tenant-box.services'>
    if (status === 'failed' || status === 'expired') {
      const { code, message } = error ?? { code: 'COMMAND_EXPIRED', message: 'the agent did not answer in time' }
      throw problem(isProblemCode(code) ? code : 'INTERNAL', message)
    }
    seen = revision
  }
}
