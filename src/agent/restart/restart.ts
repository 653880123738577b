import { type BoxCommandPayload, type BoxCommandResult, type ProbeRule, Service } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import {
  assertUnfenced,
  boxOfCommand,
  boxOfStartedCommand,
  type LocalBoxes,
  type ReportDeps,
  reportVersions,
  waitForService,
  waitUntilStable,
} from '../boxes/index.ts'
import type { OnceOnly } from '../journal/index.ts'
import type { CommandContext, LocalBox } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'

type Kind = 'tenant-box.restart' | 'tenant-box.restart_services'
type Payload = BoxCommandPayload<'tenant-box.restart'> & Readonly<{ services?: readonly Service[] }>

type Deps = ReportDeps & Readonly<{ clock: Clock; boxes: LocalBoxes; once: OnceOnly }>

/** A server that starts is good within seconds; a large database recovers within the timeout. */
const rule: ProbeRule = { consecutive: 3, spacingMs: 2_000, timeoutMs: 10 * 60_000 }

/**
 * Restarts all services, or those of the payload. Throws BOX_HELD for a fenced box, and BOX_UNHEALTHY or PROBE_FAILED for one that does not get
 * healthy; its containers were started then.
 */
export const restart =
  (deps: Deps, kind: Kind) =>
  (context: CommandContext, payload: Payload): Promise<BoxCommandResult<Kind>> =>
    runOnce(
      deps.once,
      { context, kind, payload },
      {
        admit: async () => assertUnfenced(await boxOfCommand(deps.boxes, payload)),
        perform: async () => {
          const begun = deps.clock.monotonicMs()
          const box = await boxOfStartedCommand(deps.boxes, payload)
          await restartServices(deps, context, { box, services: payload.services ?? Service.options })
          context.progress({ step: 'probe' })
          const probe = await waitUntilStable(deps, box, {
            rule,
            signal: context.signal,
            onProbe: ({ reason }, good) => context.progress({ step: 'probe', detail: reason ?? `${good} of ${rule.consecutive} good` }),
          })
          return { probe, report: await reportVersions(deps, box), durationMs: deps.clock.monotonicMs() - begun }
        },
      },
    )

type Restarted = Readonly<{ box: LocalBox; services: readonly Service[] }>

/** Synapse stops first, which ends its requests, and starts last; the edge answers meanwhile. A failure leaves no service stopped. */
async function restartServices(deps: Deps, { signal, progress }: CommandContext, { box, services }: Restarted): Promise<void> {
  const { engine, servers } = deps
  const among = (...some: Service[]) => some.filter((service) => services.includes(service))
  const stop = (...some: Service[]) => engine.stop(box.project, among(...some))
  const start = (...some: Service[]) => engine.start(box.project, among(...some))
  try {
    progress({ step: 'stop' })
    await stop('synapse')
    await stop('minio', 'postgres')
    progress({ step: 'start' })
    await start('postgres', 'minio')
    await waitForService({ ...deps, signal }, box, { service: 'postgres', isUp: () => servers.databaseReady(box) })
    await start('synapse')
    await stop('edge')
  } finally {
    await engine.start(box.project, services)
  }
}
